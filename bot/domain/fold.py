"""Folds entries into an incident, and says which event may come next.

The table in `transitions.py` knows only states. `objection` checks the rules that need the incident and its record.
Who may approve, budgets and the brake are guards, in other rooms.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, Protocol, cast

from bot.domain.alert import BOT
from bot.domain.entry import Entry, Event
from bot.domain.errors import ImpossibleEvent
from bot.domain.events import (
    AlertCleared,
    AlertJoined,
    AlertReceived,
    Approved,
    Cancelled,
    Declined,
    Endorsed,
    Escalated,
    Expired,
    IncidentEvent,
    NodePicked,
    PlanProposed,
    PlanWithheld,
    ProfileTaken,
    QuestionAnswered,
    QuestionAsked,
    Resolved,
    SampleTaken,
    StepFailed,
    StepSkipped,
    StepStarted,
    StepVerified,
    Triaged,
    ValidationStarted,
)
from bot.domain.incident import Decision, Incident, StepRecord, cleared_name
from bot.domain.safe_text import one_line
from bot.domain.transitions import AFTER_THE_END, BACK, TRANSITIONS, State
from bot.domain.verdict import Confidence, Verdict


class ApprovalEvent(Protocol):
    """Somebody's approval, as an event."""

    @property
    def digest(self) -> str:
        """Of what it approves."""
        ...

    @property
    def needed(self) -> int:
        """How many people have to approve, as counted then."""
        ...


class Proposed(Protocol):
    """What waits for approvals."""

    @property
    def digest(self) -> str:
        """Of all that an approval covers."""
        ...

    @property
    def approvals_needed(self) -> int:
        """How many people have to approve."""
        ...


@contextmanager
def impossible_on_error(what: str) -> Iterator[None]:
    """Reckon with recorded values. Raises: ImpossibleEvent where a forged one, such as a huge age, is beyond that."""
    try:
        yield
    except (ValueError, ArithmeticError, LookupError, TypeError, RecursionError) as no:
        raise ImpossibleEvent(f"{what}: {one_line(str(no), 160) or type(no).__name__}.") from no


def triaged_in(entries: Iterable[Entry]) -> Triaged | None:
    """Return the verdict's entry among an incident's entries; None while there is none."""
    return next((event for entry in entries if isinstance(event := entry.event, Triaged)), None)


def fold(entries: Sequence[Entry]) -> Incident:
    """Return the incident folded from a stream's entries.

    Raises: ImpossibleEvent when they do not form an incident; UnreadableEntry when an entry cannot be read.
    """
    if not entries:
        raise ImpossibleEvent("A stream without entries is not an incident.")
    incident = _opened(entries[0])
    for entry in entries[1:]:
        incident = fold_entry(incident, entry)
    return incident


def fold_entry(incident: Incident, entry: Entry) -> Incident:
    """Return the incident with another entry.

    Raises: ImpossibleEvent, with the reason, when the entry cannot come next.
    """
    try:
        return _fold_entry(incident, entry)
    except (ValueError, ArithmeticError) as no:  # such as a time that no calendar has
        raise ImpossibleEvent(f"{entry.kind} cannot follow in incident {incident.id}: {no}.") from no


def _fold_entry(incident: Incident, entry: Entry) -> Incident:
    if (entry.stream, entry.seq) != (incident.id, incident.seq + 1):
        raise ImpossibleEvent(f"{entry.stream}/{entry.seq} is not what follows {incident.id}/{incident.seq}.")
    event = entry.event
    if incident.ended and isinstance(event, AFTER_THE_END):
        return replace(
            incident, **_changed_fields(incident, entry, event), updated_at=entry.at, seq=entry.seq, head=entry.hash
        )
    leads_to = TRANSITIONS.get(incident.state, {}).get(type(event))  # events of `house` are not in the table
    why = "it has ended" if incident.ended else "" if leads_to is not None else "this state does not allow it"
    why = why or objection(incident, event, entry.by)
    if why or leads_to is None:
        raise ImpossibleEvent(
            f"{entry.kind} cannot follow in incident {incident.id}, which is {incident.state}: {why}."
        )
    state = (incident.parked_from or State.OPENED) if leads_to is BACK else leads_to
    known = cast(IncidentEvent, event)
    moved = replace(  # a single call: it is most of the cost of a fold
        incident,
        **_changed_fields(incident, entry, event),
        state=state,
        updated_at=entry.at,
        seq=entry.seq,
        head=entry.hash,
        ending=known if _is_end(known) else None,
    )
    if incident.parked_from is not None and state is not State.UNKNOWN and not moved.ended:
        moved = replace(moved, question=None, asked_at=None, parked_from=None)
    return moved


def _is_end(event: IncidentEvent) -> bool:
    """True when nothing may follow this event: it is the incident's end."""
    if isinstance(event, Triaged):
        return event.verdict.plan is None
    return isinstance(event, Resolved | Declined | Expired | Cancelled | Escalated | PlanWithheld)


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
        inherited=event.askers,
        wave=event.wave,
    )


def _changed_fields(incident: Incident, entry: Entry, event: Event) -> dict[str, Any]:
    """The fields that an entry changes, with their new values."""
    match event:
        case AlertJoined(alert=alert):
            fires = cleared_name(alert.kind, alert.id)
            return {"joined": (*incident.joined, alert), "cleared": incident.cleared - {fires}}
        case AlertCleared(source=source, id=alert_id):
            return {"cleared": incident.cleared | {cleared_name(source, alert_id)}}
        case ProfileTaken(reading=reading):
            return {"profile": reading or incident.profile}
        case NodePicked(node=node):
            return {"node": node, "picked_by": entry.by if entry.by != BOT else ""}
        case Triaged():
            return {"triage": event, "playbook": event.playbook or incident.playbook}
        case PlanWithheld():
            return {"withheld": event}
        case PlanProposed():
            return {"proposal": event, "proposed_at": entry.at}
        case Endorsed():
            return {"endorsements": (*incident.endorsements, Decision(entry.by, entry.at, event))}
        case Approved() | Declined():
            return {"decision": Decision(entry.by, entry.at, event)}
        case StepStarted(number=number, attempt=attempt):
            first = incident.steps[number - 1].first_at if attempt > 1 else entry.at
            record = StepRecord(number, attempt, entry.at, event, first_at=first)
            return {"steps": (*incident.steps[: number - 1], record)}
        case StepSkipped(number=number):
            record = StepRecord(number, 0, entry.at, None, event, entry.at)
            return {"steps": (*incident.steps, record)}
        case StepVerified() | StepFailed():
            record = replace(incident.steps[-1], outcome=event, ended_at=entry.at)
            return {"steps": (*incident.steps[:-1], record)}
        case ValidationStarted(window=window):
            return {"validation": event, "validation_ends_at": entry.at + max(window, timedelta(0))}
        case SampleTaken():
            return {"samples": (*incident.samples, event), "sampled_at": entry.at}
        case QuestionAsked():
            return {"question": event, "asked_at": entry.at, "parked_from": incident.state}
    return {}


def objection(incident: Incident, event: Event, by: str) -> str:
    """Return why the event cannot come next in this incident; empty if it can."""
    match event:
        case NodePicked(node=node):
            return "it has its node" if incident.node else "" if node else "it names no node"
        case Triaged(verdict=verdict):
            return "" if verdict.node == incident.node else f"its node is {incident.node or 'not known yet'}"
        case PlanWithheld() | PlanProposed():
            return _objection_to_plan(incident.verdict, event, undoes=bool(incident.undoes))
        case Endorsed() | Approved() | Declined():
            return _objection_to_decision(incident, event, by)
        case Cancelled() | Expired():
            return "a step has begun" if incident.has_begun else ""
        case StepStarted() | StepSkipped() | StepVerified() | StepFailed() | ValidationStarted():
            return _objection_to_step(incident, event)
        case Resolved():
            return "steps are left" if incident.steps_left or incident.step_under_way else _objection_to_cure(incident)
        case QuestionAnswered():
            return "" if incident.node else "its node must be picked first"
    return ""


def _objection_to_cure(incident: Incident) -> str:
    if any(isinstance(step.outcome, StepFailed) for step in incident.steps):
        return "a step has failed"
    return "" if incident.samples and incident.samples[-1].holds else "the last look did not find it cured"


def _objection_to_plan(verdict: Verdict | None, event: PlanWithheld | PlanProposed, *, undoes: bool) -> str:
    if verdict is None or verdict.plan is None:
        return "its verdict has no plan"
    if isinstance(event, PlanWithheld):
        return ""
    if event.plan.node != verdict.node:
        return f"the plan is for {event.plan.node}"
    if not event.plan.steps:
        return "the plan has no steps"
    # An undo needs no cause: the ledger shows what was done.
    if not undoes and verdict.confidence not in (Confidence.CONFIRMED, Confidence.LIKELY):
        return "a cause that is only possible is not acted on"
    if event.approvals_needed < 1:
        return "somebody must approve"
    # Also if a secret was removed from it: the stored plan is then not what would run.
    return "" if event.is_unaltered else "its digest does not match the recorded plan"


def _objection_to_decision(incident: Incident, event: Endorsed | Approved | Declined, by: str) -> str:
    proposal = incident.proposal
    if proposal is None:
        return "nothing was proposed"
    if isinstance(event, Declined):
        return "another plan was declined" if event.digest not in ("", proposal.digest) else ""
    approvers = [endorsement.by for endorsement in incident.endorsements]
    return objection_to_yes(event, by, proposal, approvers, begins=isinstance(event, Approved))


def objection_to_yes(
    event: ApprovalEvent, by: str, proposal: Proposed, earlier: Collection[str], *, begins: bool
) -> str:
    """Say why nobody can say that yes to what was proposed, after those `earlier` people; empty if they can.

    Shape: `begins`: it is the last that is needed, with which what was proposed may begin.
    """
    if event.digest != proposal.digest:
        return "it is for another plan"
    if by == BOT:
        return "only a person can approve"
    if by in earlier:
        return f"{by} has approved already"
    needed = max(proposal.approvals_needed, event.needed)
    is_last = len(earlier) + 1 >= needed
    if begins:
        return "" if is_last else f"{needed} approvals are needed"
    return "this is the last approval that is needed" if is_last else ""


def _objection_to_step(
    incident: Incident, event: StepStarted | StepSkipped | StepVerified | StepFailed | ValidationStarted
) -> str:
    if any(isinstance(step.outcome, StepFailed) for step in incident.steps):
        return "a step has failed"
    planned = len(incident.proposal.plan.steps) if incident.proposal is not None else 0
    open_step = incident.step_under_way
    if isinstance(event, ValidationStarted):
        if incident.validation is not None:
            return "it was watched before"
        is_done = open_step is None and event.waiting >= 0 and len(incident.steps) + event.waiting == planned
        return "" if is_done and incident.steps else "not all steps are done"
    if incident.state is State.VERIFYING and not incident.cure_has_held:
        return "the cure has not held yet"
    if isinstance(event, StepVerified | StepFailed):
        return "" if open_step is not None and open_step.number == event.number else f"step {event.number} is not open"
    if isinstance(event, StepStarted) and open_step is not None:
        again = (open_step.number, open_step.attempt + 1)
        return "" if (event.number, event.attempt) == again else f"step {open_step.number} is open"
    if open_step is not None:
        return f"step {open_step.number} is open"
    if event.number != incident.next_step or event.number > planned:
        return f"step {event.number} is not the next of {planned}"
    return "" if isinstance(event, StepSkipped) or event.attempt == 1 else "its first attempt is number 1"
