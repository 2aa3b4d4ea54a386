"""Judging a snapshot over and over: what has not changed is not worked out again."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from bot.domain.cause import Cause, Tuning, Weighing
from bot.domain.playbook import Condition, Playbook
from bot.domain.probe import CustomReading, Snapshot, Unread
from bot.domain.truth import Truth


def computing_once(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with readings that work out each figure once: they are asked for it hundreds of times."""
    readings = {name: _Once(reading).reading for name, reading in snapshot.readings.items()}
    return replace(snapshot, readings=readings)


class _Once:
    """Makes a copy of a reading that keeps what its methods return; copies of that copy work it out for themselves."""

    def __init__(self, reading: Any) -> None:
        self.reading = reading
        self._kept: dict[tuple[Any, ...], Any] = {}
        if isinstance(reading, Unread | CustomReading) or not is_dataclass(reading):
            return
        kind, body = type(reading), dict[str, Any]()
        for name, held in vars(kind).items():
            if isinstance(held, property):
                body[name] = property(self._keeping(name, held.fget))
            elif inspect.isfunction(held) and not name.startswith("_"):
                body[name] = self._keeping(name, held)
        made: Any = object.__new__(type(kind.__name__, (kind,), body | {"__slots__": ()}))
        for each in fields(reading):
            object.__setattr__(made, each.name, getattr(reading, each.name))
        self.reading = made

    def _keeping(self, name: str, work_out: Any) -> Any:
        def held(reading: Any, *asked: Any) -> Any:
            if reading is not self.reading:
                return work_out(reading, *asked)
            if (name, *asked) not in self._kept:
                self._kept[name, *asked] = work_out(reading, *asked)
            return self._kept[name, *asked]

        return held


def remembering(snapshot: Snapshot, playbook: Playbook) -> Playbook:
    """Return the playbook with causes and conditions that weigh again only what has changed."""
    causes = []
    for used in playbook.causes:
        weighed = used.cause.weigh(snapshot, used.tuning)
        causes.append(replace(used, cause=replace(used.cause, weigh=_Weighed(used.cause, snapshot, weighed))))
    conditions = [
        replace(condition, holds=_Held(condition, snapshot, condition.holds(snapshot)))
        for condition in playbook.conditions
    ]
    return replace(playbook, causes=tuple(causes), conditions=tuple(conditions))


def _same(probes: Sequence[str], before: Snapshot, now: Snapshot) -> bool:
    return all(before.readings.get(probe) is now.readings.get(probe) for probe in probes)


@dataclass(frozen=True, slots=True)
class _Weighed:
    cause: Cause
    snapshot: Snapshot
    weighed: Weighing

    def __call__(self, snapshot: Snapshot, tuning: Tuning) -> Weighing:
        is_same = _same((*self.cause.probes, *self.cause.beside), self.snapshot, snapshot)
        return self.weighed if is_same else self.cause.weigh(snapshot, tuning)


@dataclass(frozen=True, slots=True)
class _Held:
    condition: Condition
    snapshot: Snapshot
    held: Truth

    def __call__(self, snapshot: Snapshot) -> Truth:
        is_same = _same(self.condition.probes, self.snapshot, snapshot)
        return self.held if is_same else self.condition.holds(snapshot)
