"""Judging a snapshot over and over without computing unchanged parts again."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from bot.domain.cause import CauseResult
from bot.domain.change import Change
from bot.domain.evaluation import cause_results, evaluate_cause, evaluate_condition
from bot.domain.playbook import Playbook
from bot.domain.probe import CustomReading, RememberingSnapshot, Snapshot, Unread
from bot.domain.verdict import Finding, RuledOut, Undecided
from bot.extras.cases.used_facts import UsedFacts

_KEPT = "_kept_figures"


def computing_once(snapshot: Snapshot) -> RememberingSnapshot:
    """Return the snapshot with readings that cache each figure: they are asked for it hundreds of times."""
    readings = {name: reading_once(reading) for name, reading in snapshot.readings.items()}
    return RememberingSnapshot(snapshot.node, snapshot.taken_at, snapshot.window, readings)


def reading_once(reading: Any) -> Any:
    """Return a copy of a reading that works out each of its figures once; a changed copy works them out anew."""
    if isinstance(reading, Unread | CustomReading) or not is_dataclass(reading):
        return reading
    kind: Any = type(reading)
    made = _copy_as(reading, _kind_once(kind))
    object.__setattr__(made, _KEPT, {})
    return made


def as_read(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with readings that cache nothing."""
    return replace(snapshot, readings={name: _as_read(reading) for name, reading in snapshot.readings.items()})


def _as_read(reading: Any) -> Any:
    return _copy_as(reading, type(reading).__base__) if hasattr(reading, _KEPT) else reading


def _copy_as(reading: Any, kind: Any) -> Any:
    made: Any = object.__new__(kind)
    for each in fields(reading):
        object.__setattr__(made, each.name, getattr(reading, each.name))
    return made


@functools.cache
def _kind_once(kind: type[Any]) -> type[Any]:
    """Return a kind of reading whose figures are kept where a reading of it has a place for them."""
    body = dict[str, Any](__slots__=(_KEPT,))
    for name, method in vars(kind).items():
        if isinstance(method, property):
            body[name] = property(_keeping_figure(name, method.fget))
        elif inspect.isfunction(method) and not name.startswith("_"):
            body[name] = _keeping(name, method)
    return type(kind.__name__, (kind,), body)


def _keeping_figure(name: str, work_out: Any) -> Any:
    @functools.wraps(work_out)  # a change reads the type that it returns
    def kept(reading: Any) -> Any:
        figures = getattr(reading, _KEPT, None)  # none in a changed copy
        if figures is None:
            return work_out(reading)
        if name not in figures:
            figures[name] = work_out(reading)
        return figures[name]

    return kept


def _keeping(name: str, work_out: Any) -> Any:
    @functools.wraps(work_out)
    def kept(reading: Any, *asked: Any) -> Any:
        figures = getattr(reading, _KEPT, None)
        if figures is None:
            return work_out(reading, *asked)
        if (key := (name, *asked)) not in figures:
            figures[key] = work_out(reading, *asked)
        return figures[key]

    return kept


@dataclass(frozen=True, slots=True)
class Hanging:
    """What depends on a thing that may be changed: indices of causes and conditions; `figures` do not depend on it."""

    causes: tuple[int, ...]
    conditions: tuple[int, ...]
    figures: Mapping[tuple[Any, ...], Any]


class CauseResults:
    """A playbook's results of a snapshot; after a change only those that looked at the changed value are redone."""

    def __init__(self, snapshot: Snapshot, playbook: Playbook) -> None:
        self._snapshot = computing_once(snapshot)
        self._playbook = playbook
        self.found = cause_results(self._snapshot, playbook)
        self.decides = tuple(map(_decides, self.found))
        self._hanging: dict[str, Hanging] = {}

    def changed(
        self, reading: Any, change: Change, looks: UsedFacts, among: Set[int] | None = None
    ) -> list[CauseResult | None]:
        """Return the results after a change; `reading` is the changed reading.

        Shape: with `among` only the results at these places are redone.
        """
        before, playbook, hanging = self._snapshot, self._playbook, self.on(change, looks)
        readings = {**before.readings, change.probe: reading}
        figures = dict(hanging.figures)
        now = RememberingSnapshot(before.node, before.taken_at, before.window, readings, figures=figures)
        found = [*self.found]
        for at in hanging.causes:
            if among is None or at in among:
                found[at] = evaluate_cause(playbook.causes[at], now)
        for at in hanging.conditions:
            if among is None or len(playbook.causes) + at in among:
                found[len(playbook.causes) + at] = evaluate_condition(playbook.conditions[at], now)
        return found

    def decided(self, found: Sequence[CauseResult | None]) -> tuple[tuple[Any, ...], ...]:
        """Return what decides the verdict, result by result; equal to `decides` if only wording differs."""
        told = zip(found, self.found, self.decides, strict=True)
        return tuple([decides if now is before else _decides(now) for now, before, decides in told])

    def on(self, change: Change, looks: UsedFacts) -> Hanging:
        """Return what depends on the changed thing, whatever its new value."""
        if change.what not in self._hanging:
            playbook = self._playbook
            self._hanging[change.what] = Hanging(
                tuple(at for at, used in enumerate(playbook.causes) if looks.cause_hangs_on(used.cause, change)),
                tuple(at for at in range(len(playbook.conditions)) if looks.condition_hangs_on(at, change)),
                looks.figures_kept(self._snapshot.figures, change),
            )
        return self._hanging[change.what]


def _decides(result: CauseResult | None) -> tuple[Any, ...]:
    """Return the parts of a result that decide status, cause, confidence and plan; the rest is wording."""
    match result:
        case Finding():
            remedy = tuple((step.action, *step.args.items(), *step.commands) for step in result.remedy)
            return result.cause, result.status, result.confidence, remedy
        case Undecided():
            return "open", result.cause, result.suspected, result.worst
        case RuledOut():
            return "ruled out", result.cause
    return ()
