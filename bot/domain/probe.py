"""A probe: a question to a node; its answer is a typed reading, or the reason why there is none."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from bot.domain.case import Case
from bot.domain.command import Command, Completed, Outputs
from bot.domain.errors import CannotRead


class Reading(Protocol):
    """A typed answer; `probe` names the probe that it answers.

    Shape: a reading that describes the machine or system has `traits()`: short texts by name, as people see them.
    """

    probe: ClassVar[str]


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a question has no answer. Never healthy, never zero."""

    probe: str
    reason: str


@dataclass(frozen=True, slots=True)
class CustomReading:
    """The answer of a probe that a playbook defines: named fields from a command's output."""

    probe: str
    fields: Mapping[str, float | str | bool]
    source: tuple[str, ...] = field(default=())


@runtime_checkable
class TellsLines(Protocol):
    """A reading that knows the node's own lines behind a field."""

    def lines_of(self, field: str, /) -> tuple[str, ...]:
        """Return those lines, oldest first; empty for a field that none tells of."""


@functools.cache  # there are as many as probes, and a result asks thousands of times
def _not_asked(probe: str) -> Unread:
    return Unread(probe, "not asked")


R = TypeVar("R", bound=Reading)
F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class Probe:
    """A question: commands, and the pure function that turns their outputs into a reading.

    Shape: `reading` is the type that `parse` returns; conditions of playbooks may use its fields. `definition` is a
    playbook's definition of its own probe, as JSON: it tells probes with the same commands apart. `told` are runs made
    beforehand, such as a profile that somebody asked for: they are part of the answer, and the node is not asked again.
    `example` is what its commands print on a healthy node, by their names: simulated nodes answer so.
    Raises: `parse` raises CannotRead (and nothing else) when the outputs hold no answer.
    """

    name: str
    title: str
    commands: tuple[Command, ...]
    parse: Callable[[Outputs], Any]
    reading: type[Any] = object
    definition: str = ""
    told: tuple[Completed, ...] = ()
    example: Mapping[str, str] = field(default_factory=dict, compare=False)

    def read(self, outputs: Outputs) -> Any:
        """Return the reading, or Unread with the reason."""
        try:
            return self.parse(outputs)
        except CannotRead as error:
            return Unread(self.name, error.sentence.removeprefix(f"{self.name}: "))  # whoever shows it names the probe
        except Exception as error:
            if not self.definition:
                raise
            from bot.domain.problems import python_fault_words

            return Unread(self.name, python_fault_words(error))  # of a site's own


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All readings of a node in a sampling window; `case` is what the node said, if that is kept.

    Shape: both with the secrets that it said, which are taken out of what is shown or stored. `slowness` is how many
    times as long as usual its answers took, None where that is not known.
    """

    node: str
    taken_at: datetime
    window: timedelta
    readings: Mapping[str, Any] = field(default_factory=dict)
    case: Case | None = field(default=None, compare=False, repr=False)
    slowness: float | None = field(default=None, compare=False)

    def get(self, kind: type[R]) -> R | Unread:
        """Return the reading of that type, or Unread when it was not read or not asked."""
        reading = self.readings.get(kind.probe)
        if isinstance(reading, (kind, Unread)):  # a union would be made anew at each of thousands of calls
            return reading
        return _not_asked(kind.probe)

    def once(self, work_out: Callable[..., F], *asked: Hashable) -> F:
        """Return `work_out(self, *asked)`, a figure that causes ask for repeatedly.

        Shape: `RememberingSnapshot` works it out once.
        """
        return work_out(self, *asked)

    @property
    def traits(self) -> Mapping[str, str]:
        """The machine's and system's traits by name, as far as the readings tell."""
        found: dict[str, str] = {}
        for reading in self.readings.values():
            if (traits := getattr(reading, "traits", None)) is not None:
                found |= traits()
        return found

    @property
    def unread(self) -> tuple[Unread, ...]:
        """Every probe that was asked and not read."""
        return tuple(reading for reading in self.readings.values() if isinstance(reading, Unread))


@dataclass(frozen=True, slots=True)
class RememberingSnapshot(Snapshot):
    """A snapshot that keeps the figures worked out from it; `figures` by what works them out and what it was asked."""

    figures: dict[tuple[Any, ...], Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, snapshot: Snapshot) -> RememberingSnapshot:
        """Return the snapshot as one that remembers."""
        return cls(snapshot.node, snapshot.taken_at, snapshot.window, snapshot.readings, snapshot.case)

    def once(self, work_out: Callable[..., F], *asked: Hashable) -> F:
        figure = (work_out, *asked)
        if figure not in self.figures:
            self.figures[figure] = work_out(self, *asked)
        known: F = self.figures[figure]
        return known
