"""Finds the smallest single changes of readings that change a verdict.

Every number that may decide is moved to its least and its most. Where that changes status, cause, confidence or plan,
the change is halved until it cannot be smaller. Every reading is left out once, and so is every entry that the verdict
names. Nothing is random, so the same case always has the same answers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from bot.domain.action import Action
from bot.domain.case import Case
from bot.domain.cause import CauseResult
from bot.domain.change import NONE, Change
from bot.domain.errors import UsageError
from bot.domain.evaluation import cause_results, combine_results
from bot.domain.mute import Mute
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.probe import RememberingSnapshot, Snapshot, Unread
from bot.domain.safe_text import Redactor
from bot.domain.verdict import Verdict, outcome_parts, without_secrets
from bot.extras.cases.facts import Fact, Number, facts_of, number
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
class VerdictExplanation:
    """A case's verdict, and the smallest changes of its readings that would change it, the smallest first.

    Shape: the verdicts of the changes are status, cause, confidence and plan alone. `remarks` say where the verdict may
    be another than the recorded one.
    """

    case: Case
    verdict: Verdict
    changes: tuple[WhatIf, ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judge:
    """Evaluates a snapshot by a playbook, for a node and its cluster, and makes the plan."""

    playbook: Playbook
    actions: Mapping[str, Action]
    node: Node
    draining: DrainSettings
    muted: tuple[Mute, ...] = ()

    def verdict(self, snapshot: Snapshot) -> Verdict:
        """Return the verdict with its plan."""
        return self.verdict_of(snapshot, cause_results(RememberingSnapshot.of(snapshot), self.playbook))

    def verdict_of(self, snapshot: Snapshot, found: Sequence[CauseResult | None]) -> Verdict:
        """Return the verdict that results of a snapshot come to, with its plan."""
        verdict = combine_results(snapshot, self.playbook, found, self.muted)
        return with_plan(verdict, self.playbook, self.actions, self.node, self.draining)


def what_ifs(snapshot: Snapshot, judge: Judge) -> tuple[WhatIf, ...]:
    """Return the smallest single changes of a snapshot that change its verdict, the smallest first.

    Shape: each is evaluated again before it is returned; a cause is evaluated again if it names the probe that changed.
    """
    search = _Search(snapshot, judge)
    found = {each.change: each for each in (*search.flips_without_one(), *search.numbers())}  # both may find the same
    return tuple(sorted(found.values(), key=lambda each: (each.size, not each.change.field, str(each.change))))


def short_verdict(verdict: Verdict, redactor: Redactor | None = None) -> Verdict:
    """Return what a change is told by: status, cause, confidence and plan, without sentences and without secrets."""
    short = Verdict(verdict.node, verdict.status, verdict.cause, verdict.confidence, summary="", plan=verdict.plan)
    return short if short.plan is None else without_secrets(short, redactor)  # nothing else is what a node said


class _Search:
    """The search in a snapshot; each change is judged once."""

    def __init__(self, snapshot: Snapshot, judge: Judge) -> None:
        self._snapshot, self._judge = snapshot, judge
        self._tried: dict[Change, Verdict | None] = {}
        self._found = cause_results(RememberingSnapshot.of(snapshot), judge.playbook)
        before = judge.verdict_of(snapshot, self._found)
        self._outcome = outcome_parts(before)
        self._facts = facts_of(snapshot, before, judge.playbook, judge.verdict)
        self._naming = {probe: _naming(judge.playbook, probe) for probe in snapshot.readings}
        self._edges = {probe: _numbers_compared_with(naming) for probe, naming in self._naming.items()}

    def flips_without_one(self) -> Iterator[WhatIf]:
        """Try leaving out each reading, and each entry that the verdict names."""
        for name, reading in self._snapshot.readings.items():
            if not isinstance(reading, Unread):
                yield from self._what_if_of(Change(name))
        for entry in dict.fromkeys(fact.change.entry and replace(fact.change, part="") for fact in self._facts):
            if isinstance(entry, Change):
                yield from self._what_if_of(replace(entry, value=NONE))

    def numbers(self) -> Iterator[WhatIf]:
        """Try each number, lower and higher, and each boolean inverted."""
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
        same, other = was, end
        least, most = min(was, end), max(was, end)
        edges = [edge for edge in self._edges[fact.change.probe] if least < edge < most and isinstance(edge, type(was))]
        if other < same:
            edges.reverse()
        first, last = 0, len(edges)  # those before `first` change nothing, those from `last` on do
        while first < last:
            middle = (first + last) // 2
            if self._flips(fact.at(_written(edges[middle]))):
                last, other = middle, edges[middle]
            else:
                first, same = middle + 1, edges[middle]
        while abs(other - same) > max(FINE * max(abs(same), abs(other), FINE), isinstance(was, int)):
            half = _between(same, other)
            if self._flips(fact.at(_written(half))):
                other = half
            else:
                same = half
        yield from self._what_if_of(fact.at(_written(other)), fact.was, _written(same) if same != was else None)

    def _what_if_of(
        self, change: Change, was: Number | bool | timedelta | None = None, still: str | None = None
    ) -> Iterator[WhatIf]:
        if (verdict := self._other_verdict(change)) is not None:
            yield WhatIf(change, verdict, was, still)

    def _flips(self, change: Change) -> bool:
        return self._other_verdict(change) is not None

    def _other_verdict(self, change: Change) -> Verdict | None:
        """Return the verdict after a change, if it is another; None where the change does not fit, too."""
        if change not in self._tried:
            self._tried[change] = self._judged(change)
        return self._tried[change]

    def _judged(self, change: Change) -> Verdict | None:
        readings = self._snapshot.readings
        try:
            reading = change.applied(readings[change.probe])
        except UsageError:
            return None
        snapshot = replace(self._snapshot, readings={**readings, change.probe: reading})
        naming = self._naming[change.probe]
        again = iter(cause_results(RememberingSnapshot.of(snapshot), naming))
        named = {*map(id, (*naming.causes, *naming.conditions))}
        all_of = (*self._judge.playbook.causes, *self._judge.playbook.conditions)
        found = [next(again) if id(each) in named else was for each, was in zip(all_of, self._found, strict=True)]
        verdict = self._judge.verdict_of(snapshot, found)
        return verdict if outcome_parts(verdict) != self._outcome else None


def _naming(playbook: Playbook, probe: str) -> Playbook:
    """Return the part of a playbook that looks at a probe; the rest comes out as before, whatever the probe says."""
    causes = (used for used in playbook.causes if probe in (*used.cause.probes, *used.cause.beside))
    conditions = (condition for condition in playbook.conditions if probe in condition.probes)
    return replace(playbook, causes=tuple(causes), conditions=tuple(conditions))


def _numbers_compared_with(playbook: Playbook) -> tuple[Number, ...]:
    """Return the thresholds of a playbook, and the numbers next to them, in order."""
    said = [word for each in playbook.conditions for word in re.findall(r"(?<![\w.])\d+\.?\d*", each.when)]
    numbers = [threshold.value for used in playbook.causes for threshold in used.thresholds.values()]
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
