"""The stores of a scheduled world: each of their verbs may fail before or after it is through."""

from __future__ import annotations

from typing import Any

from bot.domain.claim import Claim
from bot.domain.errors import LedgerUnavailable
from tests.schedules.world import World

WRITE = {"append", "append_all", "append_together", "begin", "release_node", "record_refusal"}


class Recorder:
    """A store whose verbs may fail before or after they are through, and between which anybody may die."""

    def __init__(self, world: World, store: Any, fails: float) -> None:
        self.world, self.store, self.fails = world, store, fails

    def __getattr__(self, verb: str) -> Any:
        does = getattr(self.store, verb).now

        async def done(*given: Any, **named: Any) -> Any:
            await self.world.boundary()
            self._may_fail("The database is locked.")
            answer = does(*given, **named)
            if verb in WRITE:  # else nothing was written that somebody could die without having heard of
                await self.world.boundary()
                self._may_fail("The connection to the database broke.")
            return answer

        return done

    def _may_fail(self, why: str) -> None:
        if self.world.chance(self.fails):
            raise LedgerUnavailable(why)

    async def check_claim_in_time(self, claim: Claim) -> None:
        """Ask at no boundary: it is asked where a clock is wrong alone, and schedules stay as they were."""
        self.store.check_claim_in_time.now(claim)
