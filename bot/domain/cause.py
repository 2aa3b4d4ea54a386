"""A cause is a named fault and the pure function that weighs a snapshot for and against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from bot.domain.growth import Grows
from bot.domain.probe import Snapshot
from bot.domain.verdict import Finding, RuledOut, Status, Undecided

Weighing: TypeAlias = Finding | RuledOut | Undecided


@dataclass(frozen=True, slots=True)
class Threshold:
    """A figure that a verdict hangs on, and why it is that figure."""

    value: float
    reason: str


class Tuning(Mapping[str, float]):
    """A cause's thresholds by name, as its playbook sets them, and the names that it allows.

    Shape: `allow` holds names or patterns with `*`; empty: the playbook gives no list.

    Example:
    >>> Tuning({"dying_many": Threshold(1000, "a fresh boot has about 17")})["dying_many"]
    1000
    """

    __slots__ = ("_thresholds", "allow")

    def __init__(self, thresholds: Mapping[str, Threshold], allow: tuple[str, ...] = ()) -> None:
        self._thresholds = thresholds
        self.allow = allow

    def __getitem__(self, name: str) -> float:
        return self._thresholds[name].value

    def __iter__(self) -> Iterator[str]:
        return iter(self._thresholds)

    def __len__(self) -> int:
        return len(self._thresholds)


@dataclass(frozen=True, slots=True)
class Cause:
    """One named fault.

    Shape: `probes` are what `weigh` looks at; `thresholds` the names it takes from its tuning. `weigh` returns a
    Finding where the readings support the cause, RuledOut where they speak against it, and Undecided where what was
    not read leaves it open. `worst` is the gravest status that it ever comes to. `cured_alone_by` are actions that
    cure it although no unit was stopped before, because nothing runs that would bring it back. `eased_by` are actions
    that help this cause, or keep it from doing more harm, and not each. `takes_allow`: a playbook may list what it lets
    pass. `signature` names those of its probes by which it shows in a single look, without a window; empty where only a
    whole check can tell. `beside` are readings that it weighs where somebody asked for them; no check does.
    `reboot_lasts`: within that time after a reboot for this cause no second one is offered, for it did not help.
    `grows` is what gathers on the node while it lasts, where there is such a number.
    """

    name: str
    title: str  # in plain words: "leaked memory cgroups"
    probes: tuple[str, ...]
    thresholds: tuple[str, ...]
    weigh: Callable[[Snapshot, Tuning], Weighing]
    worst: Status = Status.CRITICAL
    cured_alone_by: tuple[str, ...] = ()
    eased_by: tuple[str, ...] = ()
    takes_allow: bool = False
    signature: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    reboot_lasts: timedelta | None = None
    grows: Grows | None = None
