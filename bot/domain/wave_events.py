"""What can happen to a wave, each as a past participle: entries of the wave's own stream.

A field that is added later has a default, so that older entries can still be read.
"""

from __future__ import annotations

import enum
import hashlib
import json
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class WaveMember:
    """One node of a wave: its incident, and the digest of the plan that was proposed there."""

    node: str
    incident: str
    digest: str


@dataclass(frozen=True, slots=True)
class WaveProposed:
    """A cure was proposed for many nodes under one approval: the wave's first entry.

    Shape: `members` stand in the order of their turns, which was drawn at random; `controls` were drawn from the same
    nodes and are left alone. `stages` are how many members have to be cured before more may have their turn. `policy`
    is the digest of the rules in force. `digest` is over all of it, and is what an approval names. `os_user` is the
    login of whoever asked in a terminal. `causes` are those that the members have; `playbook` is by which they were
    judged. `channel` is where a card belongs; empty: nowhere.
    """

    selectors: tuple[str, ...]
    causes: tuple[str, ...]
    members: tuple[WaveMember, ...]
    controls: tuple[WaveMember, ...]
    stages: tuple[int, ...]
    expires: timedelta
    policy: str
    digest: str
    playbook: str = ""
    approvals_needed: int = 1
    os_user: str = ""
    channel: str = ""

    def sealed(self) -> WaveProposed:
        """Return it with its digest."""
        return replace(self, digest=self.content)

    @property
    def content(self) -> str:
        """SHA-256, in hex, over everything that is approved."""
        body = [
            self.selectors,
            self.causes,
            [[member.node, member.incident, member.digest] for member in self.members],
            [[member.node, member.incident, member.digest] for member in self.controls],
            self.stages,
            self.expires.total_seconds(),
            self.policy,
            self.playbook,
            self.approvals_needed,
        ]
        return hashlib.sha256(json.dumps(body, separators=(",", ":")).encode()).hexdigest()

    @property
    def is_whole(self) -> bool:
        """True when the digest is that of what stands here: nothing was changed or cut on the way."""
        return self.digest == self.content


@dataclass(frozen=True, slots=True)
class WaveYes:
    """Somebody's yes. `lapsed`, `needed`: as of an incident's."""

    digest: str
    reason: str
    os_user: str = ""
    needed: int = 1
    lapsed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WaveEndorsed(WaveYes):
    """A yes where more than one is needed, and this is not the last."""


@dataclass(frozen=True, slots=True)
class WaveApproved(WaveYes):
    """The yes that lets the wave begin."""


@dataclass(frozen=True, slots=True)
class WaveDeclined:
    """A no, or nobody said yes in time."""

    reason: str
    os_user: str = ""


@dataclass(frozen=True, slots=True)
class TurnGiven:
    """It is this incident's turn: from here on its plan may be approved by the wave's approval, and begin."""

    incident: str
    node: str


class TurnOutcome(enum.StrEnum):
    """What came of a node's turn."""

    CURED = "cured"  # acted on, and it held
    FAILED = "failed"  # acted on, and it is not known to be well
    DROPPED = "dropped"  # nothing was done there


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A node's turn is over, and what came of it."""

    incident: str
    node: str
    outcome: TurnOutcome
    because: str = ""


@dataclass(frozen=True, slots=True)
class WaveStopped:
    """No step of the wave begins any more until somebody resumes it; what has begun is finished."""

    because: str
    os_user: str = ""


@dataclass(frozen=True, slots=True)
class WaveResumed:
    """An approver let a stopped wave go on, knowing what had stopped it."""

    reason: str
    os_user: str = ""


@dataclass(frozen=True, slots=True)
class ArmLooked:
    """What a last look found of the nodes that had their turn, or of those that were left alone.

    Shape: of `nodes`, `well` have none of the wave's causes any more; `unread` could not be told, and are not counted.
    """

    nodes: int = 0
    well: int = 0
    unread: int = 0


class WaveEnding(enum.StrEnum):
    """How a wave ended."""

    COMPLETED = "completed"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class WaveEnded:
    """Every member had its turn, or the time of the approval is over."""

    how: WaveEnding
    because: str = ""
    treated: ArmLooked = field(default_factory=ArmLooked)
    controls: ArmLooked = field(default_factory=ArmLooked)


WaveEvent: TypeAlias = (
    WaveProposed
    | WaveEndorsed
    | WaveApproved
    | WaveDeclined
    | TurnGiven
    | TurnEnded
    | WaveStopped
    | WaveResumed
    | WaveEnded
)
