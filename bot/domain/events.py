"""The events of an incident, named by past participles: the bodies of its ledger entries.

A field added later has a default, so that older entries can still be read; a change of meaning raises the event's form
in `entry.py`.
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
    """Somebody asked, or a source sent an alert: the incident's first entry; `node` is empty until it is known.

    Shape: incidents of the same alert share `group`; `reopens` is the ended incident whose fault came back; `undoes` is
    the incident whose steps are to be undone. For a source's alert, `channel` is where its card belongs, `withheld` why
    no plan will be offered whatever the verdict (empty: a plan may be offered), and `storm` the storm whose message
    shows it in place of a card. `askers` are the people who raised the group's alerts before this node was added.
    `wave` is the wave that it is part of; then only the wave's approval counts.
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
    """Another alert about the node came, another person sent the same, or one that was over fires again; an ended
    incident stays ended.
    """

    alert: Alert


@dataclass(frozen=True, slots=True)
class AlertCleared:
    """The source says that an alert of the incident is over; this may also come after the incident's end."""

    source: SourceKind
    id: str


@dataclass(frozen=True, slots=True)
class ProfileTaken:
    """The node was profiled from its card, possibly after the end; the incident's state does not change.

    Shape: `headline` says what uses the CPU, `sampled` how that was measured; `unread` is why part of it is missing,
    empty if it is complete. `reading` is what causes evaluate, as the probe `profile` reads it; empty if there is
    nothing. `sketch` is the content hash of its sketch, which is kept with the incident; empty if there is none.
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
    """The node was read and judged; without a plan this ends the incident.

    Shape: the verdict is stored without its snapshot; `about` holds what thresholds depended on (kernel, uptime).
    `machine_id` is the node's, `case` the content hash of what it said; each is empty if not known. `relapse` is what
    was known of the same cause before; `growth` is how the cause's count has grown on this node.
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
    """The verdict has a plan that is not offered, and why; `lacking` are the sudoers lines that are missing.

    Shape: `because` is a sentence, such as that acting is off. Ends the incident.
    """

    because: str
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanProposed:
    """The plan was shown to the approvers.

    Shape: `binds` is what they saw besides the plan (address, host key, boot_id, machine-id, playbook, policy, the
    stored evidence's digest), by name. `digest` is over plan and binds; an approval names it. `figures` are the
    measurements of that time, by name, for a table of before and after. `affects` is what else the steps touch, such as
    the pods that a drain would move, a line each: shown, but not bound, because pods come and go.
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
    def is_unaltered(self) -> bool:
        """True when the digest matches the content: nothing was changed or redacted on the way."""
        return self.digest == bound_digest(self.plan, self.binds)


@dataclass(frozen=True, slots=True)
class Endorsed:
    """An approval that is not the last: more people must approve.

    Shape: `needed` is how many people must approve, as counted at this moment; 0 means the number in the proposal.
    `lapsed` are people whose earlier approval no longer counts; `needed` includes them, so somebody must replace them.
    """

    digest: str
    reason: str
    os_user: str = ""
    needed: int = 0
    lapsed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Approved:
    """The approval that lets the plan run; `os_user` is the login behind a name claimed in a terminal."""

    digest: str
    reason: str
    os_user: str = ""
    needed: int = 0
    lapsed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Declined:
    """Somebody declined the plan, with a reason."""

    reason: str
    digest: str = ""
    os_user: str = ""


@dataclass(frozen=True, slots=True)
class Expired:
    """Nobody decided in time, or the approved plan did not start in time."""

    because: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Cancelled before anything was done: by a person, or because the node changed meanwhile (`differences`)."""

    because: str
    differences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step is about to run. It is recorded before anything is done, with the facts seen before.

    Shape: `number` counts the plan's steps from 1; `attempt` counts the runs of the step: after a crash, a step without
    a recorded end is checked, and may be run again. `runner` is the program that runs it. `kept` is the content hash of
    what was read just before a step that destroys it, and `kept_says` what that is, or why it was not kept.
    Units: once the node's uptime reaches `until_uptime` seconds, the fence lets no command begin; 0: not recorded.
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
    """A step's proof was seen; `otherwise` says how it came about where the bot's own command was not run."""

    number: int
    proof: tuple[Evidence, ...] = ()
    took: timedelta = timedelta(0)
    otherwise: str = ""


@dataclass(frozen=True, slots=True)
class StepSkipped:
    """A step was not needed: its effect was there before it began."""

    number: int
    because: str


@dataclass(frozen=True, slots=True)
class StepFailed:
    """A step ran, but its proof was not seen in time; it is never repeated.

    Shape: `never_ran`: it is known that none of its commands ran, at any attempt.
    """

    number: int
    because: str
    seen: tuple[Evidence, ...] = ()
    never_ran: bool = False


@dataclass(frozen=True, slots=True)
class ValidationStarted:
    """All steps are done; the node is watched for a while before the incident is resolved.

    Shape: so many of the last steps are not done yet, `waiting` for the cure to hold.
    """

    window: timedelta
    note: str = ""
    waiting: int = 0


REFUTED, BESIDE = "refuted", "beside"


@dataclass(frozen=True, slots=True)
class SampleTaken:
    """A look at the node while it is watched: whether the cure holds, and what was seen."""

    holds: bool
    seen: tuple[Evidence, ...] = ()

    @property
    def refutes(self) -> bool:
        """True if it shows that the cure does not hold; a look at a node that could not be read shows nothing."""
        return any(seen.finding == REFUTED for seen in self.seen)

    @property
    def beside(self) -> str:
        """What the node has that the plan was not for, such as `critical disk-full`; empty where it has nothing."""
        return next((seen.says for seen in self.seen if seen.finding == BESIDE), "")


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure before and after."""

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
    """The bot cannot go on: a person must take over; says what they may try."""

    because: str
    try_next: str = ""


GO_ON, GIVE_UP = "go on", "give up"  # look again and go on if the node is as trusted; hand it to a person


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The bot does not know how to go on; the incident is parked until a person answers."""

    question: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionAnswered:
    """A person answered; the incident goes on from where it was parked."""

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
