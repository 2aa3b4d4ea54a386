"""A node's answer in a sweep: plain values that travel between programs."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.domain.growth import HarmAt


class NodeOutcome(enum.StrEnum):
    """The outcome of asking a node."""

    ANSWERED = "answered"
    UNKNOWN = "unknown"  # it answered, but the question stays open
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Found:
    """A cause that a node has; `muted`: people know and accept it there.

    Shape: `status` and `confidence` are words of `bot.domain.verdict`.
    """

    cause: str
    status: str
    confidence: str
    says: str
    suspects: tuple[str, ...] = ()
    muted: bool = False


@dataclass(frozen=True, slots=True)
class Counted:
    """A count that may grow, in which boot, and from which value on it does harm there."""

    cause: str
    value: float
    boot: str = ""
    harm: HarmAt | None = None


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """A node's part of a sweep.

    Shape: `status` is the verdict's. `unreachable_class` is the class of `check` ("refused", …), `because` the
    sentence about what is not known. `undecided` maps a cause to why it is not known. `traits` say which machine and
    system it is. `facts` are what cohorts are compared by, where asked for. `counted` is what
    may grow there.
    """

    node: str
    outcome: NodeOutcome
    status: str = ""
    cause: str = ""
    confidence: str = ""
    because: str = ""
    found: tuple[Found, ...] = ()
    undecided: Mapping[str, str] = field(default_factory=dict)
    unreachable_class: str = ""
    machine_id: str = ""
    traits: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    counted: tuple[Counted, ...] = ()
    seconds: float = 0.0

    @property
    def causes(self) -> tuple[str, ...]:
        """The causes that it has."""
        return tuple(found.cause for found in self.found)
