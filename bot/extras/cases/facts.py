"""The facts that a verdict may rest on: numbers and booleans of its readings, and the entries that it names.

A number that nothing looks at changes no verdict, and to find that out costs little. Only mappings have hundreds of
values, so of these the facts are what is looked up in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any, TypeAlias

from bot.domain.change import NAMES, Change, names_of
from bot.domain.playbook import Playbook
from bot.domain.probe import CustomReading, Snapshot, Unread
from bot.domain.verdict import Verdict

Number: TypeAlias = int | float

NEVER = 1e12  # seconds; stands for never, so it is no number to move
MOST_ENTRIES = 12  # of a field: a verdict names few
# How long a look took is no state of the node. Log and units count from the same boot as the uptime, which would
# contradict them if it was moved alone.
_NOT_MOVED = frozenset({"span_seconds", "seconds_between", "uptime", *NAMES})  # a name is not a quantity
_COUNTED = frozenset({"core", "pid", "irq"})  # a bare number is an entry's name only after this word


@dataclass(frozen=True, slots=True)
class Fact:
    """A value that may decide; `was` is None for an entry that can only be left out."""

    change: Change
    was: Number | bool | timedelta | None = None

    @property
    def both_looks(self) -> str:
        """For a later look: the fact that moves it together with the first look; else empty."""
        field, part = (name.removesuffix("_later") for name in (self.change.field, self.change.part))
        now = replace(self.change, field=field, part=part)
        return now.what if now != self.change else ""

    def at(self, value: str) -> Change:
        """Return the change that gives it this value."""
        change = self.change
        return Change(change.probe, change.field, change.entry, change.part, value)


def number(value: Number | timedelta) -> Number:
    """Return a value as a number; a duration in seconds."""
    return value.total_seconds() if isinstance(value, timedelta) else value


def words_of(verdict: Verdict) -> frozenset[str]:
    """Return the words in the verdict, and `core 39` beside `39`."""
    said = " ".join([verdict.summary, *verdict.suspects, *(evidence.says for evidence in verdict.evidence)])
    words = [word.strip(".,:;()") for word in said.split()]
    return frozenset(words) | {f"{before} {word}" for before, word in pairwise(words)}


def facts_of(
    snapshot: Snapshot, verdict: Verdict, playbook: Playbook, judge: Callable[[Snapshot], Verdict]
) -> tuple[Fact, ...]:
    """Return the facts of a snapshot that may decide, in order of name.

    Shape: `verdict` is what `judge` makes of it; in lists, the entries that it names are facts.
    """
    finder = FactFinder(words_of(verdict))
    asked = {probe for used in playbook.causes for probe in (*used.cause.probes, *used.cause.beside)}
    watched = {name: finder.watched(name, each) for name, each in snapshot.readings.items() if name in asked}
    judge(replace(snapshot, readings={**snapshot.readings, **watched}))
    named = [when for condition in playbook.conditions for when in re.findall(r"(\w+)\.(\w+)", condition.when)]
    for probe, name in dict.fromkeys(named):
        reading = snapshot.readings.get(probe)
        if not (name.endswith("_seconds") and hasattr(reading, name.removesuffix("_seconds"))):  # once is enough
            finder.note_named(reading, Change(probe, name))
    return tuple(fact for _, fact in sorted(finder.found.items()))


@dataclass(slots=True)
class FactFinder:
    """Finds the facts of readings; `words` are those of the verdict, `found` the facts by what they are of."""

    words: frozenset[str]
    found: dict[str, Fact] = field(default_factory=dict)

    def watched(self, probe: str, reading: Any) -> Any:
        """Find a reading's facts; return it with mappings that note what is looked up in them."""
        if isinstance(reading, Unread | CustomReading) or not is_dataclass(reading) or isinstance(reading, type):
            return reading
        mappings: dict[str, Any] = {}
        for each in fields(reading):
            held, change = getattr(reading, each.name), Change(probe, each.name)
            if isinstance(held, tuple) and not each.name.endswith("_later"):
                self._note_entries(held, change)
            elif isinstance(held, Mapping):
                mappings[each.name] = _WatchedMapping(held, self, change)
        self.note_numbers(reading, Change(probe))
        return replace(reading, **mappings)

    def note_named(self, reading: Any, change: Change) -> None:
        """Note what a condition names."""
        held = reading.fields if isinstance(reading, CustomReading) else None
        value = held.get(change.field) if held is not None else getattr(reading, change.field, None)
        if isinstance(value, int | float | timedelta) and abs(number(value)) < NEVER:
            self.found[change.what] = Fact(change, value)

    def note_numbers(self, record: Any, change: Change) -> None:
        """Note a record's numbers; of several entries with the same name, the greatest of each."""
        for each in fields(record):
            value = getattr(record, each.name)
            if not isinstance(value, int | float | timedelta) or each.name in _NOT_MOVED:
                continue
            of = replace(change, **{"part" if change.entry else "field": each.name})
            before = self.found.get(of.what)
            if before is None or (before.was is not None and number(before.was) < number(value)):
                self.found[of.what] = Fact(of, value)

    def _note_entries(self, held: tuple[Any, ...], change: Change) -> None:
        """Note the entries that the verdict names, and their numbers."""
        spoken = set[str]()
        for entry in _flat_records(held):
            name = self._name(names_of(entry))
            if name and (name in spoken or len(spoken) < MOST_ENTRIES):
                spoken.add(name)
                whole = replace(change, entry=name)
                self.found[whole.what] = Fact(whole)
                self.note_numbers(entry, whole)

    def _name(self, names: Mapping[str, str]) -> str:
        """Return the name that the verdict uses for an entry; any of its names by kind."""
        found = ""
        for name, attribute in names.items():
            words = f"{attribute} {name}" if attribute in _COUNTED else name
            if attribute == "kind" or words in self.words:
                found = name
        return found


def _flat_records(held: tuple[Any, ...]) -> Iterator[Any]:
    for entry in held:
        if isinstance(entry, tuple):
            yield from _flat_records(entry)
        elif is_dataclass(entry):
            yield entry


class _WatchedMapping(dict[Any, Any]):
    """A mapping of which it is noted what is looked up in it."""

    def __init__(self, held: Mapping[Any, Any], finder: FactFinder, change: Change) -> None:
        super().__init__(held)
        self._finder, self._change = finder, change

    def __getitem__(self, key: Any) -> Any:
        held, change = super().__getitem__(key), replace(self._change, entry=str(key))
        self._finder.found[change.what] = Fact(change, held if isinstance(held, int | float) else None)
        if is_dataclass(held):
            self._finder.note_numbers(held, change)
        return held

    def get(self, key: Any, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default
