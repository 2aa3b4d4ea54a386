"""The events of a wave, named by past participles: entries of the wave's own stream.

A field added later has a default, so that older entries can still be read.
"""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias, get_args

from bot.domain.entry import EVENTS, FORMS, LIFTS, Event, OwnEvent, event_of


@dataclass(frozen=True, slots=True)
class WaveMember:
    """A node of a wave: its incident, and the digest of the plan that was proposed there."""

    node: str
    incident: str
    digest: str


@dataclass(frozen=True, slots=True)
class WaveProposed(OwnEvent):
    """A cure was proposed for many nodes under a single approval: the wave's first entry.

    Shape: `members` stand in the order of their turns, which was drawn at random. `controls` are nodes that older
    programs left alone, to compare with; a wave that has any gives no turn. `stages` are how many members must be cured
    before more get their turn. `policy` is the digest of the rules in force. `digest` is over all of it; an approval
    names it. `os_user` is the login of the person who asked in a terminal. `causes` are the members' causes; `playbook`
    judged them. `channel` is where a card belongs; empty: nowhere.
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
        """SHA-256, in hex, over everything that an approval covers."""
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
    def is_unaltered(self) -> bool:
        """True when the digest matches the content: nothing was changed or cut on the way."""
        return self.digest == self.content


@dataclass(frozen=True, slots=True)
class WaveYes(OwnEvent):
    """Somebody's approval. `lapsed` and `needed` are as in `Endorsed`."""

    digest: str
    reason: str
    os_user: str = ""
    needed: int = 1
    lapsed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WaveEndorsed(WaveYes):
    """An approval that is not the last: more people must approve."""


@dataclass(frozen=True, slots=True)
class WaveApproved(WaveYes):
    """The approval that lets the wave begin."""


@dataclass(frozen=True, slots=True)
class WaveDeclined(OwnEvent):
    """Somebody declined, or nobody approved in time."""

    reason: str
    os_user: str = ""


@dataclass(frozen=True, slots=True)
class TurnGiven(OwnEvent):
    """It is this incident's turn: the wave's approval may now approve its plan, and the plan may begin."""

    incident: str
    node: str


class TurnOutcome(enum.StrEnum):
    """The outcome of a node's turn."""

    CURED = "cured"  # acted on, and the cure held
    CONTAINED = "contained"  # kept from new work, which was all that its plan was for
    FAILED = "failed"  # acted on, and not known to be well, or not given back
    DROPPED = "dropped"  # nothing was done on the node


@dataclass(frozen=True, slots=True)
class TurnEnded(OwnEvent):
    """A node's turn is over, with its outcome; `cured_at` is when it was last seen cured."""

    incident: str
    node: str
    outcome: TurnOutcome
    because: str = ""
    cured_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class WaveStopped(OwnEvent):
    """No new step of the wave begins until somebody resumes it; steps that have begun are finished."""

    because: str
    os_user: str = ""


@dataclass(frozen=True, slots=True)
class WaveResumed(OwnEvent):
    """An approver let a stopped wave go on, knowing what had stopped it, and what else would have.

    Shape: `known_until` is when the last came that they were shown; None in older records.
    """

    reason: str
    os_user: str = ""
    known_until: datetime | None = None


class WaveEnding(enum.StrEnum):
    """How a wave ended."""

    COMPLETED = "completed"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class WaveEnded(OwnEvent):
    """The wave is over: every member had its turn, its approval has expired, or this program cannot go on with it."""

    how: WaveEnding
    because: str = ""


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
WAVE_EVENTS: tuple[type[Any], ...] = get_args(WaveEvent)
KINDS: Mapping[str, type[Any]] = {**EVENTS, **{event.__name__: event for event in WAVE_EVENTS}}


def wave_event(kind: str, body: Mapping[str, Any]) -> Event:
    """Return the event of a body, of a wave or of the core.

    Raises: UnreadableEntry when this program does not know the kind or its form, or the body is malformed.
    """
    return event_of(kind, body, FORMS, LIFTS, KINDS)
