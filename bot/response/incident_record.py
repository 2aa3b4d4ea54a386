"""Incidents on record: their ids, how to find and continue them, and what is known about a step."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bot.domain.action import Action, Facts, Plan, Step
from bot.domain.alert import BOT, Alert, SourceKind
from bot.domain.contracts import Log
from bot.domain.entry import Entry, is_author, is_stream
from bot.domain.errors import LedgerError, Refused, UnknownIncident, ZombieError
from bot.domain.events import (
    GIVE_UP,
    GO_ON,
    AlertReceived,
    Cancelled,
    Escalated,
    Expired,
    IncidentEvent,
    QuestionAsked,
    StepFailed,
    StepSkipped,
    StepVerified,
)
from bot.domain.fold import fold_entry
from bot.domain.house_events import HOUSE, WishRefused
from bot.domain.incident import Incident, StepRecord
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.domain.verdict import Evidence

if TYPE_CHECKING:
    from bot.ledger import Ledger

UNDO_TIMES = 20  # undo proposals that an incident may have, when people do not approve them
NOT_LASTING = "It did not last: find out what starts it again, replace the node, or look by hand."
_KEPT_AWAY = "It keeps work away and cures nothing: a person has to see to the node."
OVER_BY_NOW = "Its source says that the alert is over."


def null_log(event: str, **fields: object) -> None:
    """A log that drops its lines."""


@dataclass(frozen=True, slots=True)
class IncidentRequest:
    """A person's request as recorded. `id` is the source's own name for it: the same id is the same request.

    Shape: `os_user` is the login behind a name claimed in a terminal; `wave` is the wave that it is for.
    """

    kind: SourceKind
    id: str
    by: str
    text: str
    playbook: str
    os_user: str = ""
    wave: str = ""

    @property
    def group(self) -> str:
        """The name of this request's group; made from the request, so that a repetition gets the same name."""
        return short_id("group", self.kind, self.id)

    def incident(self, node: str) -> str:
        """The id of this request's incident for a node."""
        return short_id("incident", self.kind, self.id, node)

    def opening_event(self, node: str) -> AlertReceived:
        """The first entry of that incident."""
        return received(self.unrecorded(node, datetime.min.replace(tzinfo=UTC)))

    def unrecorded(self, node: str, at: datetime) -> Incident:
        """That incident before its first entry is recorded: its number is 0."""
        alert = Alert(self.kind, self.id, self.by, one_line(self.text, 1000), self.os_user)
        state = State.OPENED
        opened = Incident(self.incident(node), node, self.group, alert, state, at, at, 0, "", playbook=self.playbook)
        return replace(opened, wave=self.wave)


def received(incident: Incident) -> AlertReceived:
    """Return the first entry of an incident that a person asked for."""
    return AlertReceived(incident.alert, incident.node, incident.group, incident.playbook, wave=incident.wave)


class IncidentRecord:
    """Incidents in the ledger: find them, and append to them."""

    def __init__(self, ledger: Ledger, log: Log = null_log) -> None:
        self._ledger = ledger
        self._log = log

    async def find(self, incident_id: str) -> Incident:
        """Return the incident.

        Raises: UnknownIncident for an unknown id.
        """
        incident = await self._ledger.incident(incident_id) if is_incident_id(incident_id) else None
        if incident is None:
            raise unknown(incident_id)
        return incident

    async def entries(self, incident_id: str) -> tuple[Entry, ...]:
        """Return the incident's entries.

        Raises: UnknownIncident for an unknown id.
        """
        entries = await self._ledger.read(incident_id) if is_incident_id(incident_id) else ()
        if not entries:
            raise unknown(incident_id)
        return entries

    async def incidents_of_card(self, group: str) -> tuple[Incident, ...]:
        """Return the incidents that are shown together, oldest first; unreadable incidents are left out.

        Raises: LedgerError when the ledger cannot be asked.
        """
        return log_unreadable(*await self._ledger.group(group), self._log)

    async def append(self, incident: Incident, event: IncidentEvent, by: str) -> Incident:
        """Append an event to an incident and return the updated incident.

        Raises: Conflict when it changed meanwhile: read it again and decide again. ImpossibleEvent when the event
        cannot come next.
        """
        return fold_entry(incident, await self._ledger.append(incident.id, incident.seq, event, by))


def log_unreadable(found: tuple[Incident, ...], unreadable: Mapping[str, str], log: Log) -> tuple[Incident, ...]:
    """Return the incidents that were read, and log why others, of a newer program or damaged, are left out."""
    for name, error in unreadable.items():
        log("record_unreadable", incident=name, error=one_line(error))
    return found


async def note_refusal(ledger: Ledger, action: str, by: str, no: ZombieError, about: str = "") -> None:
    """Record what was refused to whom; the person is told even when the ledger cannot be written."""
    with contextlib.suppress(LedgerError):
        refused = WishRefused(type(no).__name__, no.sentence, action, one_line(about, 64))
        await ledger.record_refusal(refused, by if is_author(by) else BOT)


@contextlib.asynccontextmanager
async def refusals_noted(ledger: Ledger, action: str, by: str, about: str = "") -> AsyncIterator[None]:
    """Record what is refused while the block runs."""
    try:
        yield
    except (Refused, UnknownIncident) as no:
        await note_refusal(ledger, action, by, no, about)
        raise


def is_incident_id(incident_id: str) -> bool:
    """True for what may be an incident's id."""
    return is_stream(incident_id) and incident_id != HOUSE


def unknown(incident_id: str) -> UnknownIncident:
    """Return the error for an id that no incident has."""
    return UnknownIncident(f"There is no incident {one_line(incident_id, 40)!r}.")


def short_id(*words: str) -> str:
    """Return the id of an incident or a group, made from its content, so that a repetition gets the same id."""
    return hashlib.sha256("\n".join(words).encode(errors="backslashreplace")).hexdigest()[:12]


def undo_ids(incident_id: str) -> tuple[str, ...]:
    """Return the ids of the incidents that undo this one, in the order in which they are proposed."""
    return tuple(short_id("undo", incident_id, str(number)) for number in range(1, UNDO_TIMES + 1))


async def already_tried_hint(ledger: Ledger, actions: Mapping[str, Action], plan: Plan, tried: str) -> str:
    """Return what people may try where a plan was carried out less than a day ago, in that incident."""
    with contextlib.suppress(LedgerError):  # what cannot be read is not told
        for name in undo_ids(tried):
            if (undo := await ledger.incident(name)) is None:
                break
            if undo.state is State.RESOLVED:
                return f"Incident {name} has undone it since. Ask who wanted that, and why."
    only_contains = all(step.action in actions and actions[step.action].contains for step in plan.steps)
    return _KEPT_AWAY if only_contains else NOT_LASTING


_TOLD = 12  # facts in the sentence; the lines have all


def as_evidence(action: Action, step: Step, facts: Facts) -> Evidence:
    """Return facts in their recorded form."""
    lines = tuple(f"{name}={value}" for name, value in facts.items())
    return Evidence(step.action, "look", f"{action.title_of(step.args)}: {', '.join(lines[:_TOLD])}", lines)


def facts_before(record: StepRecord, otherwise: Facts) -> Facts:
    """Return what was seen before a step began; `otherwise` where it never began."""
    if record.started is None:
        return otherwise
    return facts_of(record.started.before)


def facts_before_steps(incident: Incident) -> dict[str, Facts]:
    """Return what each step so far began from, by action; without steps that never began."""
    steps = zip(plan_of(incident)[0].steps, incident.steps, strict=False)
    return {step.action: facts_before(record, {}) for step, record in steps}


def facts_proving(record: StepRecord) -> Facts:
    """Return what proved a step; empty where it was skipped, or is not proved."""
    return facts_of(record.outcome.proof) if isinstance(record.outcome, StepVerified) else {}


@dataclass(frozen=True, slots=True)
class UndoableStep:
    """A step that may have run, what was seen before it and when it failed, and the steps that undo it."""

    step: Step
    before: Facts
    left: Facts
    inverse: tuple[Step, ...]


def undoable(incident: Incident, actions: Mapping[str, Action]) -> tuple[UndoableStep, ...]:
    """Return the steps of an incident that may have run and can be undone.

    Shape: without one that failed and left all as it was: what is so afterwards, somebody else did.
    """
    done = []
    for record, step in zip(incident.steps, incident.proposal.plan.steps if incident.proposal else (), strict=False):
        if not record.may_have_run or step.action not in actions:
            continue
        inverse, before = actions[step.action].inverse, facts_before(record, {})
        left = facts_of(getattr(record.outcome, "seen", ()))
        back = inverse(step.args, before)
        if back and not (left and inverse(step.args, left) == back):
            done.append(UndoableStep(step, before, left, back))
    return tuple(done)


def facts_of(evidence: tuple[Evidence, ...]) -> Facts:
    """Return the facts that a step's evidence holds."""
    return dict(line.split("=", 1) for seen in evidence[:1] for line in seen.source if "=" in line)


def plan_of(incident: Incident) -> tuple[Plan, dict[str, str]]:
    """Return the approved plan and its bindings."""
    assert incident.proposal is not None
    return incident.proposal.plan, dict(incident.proposal.binds)


def untrusted_node_question(what: str) -> QuestionAsked:
    """Return the question that parks an incident whose node cannot be trusted."""
    return QuestionAsked(f"{what} Nothing more is sent to it. What is it?", (GO_ON, GIVE_UP))


def stopped(incident: Incident, because: str) -> IncidentEvent:
    """End an incident before its next step: cancelled if nothing was done, else escalated to a person."""
    return Escalated(because, steps_not_done_words(incident)) if incident.has_begun else Cancelled(because)


def expired(incident: Incident, because: str) -> IncidentEvent:
    """End an incident whose approval has expired: expired if nothing was done, else escalated to a person."""
    return Escalated(because, steps_not_done_words(incident)) if incident.has_begun else Expired(because)


def cured_since(incident: Incident, other: Incident) -> str:
    """Say that another incident has cured the node, or done the same, since this incident's was read; empty if not.

    Shape: it began after the reading, held to the end of its validation, and had the same cause or the same plan.
    """
    began = next((step.started_at for step in other.steps if step.started is not None), None)
    read_at = (incident.triage.taken_at if incident.triage is not None else None) or incident.proposed_at
    if incident.id == other.id or other.state is not State.RESOLVED or began is None or read_at is None:
        return ""
    if incident.proposal is None or other.proposal is None or began < read_at:
        return ""
    cause, same = (each.verdict.cause if each.verdict is not None else None for each in (incident, other))
    if incident.proposal.plan.cure != other.proposal.plan.cure and (cause is None or cause != same):  # undos have none
        return ""
    by = f"Incident {other.id}" + (f" of {other.wave}" if other.wave else "")
    if cause != same:  # the plan is done, and what it left of this cause nobody has seen
        return f"{by} has carried out this plan on {other.node} since this was read: check the node again."
    return f"{by} has cured {other.node} since this was read: there is nothing left to do here."


def left_behind_words(incident: Incident, actions: Mapping[str, Action]) -> str:
    """Say what stays as a step left it, because the step that would have taken it back was not done.

    Shape: a step that failed may have left it, too; of one whose end is not known, that is said.
    """
    steps = plan_of(incident)[0].steps if incident.proposal is not None else ()
    by_action = {step.action: record for step, record in zip(steps, incident.steps, strict=False)}
    said = []
    for step, record in zip(steps, incident.steps, strict=False):
        action = actions.get(step.action)
        if action is None or action.by_calls is None or not action.ended_by or not record.may_have_run:
            continue
        taken_back = by_action.get(action.ended_by)
        outcome = taken_back.outcome if taken_back is not None else None
        if isinstance(outcome, StepVerified | StepSkipped):
            continue
        last = [each.seen for each in (outcome, record.outcome) if isinstance(each, StepFailed) and each.seen]
        if now := facts_of(last[0]) if last else facts_proving(record):
            said.append(action.by_calls.leaves(step.args, facts_before(record, {}), now))
        else:
            title = action.title_of(step.args)
            said.append(f"It is not known whether “{title}” took effect, and nothing has taken it back.")
    told = {getattr(record.outcome, "because", "") for record in incident.steps}
    return "; ".join(words for words in said if words and not any(words in because for because in told))


def with_left_behind(end: Escalated, incident: Incident, actions: Mapping[str, Action]) -> Escalated:
    """Return the end of an incident that a person takes over; it says what the steps have left behind."""
    left = left_behind_words(incident, actions)
    return replace(end, try_next=f"{end.try_next} {left}".strip()) if left else end


def steps_not_done_words(incident: Incident) -> str:
    """Say which steps of the plan were not done."""
    left = plan_of(incident)[0].steps[len(incident.steps) :]
    return f"Not done: {', '.join(step.action for step in left)}." if left else ""
