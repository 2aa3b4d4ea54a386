"""Finds the smallest single changes of readings that change a verdict.

Every number that the weighing looked at is moved to its least and its most. Where that changes status, cause,
confidence or plan, the change is halved until it cannot be smaller. Every reading is left out once, and so is every
entry that the verdict names. Nothing is random, so the same case always has the same answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from bot.domain.action import Action
from bot.domain.cause import Weighing
from bot.domain.change import NONE, Change
from bot.domain.conclude import concluded, weighings
from bot.domain.errors import UsageError
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Verdict
from bot.response.diagnosis.facts import Fact, Number, number
from bot.response.diagnosis.looks import looked_at
from bot.response.diagnosis.planning import Draining, with_plan
from bot.response.diagnosis.remembered import Weighings

FAR = 1_000_000  # how far up a number is moved, beside a thousand times what was read
FINE = 2e-3  # of a number: precise enough, unless there is a threshold in between


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A change, and the verdict after it.

    Shape: `was` is what was read, None for an entry or a reading that is left out. `still` is the value next to the
    changed one that changes nothing, None where there is none.
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
class Judge:
    """Weighs a snapshot by a playbook, for a node and its cluster, and makes the plan."""

    playbook: Playbook
    actions: Mapping[str, Action]
    node: Node
    draining: Draining

    def verdict(self, snapshot: Snapshot) -> Verdict:
        """Return the verdict with its plan."""
        return self.concluded(snapshot, weighings(snapshot, self.playbook))

    def concluded(self, snapshot: Snapshot, found: Sequence[Weighing | None]) -> Verdict:
        """Return the verdict that weighings of a snapshot come to, with its plan."""
        verdict = concluded(snapshot, self.playbook, found)
        return with_plan(verdict, self.playbook, self.actions, self.node, self.draining)


def what_ifs(snapshot: Snapshot, judge: Judge) -> tuple[WhatIf, ...]:
    """Return the smallest single changes of a snapshot that change its verdict, the smallest first.

    Shape: each is weighed again before it is returned; a cause is weighed again if a probe that it names changed.
    """
    search = _Search(snapshot, judge)
    found = {each.change: each for each in (*search.left_out(), *search.numbers())}  # both may find the same
    return tuple(sorted(found.values(), key=lambda each: (each.size, not each.change.field, str(each.change))))


def outcome(verdict: Verdict) -> tuple[str, str | None, str | None, str | None]:
    """Return what is compared of a verdict: status, cause, confidence and the plan's digest."""
    return verdict.status, verdict.cause, verdict.confidence, verdict.plan.digest if verdict.plan is not None else None


class _Search:
    """The search in a snapshot; weighings are cached."""

    def __init__(self, snapshot: Snapshot, judge: Judge) -> None:
        self._snapshot, self._judge = snapshot, judge
        self._tried: dict[Change, Verdict | None] = {}
        self._weighings = Weighings(snapshot, judge.playbook)
        before = judge.concluded(snapshot, self._weighings.found)
        self._outcome = outcome(before)
        self._looks = looked_at(snapshot, judge, before)
        self._facts = self._looks.facts
        self._edges = _edges(judge.playbook)

    def left_out(self) -> Iterator[WhatIf]:
        """Try leaving out each reading, and each entry that the verdict names."""
        for name, reading in self._snapshot.readings.items():
            if not isinstance(reading, Unread):
                yield from self._proven(Change(name))
        for entry in dict.fromkeys(fact.change.entry and replace(fact.change, part="") for fact in self._facts):
            if isinstance(entry, Change):
                yield from self._proven(replace(entry, value=NONE))

    def numbers(self) -> Iterator[WhatIf]:
        """Try each number that was looked at, lower and higher, and each boolean inverted."""
        told: set[str] = set()
        for fact in self._facts:  # a first look comes before its later look
            if fact.both_looks in told:
                continue  # moved alone, the later look would give the same again
            for what_if in self._moved(fact):
                told.add(fact.change.what)
                yield what_if

    def _moved(self, fact: Fact) -> Iterator[WhatIf]:
        if isinstance(fact.was, bool):
            yield from self._proven(fact.at("false" if fact.was else "true"), fact.was)
        elif fact.was is not None:
            was = number(fact.was)
            most = 100.0 if "percent" in (fact.change.part or fact.change.field) else FAR + 1000 * abs(was)
            for end in (0, most):
                yield from self._nearest(fact, was, type(was)(end))

    def _nearest(self, fact: Fact, was: Number, end: Number) -> Iterator[WhatIf]:
        """Bisect between what was read and an end that changes the verdict, thresholds first."""
        if end == was or self._changed(fact.at(_written(end))) is None:
            return
        same, other = was, end
        least, most = min(was, end), max(was, end)
        edges = [edge for edge in self._edges if least < edge < most and isinstance(edge, type(was))]
        if end < was:
            edges.reverse()
        first, last = 0, len(edges)  # those before `first` change nothing, those from `last` on do
        while first < last:
            middle = (first + last) // 2
            if self._changed(fact.at(_written(edges[middle]))) is None:
                first, same = middle + 1, edges[middle]
            else:
                last, other = middle, edges[middle]
        while abs(other - same) > max(FINE * max(abs(same), abs(other), FINE), isinstance(was, int)):
            half = (same + other) // 2 if isinstance(was, int) else (same + other) / 2
            if self._changed(fact.at(_written(half))) is None:
                same = half
            else:
                other = half
        yield from self._proven(fact.at(_written(other)), fact.was, _written(same) if same != was else None)

    def _proven(
        self, change: Change, was: Number | bool | timedelta | None = None, still: str | None = None
    ) -> Iterator[WhatIf]:
        if (verdict := self._changed(change)) is not None:
            yield WhatIf(change, verdict, was, still)

    def _changed(self, change: Change) -> Verdict | None:
        """Return the verdict after the change, if it differs."""
        if change not in self._tried:
            verdict = self._with(change)
            self._tried[change] = verdict if verdict is not None and outcome(verdict) != self._outcome else None
        return self._tried[change]

    def _with(self, change: Change) -> Verdict | None:
        """Return the verdict after the change; None where it cannot be made, or certainly decides nothing."""
        readings = self._snapshot.readings
        try:
            reading = change.applied(readings[change.probe])
        except UsageError:
            return None
        found = self._weighings.changed(reading, change, self._looks)
        if change.field and self._weighings.decide_alike(found) and not self._looks.plan_hangs_on(change):
            return None
        return self._judge.concluded(replace(self._snapshot, readings={**readings, change.probe: reading}), found)


def _edges(playbook: Playbook) -> tuple[Number, ...]:
    """Return the playbook's thresholds and the numbers next to them, in order."""
    said = [word for each in playbook.conditions for word in re.findall(r"(?<![\w.])\d+\.?\d*", each.when)]
    numbers = [threshold.value for used in playbook.causes for threshold in used.thresholds.values()]
    numbers += [float(word) for word in said]
    whole = {int(number) + step for number in numbers for step in (-1, 0, 1)}
    fine = {float(number) * (1 + step) for number in numbers for step in (-FINE / 2, 0, FINE / 2)}
    return (*sorted(whole), *sorted(fine))


def _written(value: Number) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"
