"""Judging a snapshot over and over without computing unchanged parts again."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from bot.domain.cause import Weighing
from bot.domain.change import Change
from bot.domain.conclude import held, weighed, weighings
from bot.domain.playbook import Playbook
from bot.domain.probe import CustomReading, RememberingSnapshot, Snapshot, Unread
from bot.domain.verdict import Finding, RuledOut, Undecided
from bot.response.diagnosis.used_facts import UsedFacts


def computing_once(snapshot: Snapshot) -> RememberingSnapshot:
    """Return the snapshot with readings that cache each figure: they are asked for it hundreds of times."""
    readings = {name: _Once(reading).reading for name, reading in snapshot.readings.items()}
    return RememberingSnapshot(snapshot.node, snapshot.taken_at, snapshot.window, readings)


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


@dataclass(frozen=True, slots=True)
class _Hanging:
    """What depends on a thing that may be changed: indices of causes and conditions; `figures` do not depend on it."""

    causes: tuple[int, ...]
    conditions: tuple[int, ...]
    figures: Mapping[tuple[Any, ...], Any]


class Weighings:
    """A playbook's weighings of a snapshot; after a change only those that looked at the changed value are redone."""

    def __init__(self, snapshot: Snapshot, playbook: Playbook) -> None:
        self._snapshot = computing_once(snapshot)
        self._playbook = playbook
        self.found = weighings(self._snapshot, playbook)
        self.decides = tuple(map(_decides, self.found))
        self._hanging: dict[str, _Hanging] = {}

    def changed(self, reading: Any, change: Change, looks: UsedFacts) -> list[Weighing | None]:
        """Return the weighings after a change; `reading` is the changed reading."""
        before, playbook, hanging = self._snapshot, self._playbook, self._on(change, looks)
        readings = {**before.readings, change.probe: reading}
        figures = dict(hanging.figures)
        now = RememberingSnapshot(before.node, before.taken_at, before.window, readings, figures=figures)
        found = [*self.found]
        for at in hanging.causes:
            found[at] = weighed(playbook.causes[at], now)
        for at in hanging.conditions:
            found[len(playbook.causes) + at] = held(playbook.conditions[at], now)
        return found

    def decided(self, found: Sequence[Weighing | None]) -> tuple[tuple[Any, ...], ...]:
        """Return what decides the verdict, weighing by weighing; equal to `decides` if only wording differs."""
        return tuple(
            decides if now is before else _decides(now)
            for now, before, decides in zip(found, self.found, self.decides, strict=True)
        )

    def _on(self, change: Change, looks: UsedFacts) -> _Hanging:
        """Return what depends on the changed thing, whatever its new value."""
        if change.what not in self._hanging:
            playbook, figures = self._playbook, self._snapshot.figures.items()
            self._hanging[change.what] = _Hanging(
                tuple(at for at, used in enumerate(playbook.causes) if looks.cause_hangs_on(used.cause, change)),
                tuple(at for at in range(len(playbook.conditions)) if looks.condition_hangs_on(at, change)),
                {name: known for name, known in figures if not looks.figure_hangs_on(name, change)},
            )
        return self._hanging[change.what]


def _decides(weighing: Weighing | None) -> tuple[Any, ...]:
    """Return the parts of a weighing that decide status, cause, confidence and plan; the rest is wording."""
    match weighing:
        case Finding():
            remedy = tuple((step.action, *step.args.items(), *step.commands) for step in weighing.remedy)
            return weighing.cause, weighing.status, weighing.confidence, remedy
        case Undecided():
            return "open", weighing.cause, weighing.suspected, weighing.worst
        case RuledOut():
            return "ruled out", weighing.cause
    return ()
