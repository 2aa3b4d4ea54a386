"""Facts: the numbers, yeses and noes, and entries of readings that a weighing looked at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

from bot.domain.change import NAMES, Change, names_of
from bot.domain.playbook import Playbook
from bot.domain.probe import CustomReading, Snapshot, Unread
from bot.domain.verdict import Verdict

Number: TypeAlias = int | float
MOST_ENTRIES = 12  # of one field: a verdict speaks of few
_COUNTED = frozenset({"core", "pid", "irq"})  # a bare number is an entry's name only after this word


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that was looked at; `was` None: an entry that can only be left out."""

    change: Change
    was: Number | bool | timedelta | None = None

    @property
    def both_looks(self) -> str:
        """Of a later look, the fact that moves it together with the first; empty for any other."""
        field, part = (name.removesuffix("_later") for name in (self.change.field, self.change.part))
        now = replace(self.change, field=field, part=part)
        return now.what if now != self.change else ""

    def at(self, value: str) -> Change:
        """Return the change that gives it this value."""
        return replace(self.change, value=value)


class Looks(Protocol):
    """Whatever looks at a snapshot to judge it."""

    def verdict(self, snapshot: Snapshot, /) -> Verdict:
        """Return the verdict."""
        ...


def looked_at(snapshot: Snapshot, playbook: Playbook, judge: Looks, verdict: Verdict) -> tuple[Fact, ...]:
    """Return what the judge looks at in a snapshot, in order of name; of lists, the entries the verdict speaks of."""
    watch = _Watch(_told(verdict))
    watched = {name: watch.reading(name, reading) for name, reading in snapshot.readings.items()}
    judge.verdict(replace(snapshot, readings=watched))
    named = [when for condition in playbook.conditions for when in re.findall(r"(\w+)\.(\w+)", condition.when)]
    for probe, name in dict.fromkeys(named):
        reading = snapshot.readings.get(probe)
        if not (name.endswith("_seconds") and hasattr(reading, name.removesuffix("_seconds"))):  # once is enough
            watch.named(reading, Change(probe, name))
    return tuple(fact for what, fact in sorted(watch.facts.items()) if what in watch.seen)


def _told(verdict: Verdict) -> frozenset[str]:
    """Return the words that the verdict speaks in, and `core 39` beside `39`."""
    told = " ".join([verdict.summary, *verdict.suspects, *(evidence.says for evidence in verdict.evidence)])
    words = [word.strip(".,:;()") for word in told.split()]
    return frozenset(words) | {f"{before} {word}" for before, word in pairwise(words)}


@dataclass(slots=True)
class _Watch:
    """Notes which facts of readings are looked at."""

    words: frozenset[str]
    facts: dict[str, Fact] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def reading(self, probe: str, reading: Any) -> Any:
        if isinstance(reading, Unread | CustomReading) or not is_dataclass(reading) or isinstance(reading, type):
            return reading
        changed: dict[str, Any] = {}
        for each in fields(reading):
            held = getattr(reading, each.name)
            if isinstance(held, tuple) and held and not each.name.endswith("_later"):
                entries = self._entries(Change(probe, each.name), held, set())
                changed |= {each.name: entries} if entries is not held else {}
            elif isinstance(held, Mapping) and held:
                changed[each.name] = _Asked(held, self, Change(probe, each.name))
        return self._record(replace(reading, **changed), Change(probe))

    def named(self, reading: Any, change: Change) -> None:
        """Note what a condition names."""
        held = reading.fields if isinstance(reading, CustomReading) else None
        value = held.get(change.field) if held is not None else getattr(reading, change.field, None)
        if isinstance(value, int | float | timedelta):
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

    def _entries(self, change: Change, held: tuple[Any, ...], names: set[str]) -> tuple[Any, ...]:
        """Watch the entries that the verdict speaks of."""
        found = []
        for entry in held:
            if isinstance(entry, tuple):
                found.append(self._entries(change, entry, names))
            elif is_dataclass(entry) and (name := self._name(entry)) and (name in names or len(names) < MOST_ENTRIES):
                names.add(name)
                whole = replace(change, entry=name)
                self.facts[whole.what] = Fact(whole)
                self.seen.add(whole.what)
                found.append(self._record(entry, whole))
            else:
                found.append(entry)
        return tuple(found) if names else held

    def _name(self, entry: Any) -> str:
        """Return the name by which the verdict speaks of the entry; any by its kind."""
        found = ""
        for name, attribute in names_of(entry).items():
            words = f"{attribute} {name}" if attribute in _COUNTED else name
            if attribute == "kind" or words in self.words:
                found = name
        return found

    def _record(self, record: Any, change: Change) -> Any:
        """Return the record of a type that notes which of its numbers are looked at."""
        kind = type(record)
        body: dict[str, Any] = {"__slots__": ()}
        for each in fields(record):
            value = getattr(record, each.name)
            if isinstance(value, int | float | timedelta) and each.name not in NAMES:  # a name is no quantity
                # The first look moves the later one with it, and the later one moves alone: growth is a fact too.
                names = dict.fromkeys((each.name, each.name.removesuffix("_later")))
                of = [replace(change, **{"part" if change.entry else "field": name}) for name in names]
                before = self.facts.get(of[0].what)
                if before is None or (before.was is not None and number(before.was) < number(value)):
                    self.facts[of[0].what] = Fact(of[0], value)
                body[each.name] = _Noted(self.seen, tuple(fact.what for fact in of), vars(kind)[each.name])
        made: Any = object.__new__(type(kind.__name__, (kind,), body))
        for each in fields(record):
            vars(kind)[each.name].__set__(made, getattr(record, each.name))
        return made


class _Noted:
    """A field that notes that it is looked at."""

    __slots__ = ("_held", "_seen", "_what")

    def __init__(self, seen: set[str], what: tuple[str, ...], held: Any) -> None:
        self._seen, self._what, self._held = seen, what, held

    def __get__(self, record: Any, kind: type[Any] | None = None) -> Any:
        if record is None:
            return self
        self._seen.update(self._what)
        return self._held.__get__(record, kind)

    def __set__(self, record: Any, value: Any) -> None:
        raise AttributeError(self._what)


class _Asked(dict[Any, Any]):
    """A mapping that notes what is looked up in it."""

    def __init__(self, held: Mapping[Any, Any], watch: _Watch, change: Change) -> None:
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


def number(value: Number | timedelta) -> Number:
    """Return a value as a number; a time in seconds."""
    return value.total_seconds() if isinstance(value, timedelta) else value
