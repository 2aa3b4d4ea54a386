"""Three-valued truth: yes, no, and not read, by Kleene's tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias


@dataclass(frozen=True, slots=True)
class Unknown:
    """Neither true nor false: a deciding value was not read; `half_read`: only a part of it was."""

    because: str = ""
    half_read: bool = field(default=False, repr=False)

    def __bool__(self) -> bool:
        raise TypeError("an unknown truth is not a bool; ask `is True` or `is False`")


UNKNOWN: Final = Unknown()
Truth: TypeAlias = bool | Unknown


def all_of(*values: Truth) -> Truth:
    """Kleene's and: any False decides, whatever the order.

    Example:
    >>> all_of(UNKNOWN, False)
    False
    >>> all_of(True, UNKNOWN)
    Unknown(because='')
    """
    if any(value is False for value in values):
        return False
    return next((value for value in values if isinstance(value, Unknown)), True)


def any_of(*values: Truth) -> Truth:
    """Kleene's or: any True decides, whatever the order.

    Example:
    >>> any_of(UNKNOWN, True)
    True
    """
    if any(value is True for value in values):
        return True
    return next((value for value in values if isinstance(value, Unknown)), False)


def not_(value: Truth) -> Truth:
    """Kleene's not: the unknown stays unknown."""
    return value if isinstance(value, Unknown) else not value
