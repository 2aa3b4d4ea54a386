"""The states of an incident, and the table of transitions: which event leads from which state to which."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from bot.domain.events import (
    AlertCleared,
    AlertJoined,
    Approved,
    Cancelled,
    Declined,
    Endorsed,
    Escalated,
    Expired,
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


class State(enum.StrEnum):
    """The state of an incident."""

    OPENED = "opened"
    TRIAGED = "triaged"
    PROPOSED = "proposed"
    APPROVED = "approved"
    ACTING = "acting"
    VERIFYING = "verifying"
    RESOLVED = "resolved"
    DECLINED = "declined"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    ESCALATED = "escalated"
    UNKNOWN = "unknown"  # parked on a question to a person


class Back(enum.Enum):
    """The target of an answered question: back to the state in which the incident was parked."""

    BACK = enum.auto()


BACK: Final = Back.BACK
TransitionRow: TypeAlias = Mapping[type[Any], State | Back]

# News from a source and profiles do not change an incident's state, and may come after its end.
AFTER_THE_END: tuple[type[Any], ...] = (AlertJoined, AlertCleared, ProfileTaken)

_MOVES: Mapping[State, TransitionRow] = {
    State.OPENED: {
        NodePicked: State.OPENED,
        Triaged: State.TRIAGED,
        QuestionAsked: State.UNKNOWN,
        Cancelled: State.CANCELLED,
        Escalated: State.ESCALATED,
    },
    State.TRIAGED: {
        PlanWithheld: State.TRIAGED,
        PlanProposed: State.PROPOSED,
        Expired: State.EXPIRED,
        Cancelled: State.CANCELLED,
        Escalated: State.ESCALATED,
    },
    State.PROPOSED: {
        Endorsed: State.PROPOSED,
        Approved: State.APPROVED,
        Declined: State.DECLINED,
        Expired: State.EXPIRED,
        Cancelled: State.CANCELLED,
        Escalated: State.ESCALATED,
    },
    State.APPROVED: {
        StepStarted: State.ACTING,
        StepSkipped: State.ACTING,
        QuestionAsked: State.UNKNOWN,
        Expired: State.EXPIRED,
        Cancelled: State.CANCELLED,
        Escalated: State.ESCALATED,
    },
    State.ACTING: {
        StepStarted: State.ACTING,
        StepSkipped: State.ACTING,
        StepVerified: State.ACTING,
        StepFailed: State.ACTING,
        ValidationStarted: State.VERIFYING,
        Resolved: State.RESOLVED,  # after a step that waited for the cure to hold
        QuestionAsked: State.UNKNOWN,
        Expired: State.EXPIRED,  # where no step was needed so far
        Cancelled: State.CANCELLED,
        Escalated: State.ESCALATED,
    },
    State.VERIFYING: {
        SampleTaken: State.VERIFYING,
        StepStarted: State.ACTING,  # a step that waited for the cure to hold
        StepSkipped: State.ACTING,
        Resolved: State.RESOLVED,
        QuestionAsked: State.UNKNOWN,
        Expired: State.EXPIRED,
        Cancelled: State.CANCELLED,
        Escalated: State.ESCALATED,
    },
    State.UNKNOWN: {
        NodePicked: State.OPENED,
        QuestionAnswered: BACK,
        Cancelled: State.CANCELLED,
        Escalated: State.ESCALATED,
    },
}

# A state that is not a key of this table is final: only a source's news may follow. AlertReceived is always the first
# entry.
TRANSITIONS: Mapping[State, TransitionRow] = {
    state: dict.fromkeys(AFTER_THE_END, state) | dict(moves) for state, moves in _MOVES.items()
}
