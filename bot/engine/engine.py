"""Which runner continues which incident, and when: leases, changes and due work, but not what is done.

The ledger is the durable queue: an open incident is work, and any runner that finds it without an owner goes on from
its entries. A second store of pending work could contradict the ledger.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import InitVar, dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from bot.domain.contracts import Log, Seconds, Sleep
from bot.domain.engine_contracts import Advance, CardIncidents, Surface
from bot.domain.incident import Incident, IncidentSummary
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.engine.job_queue import Changed, Decided, JobQueue, NoticeBoard
from bot.ledger import Leases, Ledger

TICK, CLAIM_EVERY, BEAT_EVERY = 0.5, 1.0, 2.0  # seconds
OFFER_EVERY, OFFERED_FOR = 30.0, 2 * CLAIM_EVERY  # what only another runner can do
UNHEARD = 10.0  # seconds without a heartbeat on record: others take over what this runner has, so it lets go of it
OVER_FOR = 2.0  # a lease taken for an incident that is about to be opened is kept this long
ADVANCED_AT_ONCE, SHOWN_AT_ONCE = 20, 10


@dataclass(slots=True, eq=False)
class Engine:
    """A runner's loop.

    Shape: `advance` does the next thing for an incident, `surfaces` show its group; `notices` say what happened here.
    """

    advance: Advance
    ledger: Ledger
    leases: Leases
    groups: CardIncidents
    surfaces: InitVar[Sequence[Surface]]
    log: Log
    clock: Seconds
    sleep: Sleep = asyncio.sleep
    notices: NoticeBoard = field(default_factory=NoticeBoard)
    _advancing: JobQueue = field(init=False)
    _showing: list[JobQueue] = field(init=False)
    _cursor: int | None = None
    _open: dict[str, dict[str, IncidentSummary]] = field(default_factory=dict)  # the open incidents of each group
    _mine: set[str] = field(default_factory=set)
    _taken: set[str] = field(default_factory=set)  # leases taken since the last look at the leases
    _over: dict[str, float] = field(default_factory=dict)  # own groups that are over, and since when that is known
    _beat_at: float = float("-inf")
    _claim_at: float = float("-inf")
    _reads: dict[str, asyncio.Future[Sequence[Incident]]] = field(default_factory=dict)  # groups, to be shown
    _offered: dict[str, float] = field(default_factory=dict)  # groups, by when they were let go for another runner
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _draining: bool = False
    _unavailable: str = ""
    _beside: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self, surfaces: Sequence[Surface]) -> None:
        clock, log = self.clock, self.log
        self._advancing = JobQueue(self._carry_on, ADVANCED_AT_ONCE, clock, log, "advance_failed", "incident")
        self._showing = [
            JobQueue(partial(self._show, surface), SHOWN_AT_ONCE, clock, log, "show_failed") for surface in surfaces
        ]

    @property
    def advancing(self) -> frozenset[str]:
        """The incidents being advanced now."""
        return self._advancing.running

    @property
    def mine(self) -> frozenset[str]:
        """The groups that this runner owns."""
        return frozenset(self._mine)

    def start(self) -> None:
        """Start; from now on this runner takes its share."""
        self._run_beside(self._run(), "engine")
        self._run_beside(self._listen(), "notices")

    def advance_now(self, incident_id: str) -> None:
        """Take an incident over and advance it at once: something was decided here."""
        self._run_beside(self._take_over_and_advance(incident_id), f"kick {incident_id}")

    async def show_changed(self, group: str) -> None:
        """Show a group that changed here, also after its end, unless another live runner owns it."""

        async def take() -> None:
            if await self.leases.take(group):
                self._note_as_ours(group)
                await self._read_changes()
                self._schedule_group(group)
                self._begin_due()

        await self._run_logging_failure(take)

    async def drain(self, seconds: float) -> None:
        """Begin nothing more, and wait for running work, at most so many seconds; the leases are kept meanwhile."""
        self._draining = True
        until = self.clock() + seconds
        await self._advancing.finish(seconds)
        await self._run_logging_failure(self._read_changes)
        self._begin_showing()
        rest = max(1.0, until - self.clock())
        await asyncio.gather(*(work.finish(rest) for work in self._showing))

    async def leave(self) -> None:
        """Stop, and leave everything to other runners."""
        self._draining = True
        for task in (tasks := tuple(self._beside)):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for work in (self._advancing, *self._showing):
            await work.finish(0)
        await self._run_logging_failure(self._release_ended)
        await self._run_logging_failure(self.leases.leave)

    async def tick(self) -> None:
        """Do a turn of the loop: heartbeat, take unowned groups, read changes, begin due work."""
        await self._run_logging_failure(self._do_turn)
        self._begin_due()

    # --- the loop

    async def _run(self) -> None:
        while True:
            await self.tick()
            pauses = [asyncio.ensure_future(pause) for pause in (self.sleep(TICK), self._wake.wait())]
            try:
                await asyncio.wait(pauses, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for pause in pauses:
                    pause.cancel()
                await asyncio.gather(*pauses, return_exceptions=True)
            self._wake.clear()

    async def _do_turn(self) -> None:
        now = self.clock()
        if now - self._beat_at > UNHEARD:  # what is still its own it hears with the next heartbeat
            self._mine.clear()
        # A change may have been decided elsewhere, with an owner there by now: then it is not begun here as well.
        concerns_us = await self._read_changes()
        if now - self._beat_at >= BEAT_EVERY:
            await self.leases.beat()
            self._beat_at = now
            await self._release_ended()
        if concerns_us or now - self._claim_at >= CLAIM_EVERY:
            await self._take_share()
            self._claim_at = now

    async def _take_share(self) -> None:
        """Take unowned groups, and read which groups this runner owns now."""
        self._taken.clear()
        claimed = () if self._draining else await self.leases.claim()
        mine = set(await self.leases.mine()) | self._taken  # groups taken during the read are owned too
        for group in self._mine - mine:
            self._over.pop(group, None)
            for work in self._showing:
                work.drop(group)
            for incident in self._open.get(group, ()):
                self._advancing.drop(incident)
                self.notices.waits(incident, "")
            if group in self._open:
                self.log("lease_lost", group=group)
        # Also what was opened here: it may have changed, or even ended, before this runner knew that it owns it.
        new = dict.fromkeys((*claimed, *sorted(mine - self._mine)))
        self._mine = mine
        for group in claimed:
            if unread := [line for line in self._open.get(group, {}).values() if line.state is State.OPENED]:
                self.log("resumed", group=group, checks=len(unread))
        for group in new:
            self._schedule_group(group)
        if claimed:
            self.log("claimed", groups=len(claimed))

    async def _release_ended(self) -> None:
        """Release groups that are over, once that is shown."""
        known_since = self.clock() - OVER_FOR
        over = {
            group
            for group, since in self._over.items()
            if since <= known_since and not any(work.is_scheduled(group) for work in self._showing)
        }
        if over:
            await self.leases.let_go(over)

    def _note_as_ours(self, group: str) -> None:
        self._mine.add(group)
        self._taken.add(group)

    def _note_as_over(self, group: str) -> None:
        if group not in self._open:
            self._over.setdefault(group, self.clock())

    def _group_of(self, incident_id: str) -> str:
        return next((group for group, members in self._open.items() if incident_id in members), "")

    def _schedule_group(self, group: str) -> None:
        """Have all of a group seen to."""
        self._note_as_over(group)
        self._schedule_showing(group)
        for incident in self._open.get(group, ()):
            self._advancing.schedule(incident)

    def _schedule_showing(self, group: str) -> None:
        self._reads.pop(group, None)  # a read that has begun may not have what is to be shown
        for work in self._showing:
            work.schedule(group)

    def _begin_due(self) -> None:
        if not self._draining:
            self._advancing.begin()
            self._begin_showing()

    def _begin_showing(self) -> None:
        for work in self._showing:
            work.begin()

    async def _read_changes(self) -> bool:
        """Note what changed since the last look; True if some of it is owned here, as far as known."""
        concerns_us = False
        changes = await self.ledger.changed(self._cursor)
        self._cursor = changes.cursor
        for line in changes.incidents:
            members = self._open.setdefault(line.card, {})
            if line.ended:
                members.pop(line.id, None)
                self._advancing.drop(line.id)
                self.notices.waits(line.id, "")
            else:
                members[line.id] = line
            if not members:
                del self._open[line.card]
            if line.card in self._mine:
                concerns_us = True
                self._schedule_showing(line.card)
                if line.ended:
                    self._note_as_over(line.card)
                else:
                    self._over.pop(line.card, None)
                    self._advancing.schedule(line.id)
        return concerns_us

    async def _run_logging_failure(self, do: Callable[[], Awaitable[object]]) -> None:
        """Do it; a ledger failure is logged once, and tried again later."""
        try:
            await do()
        except Exception as error:  # noqa: BLE001 - the serving loop goes on, whatever a turn raises
            if self._unavailable != (sentence := one_line(str(error) or repr(error), 300)):
                self.log("ledger_unavailable", error=sentence, kind=type(error).__name__)
            self._unavailable = sentence
        else:
            self._unavailable = ""

    # --- work

    async def _listen(self) -> None:
        while True:
            match await self.notices.next():
                case Decided(incident=incident):
                    self.advance_now(incident)
                case Changed(group=group):
                    self._run_beside(self.show_changed(group), f"see {group}")

    def _run_beside(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def _take_over_and_advance(self, incident_id: str) -> None:
        async def take() -> None:
            if not (group := self._group_of(incident_id)):  # it may have ended, or be newer than the last look
                incident = await self.ledger.incident(incident_id)
                group = incident.card if incident is not None else incident_id
            await self.leases.take(group, by_force=True)
            if group not in self._mine:  # the decision may have been read already, as another runner's
                self._schedule_showing(group)
            self._note_as_ours(group)
            if not self._draining:
                self._advancing.schedule(incident_id)
                self._advancing.begin()

        await self._run_logging_failure(take)
        self._wake.set()

    async def _carry_on(self, incident_id: str) -> float | None:
        """Advance an incident until it has to wait for something."""
        while (again := await self.advance(incident_id)) is not None:
            self._wake.set()  # so that it is shown at once
            group = self._group_of(incident_id)
            if group in self._mine and self.notices.waits(incident_id, again.because):
                self._schedule_showing(group)
            if again.elsewhere and self.clock() - self._offered.get(group, -OFFER_EVERY) >= OFFER_EVERY:
                await self._offer(group)
            if group and group not in self._mine:
                return None  # another runner owns it now; if it comes back, it is scheduled again
            if again.after > timedelta(0) or self._draining or not group:
                return max(0.0, again.after.total_seconds())
        self._wake.set()
        return None

    async def _offer(self, group: str) -> None:
        """Let go of a group, for a while in which any other runner that looks for groups takes it."""
        self._offered = {**{each: at for each, at in self._offered.items() if each in self._open}, group: self.clock()}
        await self.leases.let_go((group,))
        self._mine.discard(group)
        self._claim_at = self.clock() + OFFERED_FOR

    async def _show(self, surface: Surface, group: str) -> float | None:
        if (reading := self._reads.get(group)) is None:  # surfaces that show it at the same time share a read
            reading = self._reads[group] = asyncio.ensure_future(self.groups.incidents_of_card(group))
        try:
            incidents = await asyncio.shield(reading)
        finally:
            if self._reads.get(group) is reading:
                del self._reads[group]
        if incidents and group in self._mine:
            await surface.show(incidents)
        return None
