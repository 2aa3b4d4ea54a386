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
Row: TypeAlias = Mapping[type[Any], State | Back]

# A state that is not a key of this table is final: only a source's news may follow. AlertReceived is always the first
# entry.
TRANSITIONS: Mapping[State, Row] = {
    State.OPENED: {
        AlertJoined: State.OPENED,
        AlertCleared: State.OPENED,
        ProfileTaken: State.OPENED,
        NodePicked: State.OPENED,
        Triaged: State.TRIAGED,
        QuestionAsked: State.UNKNOWN,
        Cancelled: State.CANCELLED,
        Escalated: State.ESCALATED,
    },
    State.TRIAGED: {
        AlertJoined: State.TRIAGED,
        AlertCleared: State.TRIAGED,
        ProfileTaken: State.TRIAGED,
        PlanWithheld: State.TRIAGED,
        PlanProposed: State.PROPOSED,
        Expired: State.EXPIRED,
        Cancelled: State.CANCELLED,
        Escalated: State.ESCALATED,
    },
    State.PROPOSED: {
        AlertJoined: State.PROPOSED,
        AlertCleared: State.PROPOSED,
        ProfileTaken: State.PROPOSED,
        Endorsed: State.PROPOSED,
        Approved: State.APPROVED,
        Declined: State.DECLINED,
        Expired: State.EXPIRED,
        Cancelled: State.CANCELLED,
        Escalated: State.ESCALATED,
    },
    State.APPROVED: {
        AlertJoined: State.APPROVED,
        AlertCleared: State.APPROVED,
        ProfileTaken: State.APPROVED,
        StepStarted: State.ACTING,
        StepSkipped: State.ACTING,
        QuestionAsked: State.UNKNOWN,
        Expired: State.EXPIRED,
        Cancelled: State.CANCELLED,
        Escalated: State.ESCALATED,
    },
    State.ACTING: {
        AlertJoined: State.ACTING,
        AlertCleared: State.ACTING,
        ProfileTaken: State.ACTING,
        StepStarted: State.ACTING,
        StepSkipped: State.ACTING,
        StepVerified: State.ACTING,
        StepFailed: State.ACTING,
        ValidationStarted: State.VERIFYING,
        Resolved: State.RESOLVED,  # after a step that waited for the cure to hold
        QuestionAsked: State.UNKNOWN,
        Escalated: State.ESCALATED,
    },
    State.VERIFYING: {
        AlertJoined: State.VERIFYING,
        AlertCleared: State.VERIFYING,
        ProfileTaken: State.VERIFYING,
        SampleTaken: State.VERIFYING,
        StepStarted: State.ACTING,  # a step that waited for the cure to hold
        StepSkipped: State.ACTING,
        Resolved: State.RESOLVED,
        QuestionAsked: State.UNKNOWN,
        Escalated: State.ESCALATED,
    },
    State.UNKNOWN: {
        AlertJoined: State.UNKNOWN,
        AlertCleared: State.UNKNOWN,
        ProfileTaken: State.UNKNOWN,
        NodePicked: State.OPENED,
        QuestionAnswered: BACK,
        Cancelled: State.CANCELLED,
        Escalated: State.ESCALATED,
    },
}


# News from a source and profiles do not change an incident's state, and may come after its end.
AFTER_THE_END: tuple[type[Any], ...] = (AlertJoined, AlertCleared, ProfileTaken)
