"""An incident: a node's fault from alert to end, with everything that the ledger says about it."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from bot.domain.alert import PEOPLE, UNDO, Alert, SourceKind
from bot.domain.events import (
    Approved,
    Declined,
    Endorsed,
    IncidentEvent,
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
from bot.domain.safe_text import safe
from bot.domain.transitions import State
from bot.domain.verdict import Verdict


class Result(enum.StrEnum):
    """How a node stands that was acted on, in the words that people read."""

    CURED = "cured"
    NOT_GIVEN_BACK = "cured, but not given back"  # what keeps work away was not taken back
    CONTAINED = "kept from new work, and not cured"  # all that its plan was for
    NOT_FIXED = "acted, but not fixed"


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's approval or refusal: who, when, and the reason."""

    by: str
    at: datetime
    event: Endorsed | Approved | Declined

    @property
    def os_user(self) -> str:
        """The login that it was said from; empty in a chat."""
        return self.event.os_user


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What is recorded of a step of the plan; without an outcome it is under way, or was when its runner died."""

    number: int
    attempt: int
    started_at: datetime
    started: StepStarted | None = None  # None: skipped
    outcome: StepVerified | StepSkipped | StepFailed | None = None
    ended_at: datetime | None = None
    first_at: datetime | None = None  # when its first attempt began; None: skipped

    @property
    def had_its_try(self) -> bool:
        """True once it was begun, unless it failed and it is known that none of its commands ran."""
        return self.started is not None and not getattr(self.outcome, "never_ran", False)

    @property
    def may_have_run(self) -> bool:
        """True once a command of it was run, or it is not known that none was: nothing else is the bot's to undo."""
        return self.had_its_try and not getattr(self.outcome, "otherwise", "")


@dataclass(frozen=True, slots=True)
class IncidentSummary:
    """A line of the list of incidents."""

    id: str
    node: str
    group: str
    state: State
    cause: str | None
    source: SourceKind
    source_id: str
    opened_at: datetime
    updated_at: datetime
    ended: bool

    @property
    def card(self) -> str:
        """The group that it is shown with; its own id if it has no group."""
        return self.group or self.id

    @property
    def tells_of_node(self) -> bool:
        """True where it has a verdict, or asks a question; what takes a step back says nothing of how the node is."""
        is_undo = self.source in PEOPLE and self.source_id.startswith(f"{UNDO} ")
        return not is_undo and (self.cause is not None or self.state in (State.TRIAGED, State.UNKNOWN))


@dataclass(frozen=True, slots=True)
class Changes:
    """The incidents with new entries, in the order of their last entry; pass `cursor` to ask for later changes."""

    cursor: int
    incidents: tuple[IncidentSummary, ...]


def cleared_name(source: str, alert_id: str) -> str:
    """Return how `Incident.cleared` names an alert."""
    return f"{source}:{alert_id}"


@dataclass(frozen=True, slots=True)
class Incident:
    """One node, one plan, one approval: made only by folding a stream's entries (`fold.py`).

    Shape: `seq` and `head` are the last entry's number and hash. `parked_from` is the state before an open question;
    `ending` is the event that ended the incident. `withholds` says why no plan would be offered, whatever the verdict;
    `cleared` are the alerts that are over, each as `SOURCE:ID`. `inherited` are the people who raised its group before
    its node was added; `picked_by` is the person who picked the node; `wave` is the wave that it is part of. `profile`
    is what its newest profile showed, for causes to evaluate.
    """

    id: str
    node: str
    group: str
    alert: Alert
    state: State
    opened_at: datetime
    updated_at: datetime
    seq: int
    head: str
    playbook: str = ""
    reopens: str = ""
    undoes: str = ""
    channel: str = ""
    withholds: str = ""
    storm: str = ""
    wave: str = ""
    inherited: tuple[str, ...] = ()
    picked_by: str = ""
    joined: tuple[Alert, ...] = ()
    cleared: frozenset[str] = frozenset()
    profile: str = ""
    triage: Triaged | None = None
    withheld: PlanWithheld | None = None
    proposal: PlanProposed | None = None
    proposed_at: datetime | None = None
    endorsements: tuple[Decision, ...] = ()
    decision: Decision | None = None
    steps: tuple[StepRecord, ...] = ()
    validation: ValidationStarted | None = None
    validation_ends_at: datetime | None = None
    samples: tuple[SampleTaken, ...] = ()
    sampled_at: datetime | None = None
    question: QuestionAsked | None = None
    asked_at: datetime | None = None
    parked_from: State | None = None
    ending: IncidentEvent | None = None

    @property
    def ended(self) -> bool:
        """True when only a source's news about its alerts can still follow."""
        return self.ending is not None

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """The alert that opened it, and all that joined."""
        return (self.alert, *self.joined)

    @property
    def askers(self) -> tuple[str, ...]:
        """Everybody who took part in asking for it: who raised an alert, and who picked the node."""
        everybody = (*(alert.asked_by for alert in self.alerts), *self.inherited, self.picked_by)
        return tuple(dict.fromkeys(person for person in everybody if person))

    @property
    def approvals_needed(self) -> int:
        """How many people must approve, as last recorded."""
        said = [decision.event for decision in (*self.endorsements, self.decision) if decision is not None]
        counted = [event.needed for event in said if not isinstance(event, Declined)]
        return max([self.proposal.approvals_needed if self.proposal is not None else 1, *counted])

    @property
    def is_over(self) -> bool:
        """True once every source says that its alert is over."""
        return all(self.is_cleared(alert.kind, alert.id) for alert in self.alerts)

    def is_cleared(self, source: str, alert_id: str) -> bool:
        """Return whether an alert is over."""
        return cleared_name(source, alert_id) in self.cleared

    @property
    def card(self) -> str:
        """The group that it is shown with; its own id if it has no group."""
        return self.group or self.id

    @property
    def verdict(self) -> Verdict | None:
        """The node's verdict, once there is one."""
        return self.triage.verdict if self.triage is not None else None

    @property
    def approval(self) -> Decision | None:
        """The decision that lets the plan run, if there is one."""
        return self.decision if self.decision is not None and isinstance(self.decision.event, Approved) else None

    @property
    def step_under_way(self) -> StepRecord | None:
        """The step that began and has no recorded end."""
        return self.steps[-1] if self.steps and self.steps[-1].outcome is None else None

    @property
    def cure_has_held(self) -> bool:
        """True once the node was watched to the end, and the last look found it cured."""
        ends_at, looked_at = self.validation_ends_at, self.sampled_at
        return ends_at is not None and looked_at is not None and looked_at >= ends_at and self.samples[-1].holds

    @property
    def has_begun(self) -> bool:
        """True once something of its plan was begun; steps that were not needed are nothing."""
        return any(step.started is not None for step in self.steps)

    @property
    def had_its_try(self) -> bool:
        """True once a step of its plan had its try, also where the node was then booted otherwise."""
        return any(step.had_its_try for step in self.steps)

    @property
    def last_look_at(self) -> datetime:
        """When its node was looked at last: at its opening, or what a step or the watch showed after that."""
        looks = (self.sampled_at, *(step.ended_at for step in self.steps))
        return max(self.opened_at, *(at for at in looks if at is not None))

    @property
    def was_carried_out(self) -> bool:
        """True once its whole plan had its try: the node was watched after it, or its last step ran, or one failed.

        One that was stopped between two steps, as by the brake, had none.
        """
        last = self.steps[-1] if self.steps else None
        if last is None or not self.had_its_try or self.validation is not None:
            return self.had_its_try
        is_over = isinstance(last.outcome, StepVerified | StepSkipped)
        return not self.steps_left if is_over else last.had_its_try

    @property
    def beside(self) -> str:
        """What the last look at the cured node found that the plan was not for; empty where it found nothing."""
        return self.samples[-1].beside if self.samples and self.state is State.RESOLVED else ""

    @property
    def result(self) -> Result | None:
        """How the node stands, once it was acted on and that ended so, asks a person, or can only end so; else None.

        Whoever notes that, and ends it, may come later: its program may have died between the two. Where the watch
        shows that the cure does not hold, it does not matter who did what the plan asks.
        """
        if self.samples and self.samples[-1].refutes:
            return Result.NOT_FIXED
        failed = any(isinstance(step.outcome, StepFailed) for step in self.steps)
        if not (self.had_its_try and (failed or self.ended or self.state is State.UNKNOWN)):
            return None
        if self.state is State.RESOLVED:
            return Result.NOT_FIXED if self.beside else Result.CURED
        if not self.cure_has_held:
            return Result.NOT_FIXED
        went_well = all(isinstance(step.outcome, StepVerified | StepSkipped) for step in self.steps)
        return Result.CONTAINED if went_well and not self.steps_left else Result.NOT_GIVEN_BACK

    @property
    def is_unfixed(self) -> bool:
        """True once it was acted on and a person has to see to what the plan was for."""
        return self.result in (Result.NOT_FIXED, Result.NOT_GIVEN_BACK)

    @property
    def steps_left(self) -> int:
        """How many steps of the plan have not begun."""
        planned = len(self.proposal.plan.steps) if self.proposal is not None else 0
        return max(0, planned - len(self.steps))

    @property
    def next_step(self) -> int:
        """The number of the first step that has not begun."""
        return len(self.steps) + 1

    @property
    def may_begin_since(self) -> datetime | None:
        """Since when the next step may begin: the yes, the end of the last step that began, or that of the watch."""
        if self.approval is None:
            return None
        ends = [step.ended_at for step in self.steps if step.started is not None] + [self.validation_ends_at]
        return max([self.approval.at, *(at for at in ends if at is not None)])

    def clamped(self, now: datetime) -> datetime:
        """Return the time for this incident: a clock that was put back revives nothing that expired."""
        return max(now, self.updated_at)

    @property
    def summary(self) -> IncidentSummary:
        """The incident as a line of a list; its texts are made safe, as some come from sources."""
        cause = self.verdict.cause if self.verdict is not None else None
        return IncidentSummary(
            id=self.id,
            node=safe(self.node),
            group=safe(self.group),
            state=self.state,
            cause=safe(cause) if cause is not None else None,
            source=self.alert.kind,
            source_id=safe(self.alert.id),
            opened_at=self.opened_at,
            updated_at=self.updated_at,
            ended=self.ended,
        )


def newest(group: Iterable[Incident]) -> tuple[Incident, ...]:
    """Return a group's incidents, node by node: if a node has several, only the latest.

    Beside it stays, and before it, what was still acting on the node when the latest began, until its end and with it.
    """
    found: dict[str, list[Incident]] = {}
    for incident in group:
        found.setdefault(incident.node or incident.id, []).append(incident)
    shown: list[Incident] = []
    for of_node in found.values():
        reopened = {incident.reopens for incident in of_node}  # the clock may have been set back since
        latest = sorted((each for each in of_node if each.id not in reopened), key=lambda each: each.opened_at)[-1]
        beside = (each for each in of_node if each.has_begun and each is not latest)
        shown += [*(each for each in beside if not each.ended or each.updated_at >= latest.opened_at), latest]
    return tuple(shown)
