"""Records an alert: incidents are opened, joined, asked about and cleared; a repetition changes nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from bot.domain.alert import BOT, Alert, SourceKind
from bot.domain.entry import Append, instant_text
from bot.domain.errors import Conflict, ImpossibleEvent, UnknownIncident, UnreadableEntry
from bot.domain.events import (
    AlertCleared,
    AlertJoined,
    AlertReceived,
    Cancelled,
    IncidentEvent,
    NodePicked,
    QuestionAsked,
)
from bot.domain.fold import fold_entry
from bot.domain.incident import Incident, newest
from bot.domain.intake_contracts import Correlation, NodeNews
from bot.domain.transitions import State
from bot.ledger import Ledger
from bot.response.incident_record import short_id

MOST_OPTIONS = 100  # what the menu of a chat can show
_TRIES = 5
_UNDECIDED = (State.TRIAGED, State.PROPOSED, State.UNKNOWN)


@dataclass(frozen=True, slots=True)
class IncidentSeed:
    """What the incidents of an alert begin with."""

    alert: Alert
    group: str
    playbook: str
    channel: str
    withheld: str = ""
    storm: str = ""

    def placed(self, course: Correlation, why: str) -> IncidentSeed:
        """The seed where its case goes; `why` says why nothing is offered there."""
        return replace(self, group=course.group, storm=course.storm, withheld=self.withheld or why)

    def opening_event(self, node: str, reopens: str = "") -> AlertReceived:
        """The first entry of a node's incident."""
        return AlertReceived(
            self.alert,
            node,
            self.group,
            self.playbook,
            reopens,
            channel=self.channel,
            withheld=self.withheld,
            storm=self.storm,
        )


class AlertRecorder:
    """Writes alerts into the ledger. It checks each entry first, because it may have been written before.

    Raises: every method raises LedgerUnavailable when the ledger cannot be read.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def group(self, name: str) -> tuple[Incident, ...]:
        """Return a group's incidents, for each node the newest.

        Raises: UnreadableEntry where one of them cannot be read: what to record is not known then.
        """
        return newest(await self._incidents(name))

    async def record_firing(
        self, name: str, seeds: Mapping[str, IncidentSeed], news: Mapping[str, NodeNews], asks: bool
    ) -> frozenset[str]:
        """Give each node its incident in this group: new, joined while open, or reopened; return those with a new one.

        Shape: `news` has the nodes with an alert that is. An ended incident whose verdict does not speak of it is
        reopened, and any that offers nothing where something may be offered now, though nobody said that its alerts are
        over. A question which node is meant stays while an alert still `asks` that.
        """
        opened = set[str]()
        group = await self.group(name)
        known = {incident.node: incident for incident in group}
        # The person who raised the group is the asker for each of its nodes, also for nodes added later.
        askers = tuple(dict.fromkeys(asker for incident in group for asker in incident.askers))
        for node, seed in seeds.items():
            incident = known.get(node)
            received = replace(seed.opening_event(node), askers=askers)
            if incident is None:
                there = await self._open(incident_id(name, node), received)
            elif incident.is_over or _is_outdated(incident, seed, news.get(node)):
                again = incident_id(name, node, incident.id)
                there = await self._open(again, replace(received, reopens=incident.id), *_others(incident, seed.alert))
            else:
                there = await self._join(incident, seed.alert)
            if there is None:
                opened.add(node)
        for asking in known.values() if not asks else ():
            if asking.node or asking.state is not State.UNKNOWN:
                continue
            if any(_has_alert(asking, seed.alert) for seed in seeds.values()):
                await self._append_event(asking, Cancelled("Each alert that fires names its node now."), BOT)
        return frozenset(opened)

    async def record_question(self, heading: IncidentSeed, question: str, options: Iterable[str]) -> None:
        """Ask a person which node is meant; once, until what was asked about is over or named its node."""
        asked = QuestionAsked(question, tuple(dict.fromkeys(options))[:MOST_OPTIONS])
        received = heading.opening_event("")
        earlier = [each for each in await self._incidents(heading.group) if not each.node or each.picked_by]
        last = next((each for each in earlier if each.id not in {other.reopens for other in earlier}), None)
        if last is None:
            name = incident_id(heading.group, "?")
        elif last.is_over or last.state is State.CANCELLED:
            name, received = incident_id(heading.group, "?", last.id), replace(received, reopens=last.id)
        else:
            name = last.id
        incident = await self._open(name, received, asked)
        if incident is not None and incident.state is State.OPENED and not incident.node:
            await self._append_event(incident, asked, BOT)

    async def record_clear(
        self,
        group: str,
        source: SourceKind,
        case: str,
        firing: Collection[str],
        nodes: Collection[str] | None = None,
    ) -> None:
        """Note that a case is over, for its whole group or for these nodes, and end what nobody has decided.

        Shape: `firing` are the nodes of which an alert of the case fires on.
        """
        for incident in await self.group(group):
            theirs = any((alert.kind, alert.id) == (source, case) for alert in incident.alerts)
            if not theirs or incident.node in firing or (nodes is not None and incident.node not in nodes):
                continue
            if not incident.is_cleared(source, case):
                incident = await self._append_event(incident, AlertCleared(source, case), BOT)
            if incident.is_over and not incident.ended and incident.state in _UNDECIDED and not incident.steps:
                await self._append_event(incident, Cancelled(f"Resolved upstream: {source} says that it is over."), BOT)

    async def record_pick(self, name: str, node: str, by: str) -> Incident:
        """Record which node a person says is meant, and return the updated incident.

        Raises: UnknownIncident for an unknown id; ImpossibleEvent when it has its node.
        """
        incident = await self._ledger.incident(name)
        if incident is None:
            raise UnknownIncident(f"There is no incident {name!r}.")
        return await self._append_event(incident, NodePicked(node), by)

    async def _incidents(self, group: str) -> tuple[Incident, ...]:
        found, unreadable = await self._ledger.group(group)
        for error in unreadable.values():
            raise UnreadableEntry(error)
        return found

    async def _open(self, name: str, received: AlertReceived, *more: QuestionAsked | AlertJoined) -> Incident | None:
        """Open an incident, with what follows in the same transaction; return it if it was on record already."""
        following = (Append(name, 1, more, BOT),) if more else ()
        try:
            await self._ledger.append_together(
                (Append(name, 0, (received,), _alert_author(received.alert)), *following)
            )
        except Conflict:  # perhaps by another delivery
            incident = await self._ledger.incident(name)
            if incident is None:
                raise
            return await self._join(incident, received.alert)
        return None

    async def _join(self, incident: Incident, alert: Alert) -> Incident:
        return (
            incident
            if _covers(incident, alert)
            else await self._append_event(incident, AlertJoined(alert), _alert_author(alert))
        )

    async def _append_event(self, incident: Incident, event: IncidentEvent, by: str) -> Incident:
        """Append an event; where another writer was first, check again whether it is still needed."""
        for _ in range(_TRIES):
            try:
                return fold_entry(incident, await self._ledger.append(incident.id, incident.seq, event, by))
            except Conflict:
                incident = await self._ledger.incident(incident.id) or incident
                if _is_recorded(incident, event):
                    return incident
            except ImpossibleEvent:
                if isinstance(event, NodePicked):
                    raise
                return incident  # it changed meanwhile, and the event no longer applies
        return incident


def incident_id(group: str, *words: str) -> str:
    """The id of a group's incident, made from its content, so that whoever else opens it gets the same id.

    Shape: `words` are its node, or “?”, and the incident that it reopens.
    """
    return short_id("incident", group, *words)


def group_name(source: SourceKind, case: str, delivery: str, came_at: datetime) -> str:
    """The name of a case's group from this delivery on; another where it comes again, after a prune."""
    return short_id("group", source, case, delivery, instant_text(came_at))


def _is_outdated(incident: Incident, seed: IncidentSeed, news: NodeNews | None) -> bool:
    """True if an alert that is news has no answer in an incident, nor will have one."""
    if news is None:
        return False
    is_behind = incident.opened_at < news.before or (incident.has_begun and incident.last_look_at < news.since)
    may_be_offered_now = bool(incident.withholds) and not seed.withheld
    return may_be_offered_now or (incident.ended and is_behind)


def _has_alert(incident: Incident, alert: Alert) -> bool:
    return any((earlier.kind, earlier.id) == (alert.kind, alert.id) for earlier in incident.alerts)


def _others(incident: Incident, alert: Alert) -> tuple[AlertJoined, ...]:
    """The alerts of an incident that fire on beside this one: its successor has them too."""
    others = (other for other in incident.alerts if (other.kind, other.id) != (alert.kind, alert.id))
    return tuple(AlertJoined(other) for other in others if not incident.is_cleared(other.kind, other.id))


def _covers(incident: Incident, alert: Alert) -> bool:
    """True if the incident has the alert as one that fires, and the person who raised it is among its askers."""
    fires = _has_alert(incident, alert) and not incident.is_cleared(alert.kind, alert.id)
    return fires and (not alert.asked_by or alert.asked_by in incident.askers)


def _is_recorded(incident: Incident, event: IncidentEvent) -> bool:
    match event:
        case AlertJoined(alert=alert):
            return _covers(incident, alert)
        case AlertCleared(source=source, id=case):
            return incident.is_cleared(source, case)
        case Cancelled() | QuestionAsked():
            return incident.ended or incident.state not in (*_UNDECIDED, State.OPENED)
    return False


def _alert_author(alert: Alert) -> str:
    return alert.asked_by or BOT
