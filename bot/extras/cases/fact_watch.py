"""Watching a result: readings that note which of their numbers, entries and fields are looked at."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any, TypeAlias

from bot.domain.change import NAMES, Change, names_of
from bot.domain.probe import CustomReading, F, R, Snapshot, Unread
from bot.domain.verdict import Verdict
from bot.extras.cases.facts import Fact, number

Figure: TypeAlias = tuple[Any, ...]  # the function that computes it, and its arguments
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


@dataclass(slots=True)
class Watch:
    """Notes which facts of readings are looked at."""

    words: frozenset[str]
    facts: dict[str, Fact] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)  # facts, probes, `probe.field`, and `probe.field.part` of entries
    unwatched: set[str] = field(default_factory=set)  # probes of readings that note nothing
    parted: set[str] = field(default_factory=set)  # fields whose entries are noted part by part
    by_figure: dict[Figure, set[str]] = field(default_factory=dict)
    all_seen: set[str] = field(default_factory=set)  # in the blocks that have ended
    _depth: int = 0
    _silent: dict[tuple[Any, str], dict[str, tuple[str, ...]]] = field(default_factory=dict)

    @contextmanager
    def noting(self) -> Iterator[set[str]]:
        """Yield the set of what is seen while the block runs; a nested block counts for both."""
        before, noted = frozenset(self.seen), set[str]()
        self.seen.clear()
        self._depth += 1
        yield noted
        self._depth -= 1
        noted |= self.seen
        if self._depth:
            self.seen |= before
        else:  # kept apart: by and by it is the most, and each block would copy it
            self.all_seen |= before | noted
            self.seen.clear()

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
                changed |= {each.name: watched} if (watched := self._entries(Change(probe, each.name), held)) else {}
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

    def _entries(self, change: Change, held: tuple[Any, ...]) -> tuple[Any, ...]:
        """Watch the entries that the verdict names, and all with the same names; nothing where there is none."""
        spoken: dict[int, str] = {}
        known = {id(entry): names_of(entry) for entry in _flat_records(held)}
        for entry, names in known.items():
            name = self._name(names)
            if name and (name in (spoken_names := set(spoken.values())) or len(spoken_names) < MOST_ENTRIES):
                spoken[entry] = name
        if not spoken:
            return ()
        self.parted.add(change.what)
        spoken_names = set(spoken.values())
        return self._watched_entries(
            held, change, spoken, {entry for entry, names in known.items() if spoken_names & names.keys()}
        )

    def _watched_entries(
        self, held: tuple[Any, ...], change: Change, spoken: Mapping[int, str], moved: Collection[int]
    ) -> tuple[Any, ...]:
        found = []
        for entry in held:
            if isinstance(entry, tuple):
                found.append(self._watched_entries(entry, change, spoken, moved))
            elif name := spoken.get(id(entry)):
                whole = replace(change, entry=name)
                self.facts[whole.what] = Fact(whole)
                self.seen.add(whole.what)
                found.append(self._record(entry, whole))
            else:  # it moves with the others, where it shares a name with them
                found.append(self._record(entry, replace(change, entry="?"), False) if id(entry) in moved else entry)
        return tuple(found)

    def _name(self, names: Mapping[str, str]) -> str:
        """Return the name that the verdict uses for an entry; any of its names by kind."""
        found = ""
        for name, attribute in names.items():
            words = f"{attribute} {name}" if attribute in _COUNTED else name
            if attribute == "kind" or words in self.words:
                found = name
        return found

    def _record(self, record: Any, change: Change, tells: bool = True) -> Any:
        """Return the record of a type that notes which of its fields are looked at; `tells`: its numbers are facts."""
        kind: Any = type(record)
        what = (
            self._note_numbers(record, change)
            if tells
            else self._fields_without_facts(kind, f"{change.probe}.{change.field}.")
        )
        made: Any = object.__new__(_noting(kind, not change.field))
        object.__setattr__(made, "_noting", _Noting(self.seen, what))  # past the freezing
        for _, held in _field_accessors(kind):
            held.__set__(made, held.__get__(record))
        return made

    def _note_numbers(self, record: Any, change: Change) -> dict[str, tuple[str, ...]]:
        """Keep a record's numbers as facts; return what is noted by the name of each of its fields."""
        kind: Any = type(record)
        at = f"{change.what}."
        where = f"{change.probe}.{change.field}." if change.field else at
        noting = dict[str, tuple[str, ...]]()
        if not change.field:
            noting |= {name: (where + name,) for name in _worked_out(kind)}
        for name, held in _field_accessors(kind):
            value = held.__get__(record)
            if isinstance(value, _NUMBERS) and name not in _NOT_MOVED:
                before = self.facts.get(at + name)
                if before is None or (before.was is not None and number(before.was) < number(value)):
                    of = replace(change, **{"part" if change.entry else "field": name})
                    self.facts[at + name] = Fact(of, value)
                # The first look moves the later look with it, and the later also moves alone: growth is a fact too.
                noting[name] = tuple(dict.fromkeys((where + name, at + name, at + name.removesuffix("_later"))))
            else:
                noting[name] = (where + name,)
        return noting

    def _fields_without_facts(self, kind: Any, where: str) -> dict[str, tuple[str, ...]]:
        if (kind, where) not in self._silent:
            self._silent[kind, where] = {name: (where + name,) for name, _ in _field_accessors(kind)}
        return self._silent[kind, where]


@dataclass(frozen=True, slots=True)
class _Noting:
    """Where a watched record notes what of it is looked at: `what` by the name of a field."""

    seen: set[str]
    what: Mapping[str, tuple[str, ...]]


@functools.cache
def _noting(kind: Any, whole: bool) -> type[Any]:
    """Return the type whose fields note that they are looked at, of a `whole` reading also what is computed.

    Shape: made once for all records of a kind, for it takes as long as to watch fifty.
    """
    body: dict[str, Any] = {name: _Noted(name, held) for name, held in _field_accessors(kind)}
    body |= {name: _Noted(name, vars(kind)[name]) for name in _worked_out(kind) if whole}
    return type(kind.__name__, (kind,), {"__slots__": ("_noting",), **body})


@functools.cache
def _field_accessors(kind: Any) -> tuple[tuple[str, Any], ...]:
    """The fields of a kind of record, each with what sets and gets it."""
    return tuple((each.name, vars(kind)[each.name]) for each in fields(kind))


@functools.cache
def _worked_out(kind: Any) -> tuple[str, ...]:
    return tuple(name for name, held in vars(kind).items() if isinstance(held, property))


@dataclass(frozen=True, slots=True)
class _Watched(Snapshot):
    """A snapshot that notes which probes are asked for, and what each figure depends on."""

    watch: Watch = field(default_factory=lambda: Watch(frozenset()), compare=False, repr=False)

    def get(self, kind: type[R]) -> R | Unread:
        self.watch.seen.add(kind.probe)
        return Snapshot.get(self, kind)

    def once(self, work_out: Callable[..., F], *asked: Hashable) -> F:
        with self.watch.noting() as seen:
            figure = work_out(self, *asked)
        self.watch.by_figure[work_out, *asked] = seen | self.watch.by_figure.get((work_out, *asked), set())
        return figure


def _flat_records(held: tuple[Any, ...]) -> Iterator[Any]:
    for entry in held:
        if isinstance(entry, tuple):
            yield from _flat_records(entry)
        elif is_dataclass(entry):
            yield entry


class _Noted:
    """A field that notes when it is looked at."""

    __slots__ = ("_held", "_name")

    def __init__(self, name: str, held: Any) -> None:
        self._name, self._held = name, held

    def __get__(self, record: Any, kind: type[Any] | None = None) -> Any:
        if record is None:
            return self
        noting: _Noting = record._noting
        noting.seen.update(noting.what[self._name])
        return self._held.__get__(record, kind)

    def __set__(self, record: Any, value: Any) -> None:
        raise AttributeError(self._name)


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
