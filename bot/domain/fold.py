"""How entries become the incident they tell of, and what can be told of an incident next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import cast

from bot.domain.entry import Entry
from bot.domain.errors import ImpossibleEvent
from bot.domain.event_form import Event
from bot.domain.events import (
    AlertCleared,
    AlertJoined,
    AlertReceived,
    Approved,
    Declined,
    Endorsed,
    IncidentEvent,
    NodePicked,
    PlanProposed,
    PlanWithheld,
    QuestionAsked,
    SampleTaken,
    StepFailed,
    StepSkipped,
    StepStarted,
    StepVerified,
    Triaged,
    ValidationStarted,
)
from bot.domain.incident import Decision, Incident, StepRecord
from bot.domain.invariants import objection
from bot.domain.transitions import AFTER_THE_END, BACK, TRANSITIONS, State, ends


def fold(entries: Sequence[Entry]) -> Incident:
    """Return the incident that a stream's entries tell of.

    Raises: ImpossibleEvent when they tell of none; UnreadableEntry when one of them cannot be read here.
    """
    if not entries:
        raise ImpossibleEvent("An incident without entries is none.")
    incident = _opened(entries[0])
    for entry in entries[1:]:
        incident = after(incident, entry)
    return incident


def after(incident: Incident, entry: Entry) -> Incident:
    """Return the incident with one entry more.

    Raises: ImpossibleEvent, with why, when it cannot be this incident's next.
    """
    if (entry.stream, entry.seq) != (incident.id, incident.seq + 1):
        raise ImpossibleEvent(f"{entry.stream}/{entry.seq} is not what follows {incident.id}/{incident.seq}.")
    event = entry.event
    if incident.ended and isinstance(event, AFTER_THE_END):
        told_of = _told(incident, entry, event)
        return replace(told_of, updated_at=entry.at, seq=entry.seq, head=entry.hash)
    leads_to = TRANSITIONS.get(incident.state, {}).get(type(event))  # an event of the house is in no row
    why = "it has ended" if incident.ended else "" if leads_to is not None else "no such way leads on"
    why = why or objection(incident, event, entry.by)
    if why or leads_to is None:
        raise ImpossibleEvent(
            f"{entry.kind} cannot follow in incident {incident.id}, which is {incident.state}: {why}."
        )
    state = (incident.parked_from or State.OPENED) if leads_to is BACK else leads_to
    told = cast(IncidentEvent, event)
    moved = replace(
        _told(incident, entry, event),
        state=state,
        updated_at=entry.at,
        seq=entry.seq,
        head=entry.hash,
        ending=told if ends(told) else None,
    )
    if incident.parked_from is not None and state is not State.UNKNOWN and not moved.ended:
        moved = replace(moved, question=None, asked_at=None, parked_from=None)
    return moved


def _opened(entry: Entry) -> Incident:
    event = entry.event
    if not isinstance(event, AlertReceived) or entry.seq != 1:
        raise ImpossibleEvent(f"Incident {entry.stream} cannot begin with {entry.kind} as entry {entry.seq}.")
    return Incident(
        id=entry.stream,
        node=event.node,
        group=event.group,
        alert=event.alert,
        state=State.OPENED,
        opened_at=entry.at,
        updated_at=entry.at,
        seq=entry.seq,
        head=entry.hash,
        playbook=event.playbook,
        reopens=event.reopens,
        undoes=event.undoes,
        channel=event.channel,
        withholds=event.withheld,
        storm=event.storm,
    )


def _told(incident: Incident, entry: Entry, event: Event) -> Incident:
    """What one entry adds to what is known."""
    match event:
        case AlertJoined(alert=alert):
            return replace(incident, joined=(*incident.joined, alert))
        case AlertCleared(source=source, id=alert_id):
            return replace(incident, cleared=incident.cleared | {f"{source}:{alert_id}"})
        case NodePicked(node=node):
            return replace(incident, node=node)
        case Triaged():
            return replace(incident, triage=event, playbook=event.playbook or incident.playbook)
        case PlanWithheld():
            return replace(incident, withheld=event)
        case PlanProposed():
            return replace(incident, proposal=event, proposed_at=entry.at)
        case Endorsed():
            return replace(incident, endorsements=(*incident.endorsements, Decision(entry.by, entry.at, event)))
        case Approved() | Declined():
            return replace(incident, decision=Decision(entry.by, entry.at, event))
        case StepStarted(number=number, attempt=attempt):
            record = StepRecord(number, attempt, entry.at, event)
            return replace(incident, steps=(*incident.steps[: number - 1], record))
        case StepSkipped(number=number):
            record = StepRecord(number, 0, entry.at, None, event, entry.at)
            return replace(incident, steps=(*incident.steps, record))
        case StepVerified() | StepFailed():
            record = replace(incident.steps[-1], outcome=event, ended_at=entry.at)
            return replace(incident, steps=(*incident.steps[:-1], record))
        case ValidationStarted(window=window):
            return replace(incident, validation=event, validation_ends_at=entry.at + max(window, timedelta(0)))
        case SampleTaken():
            return replace(incident, samples=(*incident.samples, event))
        case QuestionAsked():
            return replace(incident, question=event, asked_at=entry.at, parked_from=incident.state)
    return incident
