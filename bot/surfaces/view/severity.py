"""The one order in which incidents are listed and counted: what is worst, or needs a person, comes first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TypeVar

from bot.domain.transitions import State
from bot.domain.verdict import Confidence, Status

T = TypeVar("T", bound=StrEnum)

WORST_FIRST = (Status.CRITICAL, Status.DEGRADED, Status.UNKNOWN, Status.UNREACHABLE, Status.HEALTHY)
NEEDS_PERSON_FIRST = (
    State.UNKNOWN,
    State.ESCALATED,
    State.PROPOSED,
    State.ACTING,
    State.APPROVED,
    State.VERIFYING,
    State.CANCELLED,
    State.EXPIRED,
    State.DECLINED,
    State.RESOLVED,
    State.TRIAGED,
    State.OPENED,
)


def badness(status: Status | None, confidence: Confidence | None = None) -> tuple[int, int]:
    """Return a sort key: the worst status first, the surest verdict first among equals, unread nodes last."""
    place = WORST_FIRST.index(status) if status is not None else len(WORST_FIRST)
    return place, -(confidence.rank if confidence is not None else 0)


def urgency(state: State) -> int:
    """Return a sort key: what needs a person first."""
    return NEEDS_PERSON_FIRST.index(state)


def counted(kinds: Iterable[T], order: Sequence[T]) -> list[tuple[int, T]]:
    """Return how many there are of each kind, in that order.

    Example:
    >>> counted([Status.HEALTHY, Status.CRITICAL, Status.HEALTHY], WORST_FIRST)
    [(1, <Status.CRITICAL: 'critical'>), (2, <Status.HEALTHY: 'healthy'>)]
    """
    found = list(kinds)
    return [(count, kind) for kind in order if (count := found.count(kind))]


def status_counts(statuses: Iterable[Status]) -> str:
    """Return how many nodes have each status, the worst first.

    Example:
    >>> status_counts([Status.HEALTHY, Status.CRITICAL])
    '1 critical, 1 healthy'
    """
    return ", ".join(f"{count} {status.value}" for count, status in counted(statuses, WORST_FIRST))
