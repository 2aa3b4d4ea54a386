"""A cause: a named fault, and the pure function that evaluates a snapshot for and against it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from bot.domain.growth import GrowthMeasure
from bot.domain.probe import Snapshot
from bot.domain.safe_text import one_line
from bot.domain.verdict import Finding, LeftOut, RuledOut, Status, Undecided

CauseResult: TypeAlias = Finding | RuledOut | Undecided


@dataclass(frozen=True, slots=True)
class Threshold:
    """A figure that decides a verdict, and why it has this value."""

    value: float
    reason: str


class Tuning(Mapping[str, float]):
    """A cause's thresholds by name, as its playbook sets them, and the names that it lets pass.

    Shape: `allow` holds names or patterns with `*`; empty if the playbook has no list.

    Example:
    >>> Tuning({"dying_many": Threshold(1000, "a fresh boot has about 17")})["dying_many"]
    1000
    """

    __slots__ = ("_hash", "_values", "allow")

    def __init__(self, thresholds: Mapping[str, Threshold], allow: tuple[str, ...] = ()) -> None:
        self._values = {name: threshold.value for name, threshold in thresholds.items()}
        self.allow = allow
        self._hash = hash((frozenset(self._values.items()), allow))  # figures are kept by it; see Snapshot.once

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tuning) and (self._values, self.allow) == (other._values, other.allow)

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@dataclass(frozen=True, slots=True)
class Cause:
    """A named fault.

    Shape: `probes` are what `evaluate` looks at; `thresholds` have the values and reasons that hold unless a playbook
    sets others; `remedy` and `lasting_fix` hold likewise. `evaluate` returns a Finding if the readings support the
    cause, RuledOut if they speak against it, and Undecided if a missing reading leaves it open. `worst` is the gravest
    status that the cause can have. `cured_alone_by` are actions that cure it without stopping a unit first, because
    nothing that still runs would bring it back. `eased_by` are actions that help this cause or limit its harm, but not
    every cause. `takes_allow`: a playbook may list names to let pass. `signature` names the probes that show it in a
    single look, without a window; empty if only a whole check can tell. `beside` are readings that it also evaluates
    where they were read; a playbook need not ask for them. `reboot_lasts`: within that time after a reboot for this
    cause no second reboot is offered, because the first did not help. `grows` is the count that increases on the node
    while the fault lasts, if there is one. `answering` returns the devices that answer, where it blames devices: that
    it is ruled out says nothing of one that does not. `of_one`: it concerns a unit or workload, not the node.
    `settled_by` completes “… would settle it” where it is found and not confirmed; `profile_settles`: a profile of the
    cores would.
    """

    name: str
    title: str  # in plain words: "leaked memory cgroups"
    probes: tuple[str, ...]
    thresholds: Mapping[str, Threshold]
    evaluate: Callable[[Snapshot, Tuning], CauseResult]
    worst: Status = Status.CRITICAL
    cured_alone_by: tuple[str, ...] = ()
    eased_by: tuple[str, ...] = ()
    takes_allow: bool = False
    signature: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    reboot_lasts: timedelta | None = None
    grows: GrowthMeasure | None = None
    answering: Callable[[Snapshot], Collection[str]] | None = None
    of_one: bool = False
    remedy: tuple[str, ...] = ()
    lasting_fix: str = ""
    settled_by: str = ""
    profile_settles: bool = False
    about: str = ""  # what it is, where that is not the docstring of a module
    definition: str = ""  # of a site's own: all in its file that decides; ours are part of the program
    left_out: str = ""  # of a site's own that cannot be used: what is wrong, with file and line


def left_out(name: str, because: str, probes: tuple[str, ...] = ()) -> Cause:
    """Return what stands for a site's own cause, or for a row of its tables, that cannot be used.

    Shape: `because` says what is wrong, with file and line. It is undecided on every node: what nobody can judge is
    never cleared.
    """
    says = one_line(f"it is left out: {because}", 600)
    open_ = LeftOut(name, says, would_decide="mending it")
    return Cause(name, name, probes, {}, lambda *_: open_, definition="left out", left_out=one_line(because, 600))
