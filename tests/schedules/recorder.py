"""The ledger of a scheduled world: each of its verbs may fail before or after it is through."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from bot.domain.action import Plan
from bot.domain.claim import Claim, DecisionRecord, Doubts, Hold, ProposalRecord
from bot.domain.entry import Append, Entry, Event, Head
from bot.domain.errors import LedgerUnavailable
from bot.domain.events import IncidentEvent, StepStarted
from bot.domain.house_events import NodeReleased, WishRefused
from bot.domain.incident import Changes, Incident, IncidentSummary
from bot.domain.post import CardRecord
from bot.ledger import Ledger
from tests.schedules.world import World


class Recorder:
    """A ledger whose verbs may fail before or after they are through, and between which anybody may die."""

    def __init__(self, world: World, ledger: Ledger, fails: float) -> None:
        self.world, self.ledger, self.fails = world, ledger, fails

    async def do(self, verb: Callable[..., Any], *args: Any) -> Any:
        await self.world.boundary()
        if self.world.chance(self.fails):
            raise LedgerUnavailable("The database is locked.")
        done = verb(*args)
        if verb.__name__ not in ("append", "append_all", "append_together", "begin", "release_node", "record_refusal"):
            return done  # nothing was written that somebody could die without having heard of
        await self.world.boundary()
        if self.world.chance(self.fails):
            raise LedgerUnavailable("The connection to the database broke.")
        return done

    async def append(self, stream: str, expected_seq: int | None, event: Event, by: str) -> Entry:
        return await self.do(self.ledger.append.now, stream, expected_seq, event, by)  # type: ignore[no-any-return]

    async def append_all(
        self, stream: str, expected_seq: int, events: Sequence[IncidentEvent], by: str
    ) -> tuple[Entry, ...]:
        return await self.do(self.ledger.append_all.now, stream, expected_seq, events, by)  # type: ignore[no-any-return]

    async def append_together(self, appends: Sequence[Append]) -> tuple[Entry, ...]:
        return await self.do(self.ledger.append_together.now, appends)  # type: ignore[no-any-return]

    async def begin(self, stream: str, expected_seq: int, event: StepStarted, by: str, claim: Claim) -> Entry:
        return await self.do(self.ledger.begin.now, stream, expected_seq, event, by, claim)  # type: ignore[no-any-return]

    async def read(self, stream: str) -> tuple[Entry, ...]:
        return await self.do(self.ledger.read.now, stream)  # type: ignore[no-any-return]

    async def mutes(self) -> tuple[Entry, ...]:
        return await self.do(self.ledger.mutes.now)  # type: ignore[no-any-return]

    async def doubts(self) -> Doubts:
        return await self.do(self.ledger.doubts.now)  # type: ignore[no-any-return]

    async def incident(self, stream: str) -> Incident | None:
        return await self.do(self.ledger.incident.now, stream)  # type: ignore[no-any-return]

    async def head(self, stream: str) -> Head:
        return await self.do(self.ledger.head.now, stream)  # type: ignore[no-any-return]

    async def incidents(
        self, only_open: bool = False, node: str | None = None, since: datetime | None = None
    ) -> tuple[IncidentSummary, ...]:
        return await self.do(self.ledger.incidents.now, only_open, node, since)  # type: ignore[no-any-return]

    async def nodes(self, group: str) -> frozenset[str]:
        return await self.do(self.ledger.nodes.now, group)  # type: ignore[no-any-return]

    async def policy(self) -> Entry | None:
        return await self.do(self.ledger.policy.now)  # type: ignore[no-any-return]

    async def changed(self, since: int | None = None) -> Changes:
        return await self.do(self.ledger.changed.now, since)  # type: ignore[no-any-return]

    async def incident_ids_of_card(self, card: str) -> tuple[str, ...]:
        return await self.do(self.ledger.incident_ids_of_card.now, card)  # type: ignore[no-any-return]

    async def group(self, card: str) -> tuple[tuple[Incident, ...], Mapping[str, str]]:
        return await self.do(self.ledger.group.now, card)  # type: ignore[no-any-return]

    async def card(self, card: str, part: str, of_incident: bool = False) -> CardRecord:
        return await self.do(self.ledger.card.now, card, part, of_incident)  # type: ignore[no-any-return]

    async def check_claim_in_time(self, claim: Claim) -> None:
        self.ledger.check_claim_in_time.now(
            claim
        )  # no boundary: asked where a clock is wrong alone, and schedules stay as they were

    async def current_hold(self, node: str, machine_id: str = "") -> Hold | None:
        return await self.do(self.ledger.current_hold.now, node, machine_id)  # type: ignore[no-any-return]

    async def release_node(self, hold: Hold, event: NodeReleased, by: str, end: Append | None = None) -> Entry:
        return await self.do(self.ledger.release_node.now, hold, event, by, end)  # type: ignore[no-any-return]

    async def machines(self) -> Mapping[str, tuple[str, ...]]:
        return await self.do(self.ledger.machines.now)  # type: ignore[no-any-return]

    async def earlier(
        self, incident: Incident, cause: str, machine_id: str, within: timedelta, most: int
    ) -> tuple[tuple[Incident, ...], Mapping[str, str]]:
        return await self.do(self.ledger.earlier.now, incident, cause, machine_id, within, most)  # type: ignore[no-any-return]

    async def begun_incidents(
        self, incident: Incident, cause: str, machine_id: str, within: timedelta
    ) -> tuple[tuple[Incident, ...], Mapping[str, str]]:
        return await self.do(self.ledger.begun_incidents.now, incident, cause, machine_id, within)  # type: ignore[no-any-return]

    async def record_refusal(self, event: WishRefused, by: str) -> None:
        await self.do(self.ledger.record_refusal.now, event, by)

    async def beat(self, incident: str, runner: str) -> None:
        await self.do(self.ledger.beat.now, incident, runner)

    async def brake_pull(self) -> Entry | None:
        return await self.do(self.ledger.brake_pull.now)  # type: ignore[no-any-return]

    async def pull_for_request(self, request: str) -> Entry | None:
        return await self.do(self.ledger.pull_for_request.now, request)  # type: ignore[no-any-return]

    async def decision_record(self, stream: str, within: timedelta) -> DecisionRecord | None:
        return await self.do(self.ledger.decision_record.now, stream, within)  # type: ignore[no-any-return]

    async def proposal_record(self, plan: Plan, machine_id: str, group: str, within: timedelta) -> ProposalRecord:
        return await self.do(self.ledger.proposal_record.now, plan, machine_id, group, within)  # type: ignore[no-any-return]

    async def last_try(self, plan: Plan, machine_id: str, within: timedelta) -> str | None:
        return await self.do(self.ledger.last_try.now, plan, machine_id, within)  # type: ignore[no-any-return]
