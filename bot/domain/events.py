"""What can happen to an incident, each as a past participle: what an entry of the ledger says.

A field that is added later has a default, so that older entries can still be read; a change of meaning raises the
event's form in `entry.py`.

Longer than 300 lines: the events of an incident are one list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias

from bot.domain.action import Plan, bound_digest
from bot.domain.alert import Alert, SourceKind
from bot.domain.growth import Growth
from bot.domain.relapse import Relapse
from bot.domain.verdict import Evidence, Verdict


@dataclass(frozen=True, slots=True)
class AlertReceived:
    """Somebody asked, or a source was alarmed: the incident's first entry; `node` is empty until it is known which.

    Shape: incidents of one alert share `group`; `reopens` is the ended incident that came back; `undoes` the one whose
    steps are to be taken back. Of an alarm, `channel` is where its card belongs, `withheld` why no plan will be offered
    whatever the verdict (empty: it may be), and `storm` the storm in whose message it is told in place of a card.
    `askers` are the people who raised what its group was opened by before this node was added to it. `wave` is the wave
    that it is part of; then only the wave approves its plan.
    """

    alert: Alert
    node: str
    group: str = ""
    playbook: str = ""
    reopens: str = ""
    undoes: str = ""
    channel: str = ""
    withheld: str = ""
    storm: str = ""
    askers: tuple[str, ...] = ()
    wave: str = ""


@dataclass(frozen=True, slots=True)
class AlertJoined:
    """Another alert about the node came, or the same by another person; after the end it changes nothing of that."""

    alert: Alert


@dataclass(frozen=True, slots=True)
class AlertCleared:
    """The source says that one of the incident's alerts is over; that, too, may come after the end."""

    source: SourceKind
    id: str


@dataclass(frozen=True, slots=True)
class ProfileTaken:
    """The node was profiled from its card, also after the end; it changes nothing of how the incident stands.

    Shape: `headline` says what burns, `sampled` how that was seen; `unread` is why something of it was not, empty
    where all was. `reading` is what causes weigh of it, as the probe `profile` reads it; empty where that is nothing.
    `sketch` is the content hash of its sketch, which is kept with the incident; empty where none is.
    """

    headline: str
    sampled: str
    unread: str = ""
    reading: str = ""
    sketch: str = ""


@dataclass(frozen=True, slots=True)
class NodePicked:
    """A person said which node is meant."""

    node: str


@dataclass(frozen=True, slots=True)
class Triaged:
    """The node was read and judged; without a plan that ends the incident.

    Shape: the verdict is kept whole but for its snapshot; `about` says what thresholds hung on (kernel, uptime).
    `machine_id` is the node's own, `case` the content hash of what it said; each is empty where that is not known.
    `relapse` is what was known of the same cause before; `growth` how what it counts has grown on this node.
    """

    verdict: Verdict
    playbook: str = ""
    playbook_version: int = 0
    taken_at: datetime | None = None
    about: str = ""
    machine_id: str = ""
    relapse: Relapse | None = None
    case: str = ""
    growth: Growth | None = None


@dataclass(frozen=True, slots=True)
class PlanWithheld:
    """The verdict has a plan that is not offered, and why; `lacking` are the sudoers lines it would take.

    Shape: `because` is a sentence, such as that acting is off. Ends the incident.
    """

    because: str
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanProposed:
    """The plan was put to those who may approve it.

    Shape: `binds` is what they saw beside the plan (address, host key, boot_id, machine-id, playbook, policy, the
    stored evidence's digest), by name; `digest` is over plan and binds, and is what an approval names. `figures` are
    what was measured then, by name, for a table of before and after. `affects` is what else the steps touch, such as
    the pods that a drain would move, one line each: shown, and not bound, for pods come and go.
    """

    plan: Plan
    digest: str
    binds: Mapping[str, str] = field(default_factory=dict)
    approvals_needed: int = 1
    figures: Mapping[str, str] = field(default_factory=dict)
    affects: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        plan: Plan,
        binds: Mapping[str, str],
        approvals_needed: int = 1,
        figures: Mapping[str, str] | None = None,
        affects: tuple[str, ...] = (),
    ) -> PlanProposed:
        """Return the proposal with its digest."""
        return cls(plan, bound_digest(plan, binds), binds, approvals_needed, figures or {}, affects)

    @property
    def is_whole(self) -> bool:
        """True when the digest is that of what stands here: nothing was changed or redacted on the way."""
        return self.digest == bound_digest(self.plan, self.binds)


@dataclass(frozen=True, slots=True)
class Endorsed:
    """A yes where more than one is needed, and this is not the last.

    Shape: `needed` is how many have to say yes, as counted at this moment; 0 means as many as were proposed. `lapsed`
    are people whose earlier yes counts no more; each of them is counted in `needed`, so that another takes their place.
    """

    digest: str
    reason: str
    os_user: str = ""
    needed: int = 0
    lapsed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Approved:
    """The yes that lets the plan run; `os_user` is the login behind a name claimed in a terminal."""

    digest: str
    reason: str
    os_user: str = ""
    needed: int = 0
    lapsed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Declined:
    """A no, with its reason."""

    reason: str
    digest: str = ""
    os_user: str = ""


@dataclass(frozen=True, slots=True)
class Expired:
    """Nobody decided in time, or what was approved did not start in time."""

    because: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Called off before anything was done: by a person, or because the node changed meanwhile (`differences`)."""

    because: str
    differences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step is about to run: on record before anything is done, with what was seen before.

    Shape: `number` counts the plan's steps from 1; `attempt` counts the runs of one step: one whose end is not on
    record after a crash is looked at, and may be run again. `runner` is the program that runs it. `kept` is the content
    hash of what was read just before a step that destroys it, and `kept_says` what that is, or why it was not kept.
    Units: from the node's uptime of `until_uptime` seconds on its fence lets none of its commands begin; 0: that is not
    on record.
    """

    number: int
    attempt: int = 1
    boot_id: str = ""
    before: tuple[Evidence, ...] = ()
    runner: str = ""
    until_uptime: int = 0
    kept: str = ""
    kept_says: str = ""


@dataclass(frozen=True, slots=True)
class StepVerified:
    """A step's proof was seen."""

    number: int
    proof: tuple[Evidence, ...] = ()
    took: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class StepSkipped:
    """A step was not needed any more: its effect was there before it began."""

    number: int
    because: str


@dataclass(frozen=True, slots=True)
class StepFailed:
    """A step ran, and its proof was not seen in time; it is never repeated."""

    number: int
    because: str
    seen: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class ValidationStarted:
    """All steps are through; from here the node is watched before the incident is called resolved."""

    window: timedelta
    note: str = ""


@dataclass(frozen=True, slots=True)
class SampleTaken:
    """One look at the node while it is watched: whether the cure holds, and what was seen."""

    holds: bool
    seen: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure before and after."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Resolved:
    """The cure held."""

    summary: str
    compared: tuple[Compared, ...] = ()


@dataclass(frozen=True, slots=True)
class Escalated:
    """The bot is at its end: a person has to take over, and what they may try."""

    because: str
    try_next: str = ""


GO_ON, GIVE_UP = "go on", "give up"  # look once more, and go on only if it is trusted then; hand it to a person


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """It cannot be told how to go on; the incident is parked until a person answers."""

    question: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionAnswered:
    """A person answered, and the incident goes on from where it was parked."""

    answer: str
    reason: str = ""


IncidentEvent: TypeAlias = (
    AlertReceived
    | AlertJoined
    | AlertCleared
    | ProfileTaken
    | NodePicked
    | Triaged
    | PlanWithheld
    | PlanProposed
    | Endorsed
    | Approved
    | Declined
    | Expired
    | Cancelled
    | StepStarted
    | StepVerified
    | StepSkipped
    | StepFailed
    | ValidationStarted
    | SampleTaken
    | Resolved
    | Escalated
    | QuestionAsked
    | QuestionAnswered
)
