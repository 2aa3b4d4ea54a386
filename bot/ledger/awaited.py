"""The ledger and the outbox for an event loop: each verb runs on a thread, and is awaited.

A cancelled wait does not stop the transaction that runs: it is committed or rolled back as a whole, unheard.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any, ParamSpec, TypeVar

from bot.domain.claim import Claim, Hold
from bot.domain.entry import Entry, Head
from bot.domain.event_form import Event
from bot.domain.events import StepStarted
from bot.domain.incident import Changes, IncidentSummary
from bot.domain.post import DuePost, Place, Post
from bot.ledger.leases import Leases
from bot.ledger.ledger import Ledger
from bot.ledger.outbox import Outbox

P = ParamSpec("P")
T = TypeVar("T")


class AwaitedLedger:
    """A ledger on the threads of an executor; keeps `contracts.ActingLedger`."""

    def __init__(self, ledger: Ledger, threads: ThreadPoolExecutor) -> None:
        self._ledger = ledger
        self._threads = threads

    async def append(self, stream: str, expected_seq: int | None, event: Event, by: str) -> Entry:
        """Append an event as entry `expected_seq + 1` and return what now stands there."""
        return await _on(self._threads, self._ledger.append, stream, expected_seq, event, by)

    async def read(self, stream: str) -> tuple[Entry, ...]:
        """Return the stream's entries in order."""
        return await _on(self._threads, self._ledger.read, stream)

    async def head(self, stream: str) -> Head:
        """Return where the stream ends."""
        return await _on(self._threads, self._ledger.head, stream)

    async def open_streams(self) -> tuple[str, ...]:
        """Return the ids of all incidents that have not ended, the oldest first."""
        return await _on(self._threads, self._ledger.open_streams)

    async def incidents(self, only_open: bool = False) -> tuple[IncidentSummary, ...]:
        """Return one line an incident, the newest first."""
        return await _on(self._threads, self._ledger.incidents, only_open)

    async def changed(self, since: int | None = None) -> Changes:
        """Return the incidents that went on after that change, all that are open for None."""
        return await _on(self._threads, self._ledger.changed, since)

    async def together(self, card: str) -> tuple[str, ...]:
        """Return the ids of the incidents that are shown together, the oldest first."""
        return await _on(self._threads, self._ledger.together, card)

    async def begin(self, stream: str, expected_seq: int, event: StepStarted, by: str, claim: Claim) -> Entry:
        """Append the beginning of a step and take its node, in one transaction with every limit and the brake."""
        return await _on(self._threads, self._ledger.begin, stream, expected_seq, event, by, claim)

    async def hold(self, node: str) -> Hold | None:
        """Return who has the node to themselves."""
        return await _on(self._threads, self._ledger.hold, node)

    async def beat(self, incident: str, runner: str) -> None:
        """Say that the runner is alive and at work on the incident."""
        await _on(self._threads, self._ledger.beat, incident, runner)

    async def braked(self) -> Entry | None:
        """Return the entry by which the brake was pulled, None while it is off."""
        return await _on(self._threads, self._ledger.braked)

    async def tried(self, remedy: str, within: timedelta) -> str | None:
        """Return the incident that last began to carry out a remedy within that time."""
        return await _on(self._threads, self._ledger.tried, remedy, within)


class AwaitedLeases:
    """A runner's leases on the threads of an executor; keeps `contracts.Leases`."""

    def __init__(self, leases: Leases, threads: ThreadPoolExecutor) -> None:
        self._leases = leases
        self._threads = threads

    async def beat(self) -> None:
        """Say that this runner is alive, and at work on the nodes it holds."""
        await _on(self._threads, self._leases.beat)

    async def take(self, group: str, by_force: bool = False) -> bool:
        """See to a group from now on; False while another live runner does, whom only force can take it from."""
        return await _on(self._threads, self._leases.take, group, by_force)

    async def claim(self) -> tuple[str, ...]:
        """Take every group that no live runner sees to, and return those: what is open, and what the dead left."""
        return await _on(self._threads, self._leases.claim)

    async def mine(self) -> frozenset[str]:
        """Return the groups that this runner sees to."""
        return await _on(self._threads, self._leases.mine)

    async def let_go(self, groups: Iterable[str]) -> None:
        """See to these groups no longer; one of which posts are still waiting is kept."""
        await _on(self._threads, self._leases.let_go, groups)

    async def leave(self) -> None:
        """Leave everything to the others, at once."""
        await _on(self._threads, self._leases.leave)


class AwaitedOutbox:
    """An outbox on the threads of an executor; keeps `contracts.Outbox`."""

    def __init__(self, outbox: Outbox, threads: ThreadPoolExecutor) -> None:
        self._outbox = outbox
        self._threads = threads

    async def keep(self, post: Post) -> str:
        """Keep a post to be sent, in place of any earlier one of its incident and part; return its id."""
        return await _on(self._threads, self._outbox.keep, post)

    async def due(self, now: datetime) -> tuple[DuePost, ...]:
        """Return what is to be sent now, in the order it was kept."""
        return await _on(self._threads, self._outbox.due, now)

    async def taken(self, post_id: str, channel: str, ts: str) -> None:
        """Say that a post stands there now."""
        await _on(self._threads, self._outbox.taken, post_id, channel, ts)

    async def failed(self, post_id: str, retry_at: datetime, error: str) -> None:
        """Say that a post was not taken, and when to try again."""
        await _on(self._threads, self._outbox.failed, post_id, retry_at, error)

    async def dropped(self, post_id: str, error: str) -> None:
        """Say that a post will never be taken."""
        await _on(self._threads, self._outbox.dropped, post_id, error)

    async def turn(self, channel: str, apart: timedelta) -> timedelta:
        """Take the channel's next turn; return how long it is until then."""
        return await _on(self._threads, self._outbox.turn, channel, apart)

    async def place(self, incident: str, part: str) -> Place | None:
        """Return where a part stands, once any version of it was taken."""
        return await _on(self._threads, self._outbox.place, incident, part)

    async def standing(self, incident: str, part: str) -> Mapping[str, Any] | None:
        """Return what was taken of a part last, where no later version of it waits."""
        return await _on(self._threads, self._outbox.standing, incident, part)

    async def waiting(self) -> int:
        """Return how many posts are not taken yet."""
        return await _on(self._threads, self._outbox.waiting)


async def _on(threads: ThreadPoolExecutor, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return await asyncio.get_running_loop().run_in_executor(threads, lambda: verb(*args, **kwargs))
