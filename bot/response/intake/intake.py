"""From a delivery to incidents: which nodes it names, which route it takes, and what is recorded.

It does not know where incidents are shown. The incidents that it opens are on record before the delivery is done; the
holder of the group's lease goes on from there.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias

from bot.domain.alert import Alert, AlertGroup, AlertStatus, Reporter
from bot.domain.contracts import Clock, Log
from bot.domain.duration import duration_text
from bot.domain.engine_contracts import Notices
from bot.domain.entry import is_author
from bot.domain.errors import LedgerError, PagerDutyFailed, PagerDutyUnavailable
from bot.domain.intake_contracts import NodeSignal, Recurrence, StoredDelivery, StormLimits
from bot.domain.node import Node
from bot.domain.safe_text import one_line
from bot.ledger.dedup_store import DedupStore
from bot.ledger.inbox import Inbox
from bot.response.intake.alert_recorder import MOST_OPTIONS, AlertRecorder, IncidentSeed, group_name
from bot.response.intake.routing import NamedNodes, NamePlaces, Names, Routes
from bot.response.repeating import repeat

AT_ONCE = 16
LOOK_SECONDS = 1.0
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=1), timedelta(seconds=30)
ASKED_FOR = timedelta(minutes=15)  # how long to ask for a case's alerts before going on without them
GIVEN_UP_AFTER = 40  # attempts, of which most are half a minute apart

# A case with what its source says of it when asked, as its alerts; None where the bot itself raised it.
Complete: TypeAlias = Callable[[AlertGroup], Awaitable[AlertGroup | None]]
PersonOf: TypeAlias = Callable[[Reporter], Awaitable[str]]  # as the record writes people; empty if unknown


@dataclass(frozen=True, slots=True)
class IntakeRules:
    """The settings for alerts."""

    routes: Routes
    brakes: StormLimits
    stale_after: timedelta
    places: Mapping[str, NamePlaces] = field(
        default_factory=dict
    )  # by source; without any, names are searched everywhere


@dataclass(slots=True, eq=False)
class Intake:
    """Handles deliveries; several programs may share the inbox.

    Shape: `nodes` are the inventory's; `arrivals` is set when something new was stored. `complete` and `person_of`
    ask the source for what a delivery does not say, where that is possible.
    """

    inbox: Inbox
    cases: DedupStore
    recorder: AlertRecorder
    rules: IntakeRules
    nodes: Sequence[Node]
    notices: Notices
    arrivals: asyncio.Event
    now: Clock
    log: Log
    complete: Complete | None = field(default=None, kw_only=True)
    person_of: PersonOf | None = field(default=None, kw_only=True)
    _names: Names | None = field(default=None, init=False)
    _underway: dict[str, asyncio.Task[None]] = field(default_factory=dict, init=False)

    async def run(self) -> None:
        """Handle what is in the inbox, until cancelled."""
        await repeat(self.start_waiting_deliveries, LOOK_SECONDS, self.log, "intake_failed", self.arrivals)

    async def start_waiting_deliveries(self) -> int:
        """Begin with waiting deliveries, as far as there is room; return how many.

        Raises: LedgerError when the inbox cannot be asked.
        """
        room = AT_ONCE - len(self._underway)
        if room <= 0:
            return 0
        kept = await self.inbox.claim(room, frozenset(self._underway))
        for waiting in kept:
            name = waiting.delivery.key
            task = asyncio.create_task(self._handle_or_retry(waiting), name=f"delivery {name}")
            self._underway[name] = task
            task.add_done_callback(lambda _, name=name: self._ended(name))  # type: ignore[misc]
        return len(kept)

    async def drain(self, seconds: float) -> None:
        """Let running work finish, at most so many seconds; the rest is for the next run."""
        if self._underway:
            _, late = await asyncio.wait(set(self._underway.values()), timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _ended(self, name: str) -> None:
        self._underway.pop(name, None)
        self.arrivals.set()

    async def _handle_or_retry(self, kept: StoredDelivery) -> None:
        delivery = kept.delivery
        try:
            try:
                await self.handle_delivery(kept)
            except PagerDutyUnavailable as error:
                await self._retry_or_give_up(kept, error, timedelta(seconds=error.retry_after_seconds))
            except LedgerError as error:
                await self._retry_or_give_up(kept, error)
            # The serving loop: a bug at a delivery must not stop the others.
            except Exception as bug:  # noqa: BLE001
                await self._retry_or_give_up(kept, bug)
            else:
                await self.inbox.mark_done(delivery)
        except LedgerError as error:  # the claim stays, and is taken again
            self.log("delivery_failed", source=delivery.source, id=delivery.id, error=one_line(str(error)))

    async def _retry_or_give_up(self, kept: StoredDelivery, error: Exception, asked: timedelta = timedelta(0)) -> None:
        pause = max(asked, min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(kept.attempts, 10)))
        source, name, sentence = kept.delivery.source, kept.delivery.id, one_line(str(error) or repr(error), 300)
        if kept.attempts + 1 >= GIVEN_UP_AFTER:
            self.log("delivery_given_up", source=source, id=name, error=sentence, kind=type(error).__name__)
            await self.inbox.give_up(kept.delivery, sentence)
            return
        again = pause.total_seconds()
        self.log("delivery_failed", source=source, id=name, error=sentence, again_in_seconds=again)
        await self.inbox.mark_failed(kept.delivery, pause, sentence)

    # --- a delivery

    async def handle_delivery(self, kept: StoredDelivery) -> None:
        """Handle a delivery: when this returns, all its entries are on record.

        Raises: LedgerUnavailable; PagerDutyUnavailable while it is worth asking again.
        """
        alarm = kept.delivery.alarm
        if alarm is None:
            return
        is_over = alarm.happening is AlertStatus.RESOLVED
        if is_over or (alarm.whole and alarm.over and not alarm.firing):  # what fires was left out by its source
            group = await self.cases.record_over(kept.delivery)
            if group:
                ended = None if is_over else self._parts(alarm)[1].keys()
                firing = await self.cases.firing_nodes(alarm)
                await self.recorder.record_clear(group, alarm.source, alarm.case, firing, ended)
                self.notices.changed(group)
            return
        completed = await self._completed(kept, alarm)
        if completed is None:
            self.log("alarm_is_ours", source=alarm.source, id=alarm.case)
            return
        await self._handle_firing(kept, completed)

    async def _completed(self, kept: StoredDelivery, alarm: AlertGroup) -> AlertGroup | None:
        if alarm.whole or self.complete is None:
            return alarm
        try:
            return await self.complete(alarm)
        except PagerDutyUnavailable:
            if self.now() - kept.kept_at < ASKED_FOR and not self._parts(alarm)[0].nodes:
                raise
        except PagerDutyFailed as error:
            self.log("signals_unread", source=alarm.source, id=alarm.case, error=one_line(str(error)))
        return alarm

    async def _handle_firing(self, kept: StoredDelivery, alarm: AlertGroup) -> None:
        named, parts = self._parts(alarm)
        route = self.rules.routes.of_alarm(alarm)
        asked_by = await self._raised_by(alarm.source, alarm.raised_by) if alarm.raised_by is not None else ""
        seed = self._seed(alarm, asked_by, route.channel)
        # Each node as if its alerts had come alone; the card, and so the channel, is that of all.
        seeds = {node: self._seed(parts.get(node, alarm), asked_by, route.channel) for node in named.nodes}
        key = signature(alarm, seeds, named)
        group = group_name(alarm.source, alarm.case, kept.delivery.id, kept.kept_at)
        course = await self.cases.record_firing(kept.delivery, key, group, self.rules.brakes)
        if course.turn is Recurrence.OVER:
            self.log("alarm_was_over", source=alarm.source, id=alarm.case)
            return
        why = why_nothing_in_storm(self.rules.brakes) if course.storm else ""
        seed, seeds = seed.placed(course, why), {node: each.placed(course, why) for node, each in seeds.items()}
        seen = tuple(
            NodeSignal(signal.key, node, signal.firing, signal.since)
            for node, part in parts.items()
            for signal in part.signals
        )
        news = await self.cases.news(alarm, seen, kept.kept_at, self.rules.brakes.cooldown)
        asks = bool(named.ambiguous) or not named.nodes
        opened = await self.recorder.record_firing(course.group, seeds, news, asks)
        await self.cases.record_node_signals(alarm, seen, opened)
        if asks:
            await self.recorder.record_question(seed, *self._question(named))
        if over := {node for node, part in parts.items() if alarm.firing and not part.firing}:
            firing = await self.cases.firing_nodes(alarm)
            await self.recorder.record_clear(course.group, alarm.source, alarm.case, firing, over)
        self.log(
            "alarm",
            source=alarm.source,
            id=alarm.case,
            group=course.group,
            turn=course.turn.value,
            nodes=len(named.nodes),
            route=route.number,
            storm=course.storm,
        )
        self.notices.changed(course.group)

    def _seed(self, part: AlertGroup, asked_by: str, channel: str) -> IncidentSeed:
        route = self.rules.routes.of_alarm(part)
        alert = Alert(part.source, part.case, asked_by, alert_words(part), fired_at=part.fired_at, url=part.url)
        why = route.withheld or self._why_stale(part.fired_at)
        return IncidentSeed(alert, "", route.playbook, channel, why)

    async def _raised_by(self, source: str, raiser: Reporter) -> str:
        """Who raised it by hand, as the record writes people; a person without any details is a stranger too."""
        if self.person_of is not None and raiser.id:
            try:
                if person := await self.person_of(raiser):
                    return person
            except PagerDutyFailed as error:
                self.log("person_unknown", id=raiser.id, error=one_line(str(error)))
        who = f"{source}:{raiser.id}"
        return who if is_author(who) else f"{source}:somebody"

    def _why_stale(self, fired_at: datetime | None) -> str:
        if fired_at is None or self.now() - fired_at <= self.rules.stale_after:
            return ""
        old = duration_text(self.rules.stale_after)
        return (
            f"The alert is from {fired_at:%Y-%m-%d %H:%M} UTC, more than {old} before it was handled: "
            "nodes are read, and nothing is offered."
        )

    def knows(self, nodes: Sequence[Node]) -> None:
        """Search for the names of these nodes from now on."""
        self.nodes, self._names = nodes, None

    @property
    def names(self) -> Names:
        """The names that it searches for."""
        if self._names is None:
            self._names = Names(self.nodes)
        return self._names

    def _parts(self, alarm: AlertGroup) -> tuple[NamedNodes, Mapping[str, AlertGroup]]:
        return self.names.parts(alarm, self.rules.places.get(alarm.source, NamePlaces()))

    def _question(self, named: NamedNodes) -> tuple[str, tuple[str, ...]]:
        if named.ambiguous:
            values = ", ".join(f"“{one_line(value, 60)}”" for value in list(named.ambiguous)[:3])
            return f"{values} matches several nodes. Which is meant?", tuple(
                node for meant in named.ambiguous.values() for node in meant
            )
        names = tuple(node.name for node in self.nodes)
        more = f" (The menu has {MOST_OPTIONS} of {len(names)}.)" if len(names) > MOST_OPTIONS else ""
        return f"The alert names no node of the inventory. Which is meant?{more}", names


def why_nothing_in_storm(brakes: StormLimits) -> str:
    """Return why nothing is offered during a storm."""
    return (
        f"More than {brakes.storm_alerts} alerts came within {duration_text(brakes.storm_window)}: "
        "during such a storm nodes are read, and nothing is offered."
    )


def alert_words(alarm: AlertGroup) -> str:
    """Return what an alert says, in a sentence or two."""
    words = [one_line(alarm.title, 300) or "An alert without a title"]
    if service := alarm.labels.get("service"):
        words.append(f"({one_line(service, 80)})")
    if alarm.unseen:
        words.append(f"— {alarm.unseen} more alerts were left out by {alarm.source}: their nodes are not known.")
    return " ".join([*words, alarm.url]).strip()


def signature(alarm: AlertGroup, seeds: Mapping[str, IncidentSeed], named: NamedNodes) -> str:
    """Return a hash of an alert's subject and nodes, and of where that leads; empty where its nodes are unknown.

    What would be told elsewhere, or may be offered a plan, joins no card of what is not.
    """
    if not seeds or named.ambiguous:
        return ""
    title = alarm.title
    for node in sorted(seeds, key=len, reverse=True):
        title = title.replace(node, "*")
    what = re.sub(r"\d+(?:\.\d+)?", "#", " ".join(title.lower().split()))
    about = alarm.labels.get("service_id") or alarm.labels.get("service") or alarm.labels.get("alertname", "")
    leads = (f"{node} {seed.playbook} {seed.channel} {not seed.withheld}" for node, seed in seeds.items())
    words = (alarm.source, about, what, *sorted(leads))
    return hashlib.sha256("\n".join(words).encode(errors="backslashreplace")).hexdigest()  # short, however many nodes
