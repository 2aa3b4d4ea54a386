"""Watching a weighing: readings that note which of their numbers, entries and fields are looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any, TypeAlias

from bot.domain.change import NAMES, Change, names_of
from bot.domain.probe import CustomReading, F, R, Snapshot, Unread
from bot.domain.verdict import Verdict
from bot.response.diagnosis.facts import Fact, number

Figure: TypeAlias = tuple[Any, ...]  # the function that works it out, and what it is asked
NEVER = 1e12  # seconds, of what never was or never ends: it stands for no number, and is not moved
MOST_ENTRIES = 12  # of one field: a verdict speaks of few
_COUNTED = frozenset({"core", "pid", "irq"})  # a bare number is an entry's name only after this word


def told(verdict: Verdict) -> frozenset[str]:
    """Return the words that the verdict speaks in, and `core 39` beside `39`."""
    said = " ".join([verdict.summary, *verdict.suspects, *(evidence.says for evidence in verdict.evidence)])
    words = [word.strip(".,:;()") for word in said.split()]
    return frozenset(words) | {f"{before} {word}" for before, word in pairwise(words)}


@dataclass(slots=True)
class Watch:
    """Notes which facts of readings are looked at."""

    words: frozenset[str]
    facts: dict[str, Fact] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)  # facts, fields as `probe.field`, and probes
    unwatched: set[str] = field(default_factory=set)  # probes of readings that note nothing
    by_figure: dict[Figure, frozenset[str]] = field(default_factory=dict)

    def noting(self, work_out: Callable[[], F]) -> tuple[F, frozenset[str]]:
        """Return what is worked out, and what was seen for it; within another it counts for both."""
        before = frozenset(self.seen)
        self.seen.clear()
        worked_out, seen = work_out(), frozenset(self.seen)
        self.seen |= before
        return worked_out, seen

    def snapshot(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with readings that are watched."""
        readings = {name: self.reading(name, reading) for name, reading in snapshot.readings.items()}
        return _Watched(snapshot.node, snapshot.taken_at, snapshot.window, readings, watch=self)

    def reading(self, probe: str, reading: Any) -> Any:
        if isinstance(reading, Unread | CustomReading) or not is_dataclass(reading) or isinstance(reading, type):
            self.unwatched.add(probe)
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
            elif not change.field:
                body[each.name] = _Noted(self.seen, (f"{change.probe}.{each.name}",), vars(kind)[each.name])
        for name, worked_out in [] if change.field else vars(kind).items():
            if isinstance(worked_out, property):
                body[name] = _Noted(self.seen, (f"{change.probe}.{name}",), worked_out)
        made: Any = object.__new__(type(kind.__name__, (kind,), body))
        for each in fields(record):
            vars(kind)[each.name].__set__(made, getattr(record, each.name))
        return made


@dataclass(frozen=True, slots=True)
class _Watched(Snapshot):
    """A snapshot that notes which probes are asked for, and what each figure hangs on."""

    watch: Watch = field(default_factory=lambda: Watch(frozenset()), compare=False, repr=False)

    def get(self, kind: type[R]) -> R | Unread:
        self.watch.seen.add(kind.probe)
        return Snapshot.get(self, kind)

    def once(self, work_out: Callable[..., F], *asked: float) -> F:
        figure, seen = self.watch.noting(lambda: work_out(self, *asked))
        self.watch.by_figure[work_out, *asked] = seen | self.watch.by_figure.get((work_out, *asked), frozenset())
        return figure


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

    def __init__(self, held: Mapping[Any, Any], watch: Watch, change: Change) -> None:
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
