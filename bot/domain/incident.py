"""An incident: the case of one node, with everything that its record says of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from bot.domain.alert import Alert, SourceKind
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


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's yes or no: who, when, and what they said."""

    by: str
    at: datetime
    event: Endorsed | Approved | Declined


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What is on record of one step of the plan; without an outcome it is under way, or was when somebody died."""

    number: int
    attempt: int
    started_at: datetime
    started: StepStarted | None = None  # None: skipped
    outcome: StepVerified | StepSkipped | StepFailed | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class IncidentSummary:
    """One line of the list of incidents."""

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
        """The name of the group it is shown with: its own where it has none."""
        return self.group or self.id


@dataclass(frozen=True, slots=True)
class Changes:
    """The incidents that went on, in the order in which they did last; `cursor` asks for what comes after."""

    cursor: int
    incidents: tuple[IncidentSummary, ...]


@dataclass(frozen=True, slots=True)
class Incident:
    """One node, one plan, one approval: the fold of a stream's entries (`fold.py`), and nothing else.

    Shape: `seq` and `head` are the last entry's number and hash. `parked_from` is set once a question is open, until it
    is answered; `ending` is the event that ended it. `withholds` says why its plan would not be offered whatever it is;
    `cleared` are the alerts that are over, each as `SOURCE:ID`. `inherited` are the people who raised its group before
    its node was added; `picked_by` is who said which node is meant; `wave` is the wave that it is part of. `profile` is
    what its newest profile showed, for causes to weigh.
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
    question: QuestionAsked | None = None
    asked_at: datetime | None = None
    parked_from: State | None = None
    ending: IncidentEvent | None = None

    @property
    def ended(self) -> bool:
        """True when nothing can follow but what a source tells of it."""
        return self.ending is not None

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """What it was opened by, and whatever joined."""
        return (self.alert, *self.joined)

    @property
    def askers(self) -> tuple[str, ...]:
        """Everybody who had a hand in asking for it: who raised an alert of it, and who picked its node."""
        everybody = (*(alert.asked_by for alert in self.alerts), *self.inherited, self.picked_by)
        return tuple(dict.fromkeys(person for person in everybody if person))

    @property
    def voices_needed(self) -> int:
        """How many have to say yes, as far as the record has counted."""
        said = [decision.event for decision in (*self.endorsements, self.decision) if decision is not None]
        counted = [event.needed for event in said if not isinstance(event, Declined)]
        return max([self.proposal.approvals_needed if self.proposal is not None else 1, *counted])

    @property
    def is_over(self) -> bool:
        """True once every source says that its alert is over."""
        return all(f"{alert.kind}:{alert.id}" in self.cleared for alert in self.alerts)

    @property
    def verdict(self) -> Verdict | None:
        """The node's verdict, once there is one."""
        return self.triage.verdict if self.triage is not None else None

    @property
    def approval(self) -> Decision | None:
        """The decision that lets the plan run, where there is one."""
        return self.decision if self.decision is not None and isinstance(self.decision.event, Approved) else None

    @property
    def step_under_way(self) -> StepRecord | None:
        """The step that began and has no end on record."""
        return self.steps[-1] if self.steps and self.steps[-1].outcome is None else None

    @property
    def next_step(self) -> int:
        """The number of the first step that has not begun."""
        return len(self.steps) + 1

    @property
    def summary(self) -> IncidentSummary:
        """The incident in one line, its texts made safe: some of them come from sources."""
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
    """Return a group's incidents in their order, of several of one node only the one that was opened last."""
    found: dict[str, Incident] = {}
    for incident in group:
        earlier = found.get(incident.node or incident.id)
        if earlier is None or (incident.opened_at >= earlier.opened_at and earlier.reopens != incident.id):
            found[incident.node or incident.id] = incident
    return tuple(found.values())
