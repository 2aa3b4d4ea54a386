"""Finds the smallest single changes of readings that change a verdict.

Every number that the result looked at is moved to its least and its most. Where that changes status, cause,
confidence or plan, the change is halved until it cannot be smaller. Every reading is left out once, and so is every
entry that the verdict names. Nothing is random, so the same case always has the same answers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from bot.domain.action import Action
from bot.domain.case import Case
from bot.domain.cause import CauseResult
from bot.domain.change import NONE, Change, Places
from bot.domain.errors import UsageError
from bot.domain.evaluation import cause_results, combine_results
from bot.domain.node import Node
from bot.domain.playbook import Condition, ConfiguredCause, Playbook
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Verdict, outcome_parts
from bot.extras.cases.facts import Fact, Number, number
from bot.extras.cases.result_cache import CauseResults
from bot.extras.cases.used_facts import looked_at
from bot.response.diagnosis.planning import DrainSettings, with_plan

FAR = 1_000_000  # how far up a number is moved, beside a thousand times what was read
FINE = 2e-3  # of a number: precise enough, unless there is a threshold in between


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A change, and the verdict after it.

    Shape: `was` is what was read, None for an entry or a reading that is left out. `still` is the value next to the
    changed value that changes nothing, None where there is none.
    """

    change: Change
    verdict: Verdict
    was: Number | bool | timedelta | None = None
    still: str | None = None

    @property
    def size(self) -> float:
        """How much is changed, from 0 to 1: the share of a number that is added or removed; 1 is all of it."""
        if not isinstance(self.was, int | float | timedelta) or isinstance(self.was, bool):
            return 1.0
        was, now = number(self.was), float(self.change.value)
        return abs(was - now) / max(abs(was), abs(now), 1e-9)


@dataclass(frozen=True, slots=True)
class Why:
    """A case's verdict, and the smallest changes of its readings that would change it, the smallest first.

    Shape: the verdicts of the changes are status, cause, confidence and plan alone.
    """

    case: Case
    verdict: Verdict
    changes: tuple[WhatIf, ...]


@dataclass(frozen=True, slots=True)
class Judge:
    """Evaluates a snapshot by a playbook, for a node and its cluster, and makes the plan."""

    playbook: Playbook
    actions: Mapping[str, Action]
    node: Node
    draining: DrainSettings

    def without_lines(self) -> Judge:
        """Return a judge of the same verdicts, whose conditions do not look up the node's lines: none decides one."""
        conditions = (replace(condition, shows=_no_lines) for condition in self.playbook.conditions)
        return replace(self, playbook=replace(self.playbook, conditions=tuple(conditions)))

    def verdict(self, snapshot: Snapshot) -> Verdict:
        """Return the verdict with its plan."""
        return self.verdict_of(snapshot, cause_results(snapshot, self.playbook))

    def verdict_of(self, snapshot: Snapshot, found: Sequence[CauseResult | None]) -> Verdict:
        """Return the verdict that results of a snapshot come to, with its plan."""
        verdict = combine_results(snapshot, self.playbook, found)
        return with_plan(verdict, self.playbook, self.actions, self.node, self.draining)


def what_ifs(snapshot: Snapshot, judge: Judge) -> tuple[WhatIf, ...]:
    """Return the smallest single changes of a snapshot that change its verdict, the smallest first.

    Shape: each is evaluated again before it is returned; a cause is evaluated again if a probe that it names changed.
    """
    search = _Search(snapshot, judge)
    found = {each.change: each for each in (*search.left_out(), *search.numbers())}  # both may find the same
    return tuple(sorted(found.values(), key=lambda each: (each.size, not each.change.field, str(each.change))))


def in_short(verdict: Verdict) -> Verdict:
    """Return a verdict without snapshot and evidence, which may take megabytes."""
    return replace(verdict, snapshot=None, evidence=(), ruled_out=(), unread=(), undecided=(), heat=None)


def outcome_alone(verdict: Verdict) -> Verdict:
    """Return what a change is told by: status, cause, confidence and plan, without any sentence."""
    return Verdict(verdict.node, verdict.status, verdict.cause, verdict.confidence, summary="", plan=verdict.plan)


class _Search:
    """The search in a snapshot; results are cached."""

    def __init__(self, snapshot: Snapshot, judge: Judge) -> None:
        self._snapshot, self._judge = snapshot, (judge := judge.without_lines())
        self._tried: dict[Change, _Flip | None] = {}
        self._places: Places = {}  # of the snapshot's readings
        self._results = CauseResults(snapshot, judge.playbook)
        before = judge.verdict_of(snapshot, self._results.found)
        self._outcome = outcome_parts(before)
        self._looks = looked_at(snapshot, judge, before)
        self._facts = self._looks.facts
        self._is_other: dict[tuple[Any, ...], bool] = {}  # by what the results decide
        self._edges: dict[tuple[Sequence[int], Sequence[int]], tuple[Number, ...]] = {}
        self._limits: dict[tuple[str, str, Number, Number], tuple[Number, Number]] = {}

    def left_out(self) -> Iterator[WhatIf]:
        """Try leaving out each reading, and each entry that the verdict names."""
        for name, reading in self._snapshot.readings.items():
            if not isinstance(reading, Unread):
                yield from self._what_if_of(Change(name))
        for entry in dict.fromkeys(fact.change.entry and replace(fact.change, part="") for fact in self._facts):
            if isinstance(entry, Change):
                yield from self._what_if_of(replace(entry, value=NONE))

    def numbers(self) -> Iterator[WhatIf]:
        """Try each number that was looked at, lower and higher, and each boolean inverted."""
        seen: set[str] = set()
        for fact in self._facts:  # a first look comes before its later look
            if fact.both_looks in seen:
                continue  # moved alone, the later look would give the same again
            for what_if in self._flips_of_fact(fact):
                seen.add(fact.change.what)
                yield what_if

    def _flips_of_fact(self, fact: Fact) -> Iterator[WhatIf]:
        if isinstance(fact.was, bool):
            yield from self._what_if_of(fact.at("false" if fact.was else "true"), fact.was)
        elif fact.was is not None:
            was = number(fact.was)
            most = 100.0 if "percent" in (fact.change.part or fact.change.field) else FAR + 1000 * abs(was)
            for end in (0, most):
                yield from self._nearest(fact, was, type(was)(end))

    def _nearest(self, fact: Fact, was: Number, end: Number) -> Iterator[WhatIf]:
        """Bisect between what was read and an end that changes the verdict, thresholds first."""
        if end == was or not self._flips(fact.at(_written(end))):
            return
        alike = fact.change.probe, fact.change.field, was, end  # numbers that are counted alike often share a limit
        same, other = self._limits.get(alike, (was, end))
        if not (self._flips(fact.at(_written(other))) and (same == was or not self._flips(fact.at(_written(same))))):
            same, other = was, end
        same, other = self._limits[alike] = self._flipping_neighbours(fact, same, other)
        yield from self._what_if_of(fact.at(_written(other)), fact.was, _written(same) if same != was else None)

    def _flipping_neighbours(self, fact: Fact, same: Number, other: Number) -> tuple[Number, Number]:
        """Return two numbers next to each other, of which the first changes nothing and the other does.

        Shape: on the way only those are evaluated that the other end made decide differently, for the others mostly
        decide as before all along. What comes of that counts if it holds with all of them; if not, all are evaluated.
        """
        among = self._deciding(fact.at(_written(other)))
        found = self._bisected(fact, same, other, among)
        if not self._flips(fact.at(_written(found[0]))) and self._flips(fact.at(_written(found[1]))):
            return found
        return self._bisected(fact, same, other)

    def _bisected(
        self, fact: Fact, same: Number, other: Number, among: Set[int] | None = None
    ) -> tuple[Number, Number]:
        was = same
        least, most = min(same, other), max(same, other)
        edges = [edge for edge in self._edges_of(fact) if least < edge < most and isinstance(edge, type(was))]
        if other < same:
            edges.reverse()
        first, last = 0, len(edges)  # those before `first` change nothing, those from `last` on do
        while first < last:
            middle = (first + last) // 2
            if self._flips(fact.at(_written(edges[middle])), among):
                last, other = middle, edges[middle]
            else:
                first, same = middle + 1, edges[middle]
        while abs(other - same) > max(FINE * max(abs(same), abs(other), FINE), isinstance(was, int)):
            half = _between(same, other)
            if self._flips(fact.at(_written(half)), among):
                other = half
            else:
                same = half
        return same, other

    def _edges_of(self, fact: Fact) -> tuple[Number, ...]:
        """Return the thresholds of what looks at a fact, and the numbers next to them, in order."""
        playbook, hanging = self._judge.playbook, self._results.on(fact.change, self._looks)
        if (those := (hanging.causes, hanging.conditions)) not in self._edges:
            causes = [playbook.causes[at] for at in hanging.causes]
            conditions = [playbook.conditions[at] for at in hanging.conditions]
            self._edges[those] = _numbers_compared_with(causes, conditions)
        return self._edges[those]

    def _what_if_of(
        self, change: Change, was: Number | bool | timedelta | None = None, still: str | None = None
    ) -> Iterator[WhatIf]:
        if (flip := self._tried_flip(change)) is not None:
            yield WhatIf(change, flip.verdict or self._judge.verdict_of(flip.snapshot, flip.found), was, still)

    def _flips(self, change: Change, among: Set[int] | None = None) -> bool:
        """True if the change gives another verdict; with `among`, if all results at other places stay the same."""
        return (self._tried_flip(change) if among is None else self._flip_with(change, among)) is not None

    def _deciding(self, change: Change) -> Set[int]:
        """Return the places of the results that decide otherwise after a change; all if something else decides."""
        flip, decides = self._tried_flip(change), self._results.decides
        if flip is None or self._looks.plan_hangs_on(change):
            return frozenset(range(len(decides)))
        now = self._results.decided(flip.found)
        return frozenset(at for at, before in enumerate(decides) if now[at] != before)

    def _tried_flip(self, change: Change) -> _Flip | None:
        """Return the changed snapshot and its results if they give another verdict."""
        if change not in self._tried:
            self._tried[change] = self._flip_with(change)
        return self._tried[change]

    def _flip_with(self, change: Change, among: Set[int] | None = None) -> _Flip | None:
        readings = self._snapshot.readings
        try:
            reading = change.applied(readings[change.probe], self._places)
        except UsageError:
            return None
        found = self._results.changed(reading, change, self._looks, among)
        decided = self._results.decided(found)
        if not change.field or self._looks.plan_hangs_on(change):
            decided = ((str(change),),)  # here the snapshot decides too
        elif decided == self._results.decides:
            return None
        if self._is_other.get(decided) is False:
            return None
        snapshot, verdict = replace(self._snapshot, readings={**readings, change.probe: reading}), None
        if decided not in self._is_other:
            verdict = self._judge.verdict_of(snapshot, found)
            self._is_other[decided] = outcome_parts(verdict) != self._outcome
        return _Flip(snapshot, found, verdict) if self._is_other[decided] else None


@dataclass(frozen=True, slots=True)
class _Flip:
    """A changed snapshot with another verdict, and its results; `verdict` None: not yet put together."""

    snapshot: Snapshot
    found: Sequence[CauseResult | None]
    verdict: Verdict | None


def _no_lines(_: Snapshot) -> tuple[str, ...]:
    return ()


def _numbers_compared_with(causes: Iterable[ConfiguredCause], conditions: Iterable[Condition]) -> tuple[Number, ...]:
    said = [word for each in conditions for word in re.findall(r"(?<![\w.])\d+\.?\d*", each.when)]
    numbers = [threshold.value for used in causes for threshold in used.thresholds.values()]
    numbers += [float(word) for word in said]
    whole = {int(number) + step for number in numbers for step in (-1, 0, 1)}
    fine = {float(number) * (1 + step) for number in numbers for step in (-FINE / 2, 0, FINE / 2)}
    return (*sorted(whole), *sorted(fine))


def _between(same: Number, other: Number) -> Number:
    """Return a number between two: their geometric mean if they are far apart, else the arithmetic mean."""
    least, most = sorted((same, other))
    half = math.sqrt(least) * math.sqrt(most) if least >= 2 and most > 4 * least else (least + most) / 2
    return int(half) if isinstance(same, int) else half


def _written(value: Number) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"
