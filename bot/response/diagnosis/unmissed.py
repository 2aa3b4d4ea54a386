"""Finds the parts of a playbook that can be removed without changing a verdict on any case or changed case.

A mutation check: each condition and cause is left out once, for each verdict and each that `what_ifs` finds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bot.domain.cause import Weighing
from bot.domain.conclude import weighings
from bot.domain.playbook import Playbook
from bot.domain.probe import RememberingSnapshot, Snapshot
from bot.domain.verdict import RuledOut, Verdict
from bot.response.diagnosis.what_if import Judge, outcome, what_ifs


@dataclass(frozen=True, slots=True)
class PlaybookItem:
    """A cause or a condition of a playbook; `at` is its place among them, causes first."""

    at: int
    name: str
    is_condition: bool


@dataclass(frozen=True, slots=True)
class UnmissedItems:
    """A playbook, how many pieces it has, and those that no case needs."""

    playbook: str
    pieces: int
    unmissed: tuple[PlaybookItem, ...]


def pieces(playbook: Playbook) -> tuple[PlaybookItem, ...]:
    """Return the causes and conditions of a playbook, in its order."""
    causes = [used.cause.name for used in playbook.causes]
    names = [*causes, *(condition.name for condition in playbook.conditions)]
    return tuple(PlaybookItem(at, name, at >= len(causes)) for at, name in enumerate(names))


def missed(snapshot: Snapshot, judge: Judge, among: Sequence[PlaybookItem]) -> Iterator[PlaybookItem]:
    """Yield the pieces without which the verdict on a snapshot, or on a change of it, would differ."""
    left = list(among)
    for now in _snapshots(snapshot, judge):
        found = weighings(RememberingSnapshot.of(now), judge.playbook)
        before = outcome(judge.concluded(now, found))
        for piece in [piece for piece in left if _says(found[piece.at])]:
            if outcome(_without(piece, judge, now, found)) != before:
                left.remove(piece)
                yield piece
        if not left:
            return


def _snapshots(snapshot: Snapshot, judge: Judge) -> Iterator[Snapshot]:
    yield snapshot
    for each in what_ifs(snapshot, judge):
        yield each.verdict.snapshot or snapshot


def _says(weighing: Weighing | None) -> bool:
    """False for a weighing that changes no verdict: a condition that does not hold, a cause that is ruled out."""
    return weighing is not None and not isinstance(weighing, RuledOut)


def _without(piece: PlaybookItem, judge: Judge, snapshot: Snapshot, found: Sequence[Weighing | None]) -> Verdict:
    playbook, at = judge.playbook, piece.at
    causes = tuple(used for place, used in enumerate(playbook.causes) if place != at)
    conditions = tuple(each for place, each in enumerate(playbook.conditions, len(playbook.causes)) if place != at)
    fewer = replace(judge, playbook=replace(playbook, causes=causes, conditions=conditions))
    return fewer.concluded(snapshot, [*found[:at], *found[at + 1 :]])
