"""Judging a snapshot over and over without computing unchanged parts again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from bot.domain.cause import Weighing
from bot.domain.change import Change
from bot.domain.conclude import held, weighed, weighings
from bot.domain.playbook import Playbook
from bot.domain.probe import CustomReading, F, Snapshot, Unread
from bot.domain.verdict import Finding, RuledOut, Undecided
from bot.response.diagnosis.looks import Looks
from bot.response.diagnosis.watch import Figure


def computing_once(snapshot: Snapshot) -> _Remembering:
    """Return the snapshot with readings that cache each figure: they are asked for it hundreds of times."""
    readings = {name: _Once(reading).reading for name, reading in snapshot.readings.items()}
    return _Remembering(snapshot.node, snapshot.taken_at, snapshot.window, readings)


@dataclass(frozen=True, slots=True)
class _Remembering(Snapshot):
    """A snapshot that caches figures computed from it."""

    figures: dict[Figure, Any] = field(default_factory=dict, compare=False, repr=False)

    def once(self, work_out: Callable[..., F], *asked: float) -> F:
        figure = (work_out, *asked)
        if figure not in self.figures:
            self.figures[figure] = work_out(self, *asked)
        known: F = self.figures[figure]
        return known


class _Once:
    """Makes a copy of a reading that caches its methods' results; copies of that copy have their own cache."""

    def __init__(self, reading: Any) -> None:
        self.reading = reading
        self._kept: dict[tuple[Any, ...], Any] = {}
        if isinstance(reading, Unread | CustomReading) or not is_dataclass(reading):
            return
        kind, body = type(reading), dict[str, Any]()
        for name, method in vars(kind).items():
            if isinstance(method, property):
                body[name] = property(self._keeping(name, method.fget))
            elif inspect.isfunction(method) and not name.startswith("_"):
                body[name] = self._keeping(name, method)
        made: Any = object.__new__(type(kind.__name__, (kind,), body | {"__slots__": ()}))
        for each in fields(reading):
            object.__setattr__(made, each.name, getattr(reading, each.name))
        self.reading = made

    def _keeping(self, name: str, work_out: Any) -> Any:
        def kept(reading: Any, *asked: Any) -> Any:
            if reading is not self.reading:
                return work_out(reading, *asked)
            if (name, *asked) not in self._kept:
                self._kept[name, *asked] = work_out(reading, *asked)
            return self._kept[name, *asked]

        return kept


class Weighings:
    """A playbook's weighings of a snapshot; after a change only those that looked at the changed value are redone."""

    def __init__(self, snapshot: Snapshot, playbook: Playbook) -> None:
        self._snapshot = computing_once(snapshot)
        self._playbook = playbook
        self.found = weighings(self._snapshot, playbook)
        self._decides = [_decides(weighing) for weighing in self.found]

    def changed(self, reading: Any, change: Change, looks: Looks) -> list[Weighing | None]:
        """Return the weighings after a change; `reading` is the changed reading."""
        before = self._snapshot
        readings = {**before.readings, change.probe: reading}
        figures = {name: known for name, known in before.figures.items() if not looks.figure_hangs_on(name, change)}
        now = _Remembering(before.node, before.taken_at, before.window, readings, figures=figures)
        found = [*self.found]
        for at, used in enumerate(self._playbook.causes):
            if looks.cause_hangs_on(used.cause, change):
                found[at] = weighed(used, now)
        for at, condition in enumerate(self._playbook.conditions):
            if looks.condition_hangs_on(at, change):
                found[len(self._playbook.causes) + at] = held(condition, now)
        return found

    def decide_alike(self, found: Sequence[Weighing | None]) -> bool:
        """True if weighings differ from the snapshot's in wording only, so that the verdict stays."""
        return all(
            now is before or _decides(now) == decides
            for now, before, decides in zip(found, self.found, self._decides, strict=True)
        )


def _decides(weighing: Weighing | None) -> tuple[Any, ...]:
    """Return the parts of a weighing that decide status, cause, confidence and plan; the rest is wording."""
    match weighing:
        case Finding():
            return weighing.cause, weighing.status, weighing.confidence, weighing.remedy
        case Undecided():
            return "open", weighing.cause, weighing.suspected, weighing.worst
        case RuledOut():
            return "ruled out", weighing.cause
    return ()
