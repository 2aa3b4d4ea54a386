"""Watching a verdict: readings that note which of their numbers, entries and fields are looked at."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

from bot.domain.change import NAMES, Change, names_of
from bot.domain.playbook import Playbook
from bot.domain.probe import CustomReading, Snapshot, Unread
from bot.domain.verdict import Verdict
from bot.extras.cases.facts import Fact, number

NEVER = 1e12  # seconds; stands for never, so it is no number to move
MOST_ENTRIES = 12  # of a field: a verdict names few
# How long a look took is no state of the node. Log and units count from the same boot as the uptime, which would
# contradict them if it was moved alone.
_NOT_MOVED = frozenset({"span_seconds", "seconds_between", "uptime", *NAMES})  # a name is not a quantity
_NUMBERS = (int, float, timedelta)
_COUNTED = frozenset({"core", "pid", "irq"})  # a bare number is an entry's name only after this word


def words_of(verdict: Verdict) -> frozenset[str]:
    """Return the words in the verdict, and `core 39` beside `39`."""
    said = " ".join([verdict.summary, *verdict.suspects, *(evidence.says for evidence in verdict.evidence)])
    words = [word.strip(".,:;()") for word in said.split()]
    return frozenset(words) | {f"{before} {word}" for before, word in pairwise(words)}


def looked_at(
    snapshot: Snapshot, verdict: Verdict, playbook: Playbook, judge: Callable[[Snapshot], Verdict]
) -> tuple[Fact, ...]:
    """Return the facts that `judge` looks at in a snapshot, in order of name.

    Shape: `verdict` is what it comes to; in lists, the entries that it names are facts.
    """
    watch = FactTracker(words_of(verdict))
    judge(replace(snapshot, readings={name: watch.reading(name, each) for name, each in snapshot.readings.items()}))
    named = [when for condition in playbook.conditions for when in re.findall(r"(\w+)\.(\w+)", condition.when)]
    for probe, name in dict.fromkeys(named):
        reading = snapshot.readings.get(probe)
        if not (name.endswith("_seconds") and hasattr(reading, name.removesuffix("_seconds"))):  # once is enough
            watch.named(reading, Change(probe, name))
    return tuple(fact for what, fact in sorted(watch.facts.items()) if what in watch.seen)


@dataclass(slots=True)
class FactTracker:
    """Notes which facts of readings are looked at."""

    words: frozenset[str]
    facts: dict[str, Fact] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)  # of the facts, those that were looked at

    def reading(self, probe: str, reading: Any) -> Any:
        """Return the reading as one that is watched."""
        if isinstance(reading, Unread | CustomReading) or not is_dataclass(reading) or isinstance(reading, type):
            return reading
        changed: dict[str, Any] = {}
        for each in fields(reading):
            held = getattr(reading, each.name)
            if isinstance(held, tuple) and held and not each.name.endswith("_later"):
                changed |= {each.name: watched} if (watched := self._entries(Change(probe, each.name), held)) else {}
            elif isinstance(held, Mapping) and held:
                changed[each.name] = _TrackedMapping(held, self, Change(probe, each.name))
        return self._record(replace(reading, **changed), Change(probe))

    def named(self, reading: Any, change: Change) -> None:
        """Note what a condition names."""
        held = reading.fields if isinstance(reading, CustomReading) else None
        value = held.get(change.field) if held is not None else getattr(reading, change.field, None)
        if isinstance(value, int | float | timedelta) and abs(number(value)) < NEVER:
            self.facts[change.what] = Fact(change, value)
            self.seen.add(change.what)

    def asked(self, change: Change, held: Any) -> None:
        """Note what was looked up in a mapping."""
        self.seen.add(change.what)
        self.facts[change.what] = Fact(change, held if isinstance(held, int | float) else None)
        for part in fields(held) if is_dataclass(held) else ():
            if isinstance(value := getattr(held, part.name), int | float):
                of_part = replace(change, part=part.name)
                self.facts[of_part.what] = Fact(of_part, value)
                self.seen.add(of_part.what)

    def _entries(self, change: Change, held: tuple[Any, ...]) -> tuple[Any, ...]:
        """Watch the entries that the verdict names; nothing where there is none."""
        spoken: dict[int, str] = {}
        for entry in _flat_records(held):
            name = self._name(names_of(entry))
            if name and (name in (names := set(spoken.values())) or len(names) < MOST_ENTRIES):
                spoken[id(entry)] = name
        return self._watched_entries(held, change, spoken) if spoken else ()

    def _watched_entries(self, held: tuple[Any, ...], change: Change, spoken: Mapping[int, str]) -> tuple[Any, ...]:
        found = []
        for entry in held:
            if isinstance(entry, tuple):
                found.append(self._watched_entries(entry, change, spoken))
            elif name := spoken.get(id(entry)):
                whole = replace(change, entry=name)
                self.facts[whole.what] = Fact(whole)
                self.seen.add(whole.what)
                found.append(self._record(entry, whole))
            else:
                found.append(entry)
        return tuple(found)

    def _name(self, names: Mapping[str, str]) -> str:
        """Return the name that the verdict uses for an entry; any of its names by kind."""
        found = ""
        for name, attribute in names.items():
            words = f"{attribute} {name}" if attribute in _COUNTED else name
            if attribute == "kind" or words in self.words:
                found = name
        return found

    def _record(self, record: Any, change: Change) -> Any:
        """Return the record of a type that notes which of its numbers are looked at."""
        kind: Any = type(record)
        made: Any = object.__new__(_noting(kind))
        object.__setattr__(
            made, "_noting", _TrackedFacts(self.seen, self._note_numbers(record, change))
        )  # past the freezing
        for _, held in _field_accessors(kind):
            held.__set__(made, held.__get__(record))
        return made

    def _note_numbers(self, record: Any, change: Change) -> dict[str, tuple[str, ...]]:
        """Keep a record's numbers as facts; return what is noted by the name of each of their fields."""
        kind: Any = type(record)
        at = f"{change.what}."
        noting = dict[str, tuple[str, ...]]()
        for name, held in _field_accessors(kind):
            value = held.__get__(record)
            if isinstance(value, _NUMBERS) and name not in _NOT_MOVED:
                before = self.facts.get(at + name)
                if before is None or (before.was is not None and number(before.was) < number(value)):
                    of = replace(change, **{"part" if change.entry else "field": name})
                    self.facts[at + name] = Fact(of, value)
                # The first look moves the later look with it, and the later also moves alone: growth is a fact too.
                noting[name] = (at + name, at + name.removesuffix("_later"))
        return noting


@dataclass(frozen=True, slots=True)
class _TrackedFacts:
    """Where a watched record notes what of it is looked at: `what` by the name of a field."""

    seen: set[str]
    what: Mapping[str, tuple[str, ...]]


@functools.cache
def _noting(kind: Any) -> type[Any]:
    """Return the type whose fields note that they are looked at.

    Shape: made once for all records of a kind, for it takes as long as to watch fifty.
    """
    body: dict[str, Any] = {name: _TrackedField(name, held) for name, held in _field_accessors(kind)}
    return type(kind.__name__, (kind,), {"__slots__": ("_noting",), **body})


@functools.cache
def _field_accessors(kind: Any) -> tuple[tuple[str, Any], ...]:
    """The fields of a kind of record, each with what sets and gets it."""
    return tuple((each.name, vars(kind)[each.name]) for each in fields(kind))


def _flat_records(held: tuple[Any, ...]) -> Iterator[Any]:
    for entry in held:
        if isinstance(entry, tuple):
            yield from _flat_records(entry)
        elif is_dataclass(entry):
            yield entry


class _TrackedField:
    """A field that notes when it is looked at."""

    __slots__ = ("_held", "_name")

    def __init__(self, name: str, held: Any) -> None:
        self._name, self._held = name, held

    def __get__(self, record: Any, kind: type[Any] | None = None) -> Any:
        if record is None:
            return self
        noting: _TrackedFacts = record._noting
        noting.seen.update(noting.what.get(self._name, ()))
        return self._held.__get__(record, kind)

    def __set__(self, record: Any, value: Any) -> None:
        raise AttributeError(self._name)


class _TrackedMapping(dict[Any, Any]):
    """A mapping that notes what is looked up in it."""

    def __init__(self, held: Mapping[Any, Any], watch: FactTracker, change: Change) -> None:
        super().__init__(held)
        self._watch, self._change = watch, change

    def __getitem__(self, key: Any) -> Any:
        held = super().__getitem__(key)
        self._watch.asked(replace(self._change, entry=str(key)), held)
        return held

    def get(self, key: Any, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default
