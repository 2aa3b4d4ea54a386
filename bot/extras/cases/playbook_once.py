"""A playbook for a case that is replayed many times: what is the same in every replay is worked out once.

A replay of a changed case is still whole: the case's transport answers, each probe is handed its answers, and the
verdict is put together from every cause and condition. But parsers, causes and conditions are functions of what they
are handed and of nothing else (tests/contract/test_why.py holds causes to the probes that they name). So an answer
needs no second parse, and a cause whose readings are the very same objects as before would evaluate the same again.
What a proof does anew is told by the readings alone, by none of the notes by which the search saves work: where the
search was wrong about what a change touches, the proof finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from bot.domain.command import Outputs
from bot.domain.errors import CannotRead
from bot.domain.playbook import Condition, ConfiguredCause, Playbook
from bot.domain.probe import Probe, Snapshot, Unread
from bot.extras.cases.result_cache import reading_once

T = TypeVar("T")


def judging_once(playbook: Playbook) -> Playbook:
    """Return the playbook for replays of a case that each change a reading.

    Shape: each answer is parsed once, each figure of a reading is worked out once, and causes and conditions are
    evaluated again only if a reading of a probe that they name is another.
    """
    return replace(
        playbook,
        probes=tuple(replace(probe, parse=_ParsedOnce(probe)) for probe in playbook.probes),
        causes=tuple(map(_evaluated_once, playbook.causes)),
        conditions=tuple(map(_held_once, playbook.conditions)),
    )


def _evaluated_once(used: ConfiguredCause) -> ConfiguredCause:
    cause = used.cause
    return replace(used, cause=replace(cause, evaluate=_Once(cause.evaluate, (*cause.probes, *cause.beside))))


def _held_once(condition: Condition) -> Condition:
    holds, shows = _Once(condition.holds, condition.probes), _Once(condition.shows, condition.probes)
    return replace(condition, holds=holds, shows=shows)


@dataclass(slots=True)
class _ParsedOnce:
    """A probe's parser that keeps its result."""

    probe: Probe
    outcome: Any = None

    def __call__(self, outputs: Outputs) -> Any:
        if self.outcome is None:
            try:
                self.outcome = reading_once(self.probe.parse(outputs))
            except CannotRead as no:
                self.outcome = no
        if isinstance(self.outcome, CannotRead):
            raise self.outcome
        return self.outcome


@dataclass(slots=True)
class _Once(Generic[T]):
    """A function of the readings of some probes that keeps its results, each with the readings that it is of."""

    of: Callable[..., T]
    probes: Sequence[str]
    known: dict[tuple[Any, ...], tuple[T, list[Any]]] = field(default_factory=dict)

    def __call__(self, snapshot: Snapshot, *tuning: Any) -> T:
        readings = [snapshot.readings.get(probe) for probe in self.probes]
        # The same object, not an equal one: to compare readings would take longer than to evaluate them. Why something
        # is unread is a short text, and told anew in every replay.
        key = tuple([reading if isinstance(reading, Unread) else id(reading) for reading in readings])
        if key not in self.known:
            self.known[key] = self.of(snapshot, *tuning), readings  # kept, so that no other object gets their ids
        return self.known[key][0]
