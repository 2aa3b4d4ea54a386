"""A change of a reading: what if the node had said something else?

Written `PROBE=unread`, `PROBE.FIELD=VALUE`, `PROBE.FIELD[ENTRY]=none` or `PROBE.FIELD[ENTRY].FIELD=VALUE`. Names are
as in the JSON's readings; an entry is identified by its key, or by its name, core, path, image or the like. A field
with two looks, NAME and NAME_later, changes in both, so that its growth stays the same.
"""

from __future__ import annotations

import functools
import math
import re
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import timedelta
from typing import Any, get_args, get_origin, get_type_hints

from bot.domain.command import Outputs
from bot.domain.errors import CannotRead, UsageError
from bot.domain.nearest import did_you_mean
from bot.domain.playbook import Playbook
from bot.domain.probe import CustomReading, Probe, Unread
from bot.domain.safe_text import one_line

UNREAD, NONE = "unread", "none"
NAMES = ("name", "core", "path", "image", "irq", "pid", "kind", "unit", "id")  # fields that identify an entry
_FORM = re.compile(r"(\w+)(?:\.(\w+)(?:\[([^\[\]\n]{1,300})\])?(?:\.(\w+))?)?=(.{0,300})", re.ASCII)


_LEFT_OUT = object()  # stands for an entry that is left out


@dataclass(frozen=True, slots=True)
class Change:
    """A change: the reading, its field, the entry in that field, the entry's field, and the new value.

    Example:
    >>> Change.parse("cgroups.dying=900")
    Change(probe='cgroups', field='dying', entry='', part='', value='900')
    >>> str(Change.parse("units.services[ecs.service].restarts=3"))
    'units.services[ecs.service].restarts=3'
    """

    probe: str
    field: str = ""
    entry: str = ""
    part: str = ""
    value: str = UNREAD

    def __str__(self) -> str:
        return f"{self.what}={self.value}"

    @property
    def what(self) -> str:
        """What it changes, as people write it."""
        entry = f"[{self.entry}]" if self.entry else ""
        return f"{self.probe}{'.' if self.field else ''}{self.field}{entry}{'.' if self.part else ''}{self.part}"

    @classmethod
    def parse(cls, text: str) -> Change:
        """Return the change written in a text.

        Raises: UsageError when it is not a change.
        """
        found = _FORM.fullmatch(text)
        change = cls(*(part or "" for part in found.groups())) if found else None
        if change is None or (change.part and not change.entry) or (not change.field and change.value != UNREAD):
            raise UsageError(f"{one_line(text, 80)!r} is not a change of a reading.", EXAMPLES)
        return change

    def applied(self, reading: Any) -> Any:
        """Return the reading with the change made.

        Raises: UsageError when the reading has no such field or entry, or the value does not fit.
        """
        if not self.field:
            return Unread(self.probe, f"left out by {self}")
        if isinstance(reading, CustomReading):
            return self._apply_to_custom(reading)
        if not self.entry:
            return self._with_value(reading, self.field)
        name = field_name(reading, self.field, self.what)
        held = getattr(reading, name)
        if isinstance(held, Mapping):
            return self._apply_in_mapping(reading, name, held)
        if not isinstance(held, tuple):
            raise UsageError(f"{self.probe}.{name} has no entries.", EXAMPLES)
        if not self.part and self.value != NONE:
            raise UsageError(f"{self.what} is a whole entry: {self.what}=none leaves it out.", EXAMPLES)
        looks = {each: getattr(reading, each, None) for each in (name, f"{name}_later")}
        changed = {each: self._changed_entries(was) for each, was in looks.items() if isinstance(was, tuple)}
        if all(changed[each] is looks[each] for each in changed):
            known = sorted(_entry_names(held))
            raise UsageError(f"{self.probe}.{name} has no entry {self.entry}.", did_you_mean(self.entry, known))
        return replace(reading, **changed)

    def _changed_entries(self, entries: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the entries with the change made; the same object if no entry has that name."""
        made = [
            (entry, self._changed_entries(entry) if isinstance(entry, tuple) else self._changed_entry(entry))
            for entry in entries
        ]
        if all(now is was for was, now in made):
            return entries
        return tuple(now for _, now in made if now is not _LEFT_OUT)

    def _changed_entry(self, entry: Any) -> Any:
        if self.entry not in names_of(entry):
            return entry
        return self._with_value(entry, self.part) if self.part else _LEFT_OUT

    def _with_value(self, record: Any, field: str) -> Any:
        name, kind = field_name(record, field, self.what), _kind_of(record)
        return with_field(record, name, field_value(self.value, field_type(kind, name), self.what))

    def _apply_in_mapping(self, reading: Any, name: str, held: Mapping[Any, Any]) -> Any:
        keys = {str(key): key for key in held}
        if self.entry not in keys:
            raise UsageError(f"{self.probe}.{name} has no entry {self.entry}.", did_you_mean(self.entry, sorted(keys)))
        key, later = keys[self.entry], getattr(reading, f"{name}_later", None)
        sides = {name: held} | ({f"{name}_later": later} if isinstance(later, Mapping) and key in later else {})
        if self.value == NONE and not self.part:
            return replace(reading, **{side: {k: v for k, v in was.items() if k != key} for side, was in sides.items()})
        if self.part:
            return replace(reading, **{name: {**held, key: self._with_value(held[key], self.part)}})
        new = field_value(self.value, type(held[key]), self.what)
        moved = {side: {**was, key: was[key] + new - held[key] if side != name else new} for side, was in sides.items()}
        return replace(reading, **moved)

    def _apply_to_custom(self, reading: CustomReading) -> CustomReading:
        if self.field not in reading.fields or self.entry:
            raise UsageError(f"{self.what} is not a field.", did_you_mean(self.field, sorted(reading.fields)))
        value = field_value(self.value, type(reading.fields[self.field]), self.what)
        return replace(reading, fields={**reading.fields, self.field: value})


@dataclass(frozen=True, slots=True)
class _ChangedParse:
    """A probe's parse, followed by the changes to its reading."""

    probe: Probe
    changes: tuple[Change, ...]

    def __call__(self, outputs: Outputs) -> Any:
        for change in self.changes:
            if not change.field:
                raise CannotRead(f"left out by {change}")
        try:
            reading = self.probe.parse(outputs)
        except CannotRead as error:
            changes = ", ".join(map(str, self.changes))
            raise UsageError(
                f"{changes} changes nothing: {self.probe.name} was not read ({error.sentence})."
            ) from error
        for change in self.changes:
            reading = change.applied(reading)
        return reading


def changed_playbook(playbook: Playbook, changes: Sequence[Change]) -> Playbook:
    """Return the playbook with changed probes; everything else in the diagnosis stays the same.

    Raises: UsageError when the playbook does not read the changed probe.
    """
    probes = {probe.name: probe for probe in playbook.probes}
    for change in changes:
        if change.probe not in probes:
            raise UsageError(f"{playbook.name} does not read {change.probe}.", did_you_mean(change.probe, list(probes)))
    return replace(playbook, probes=tuple(_changed_probe(probe, changes) for probe in playbook.probes))


def _changed_probe(probe: Probe, changes: Sequence[Change]) -> Probe:
    own = tuple(change for change in changes if change.probe == probe.name)
    return replace(probe, parse=_ChangedParse(probe, own)) if own else probe


def _entry_names(held: tuple[Any, ...]) -> set[str]:
    return {name for entry in held for name in (_entry_names(entry) if isinstance(entry, tuple) else names_of(entry))}


def names_of(entry: Any) -> dict[str, str]:
    """Return every name that identifies an entry, and the field that holds it."""
    held = ((name, getattr(entry, name)) for name in _naming_fields(_kind_of(entry)))
    return {str(value): name for name, value in held if value is not None and value != ""}


def _kind_of(record: Any) -> Any:
    return type(record)  # hashable, which its type does not say


@functools.cache
def _naming_fields(kind: Any) -> tuple[str, ...]:
    return tuple(name for name in reversed(NAMES) if hasattr(kind, name))


# --- Setting one field of a record, by the field's name and the value's text as people write them


EXAMPLES = "Write it like cgroups.dying=900, units.services[ecs.service].restarts=3, cpu.seconds[39]=none, cpu=unread."
_PLAIN = (bool, int, float, str, timedelta)


def field_name(record: Any, name: str, what: str) -> str:
    """Return the name of a record's field; the name in JSON, such as `uptime_seconds`, is accepted too.

    Raises: UsageError when there is no such field; `what` names it.
    """
    names = [field.name for field in fields(record)] if is_dataclass(record) else []
    if name in names:
        return name
    short = name.removesuffix("_seconds")
    if short in names and field_type(_kind_of(record), short) is timedelta:
        return short
    computed = [each for each in dir(type(record)) if isinstance(getattr(type(record), each), property)]
    if name not in computed:
        raise UsageError(f"{what} is not read: there is no {name}.", did_you_mean(name, sorted({*names, *computed})))
    return name


@functools.cache
def field_type(kind: Any, name: str) -> Any:
    """Return the type of a field or a property, without `None`."""
    held = getattr(kind, name, None)
    found = get_type_hints(held.fget)["return"] if isinstance(held, property) else get_type_hints(kind)[name]
    if get_origin(found) is types.UnionType:
        (found,) = (each for each in get_args(found) if each is not types.NoneType)
    return found


def field_value(text: str, kind: Any, what: str) -> Any:
    """Return the value of that type that a text means.

    Raises: UsageError when it means none; `what` names the field.
    """
    if kind not in _PLAIN:
        raise UsageError(f"{what} is not a number, a text or a yes or no, so it cannot be set.", EXAMPLES)
    try:
        if kind is bool:
            return {"true": True, "false": False}[text.lower()]
        if kind is int:
            return int(text)
        if kind is str:
            return text
        number = float(text)
        if not math.isfinite(number):
            raise ValueError(text)
        return timedelta(seconds=number) if kind is timedelta else number
    except (ValueError, KeyError, OverflowError) as error:
        wanted = {bool: "true or false", int: "a whole number", float: "a number", timedelta: "a number of seconds"}[
            kind
        ]
        raise UsageError(f"{what} cannot be {one_line(text, 40)!r}: it is {wanted}.") from error


def with_field(record: Any, name: str, value: Any) -> Any:
    """Return the record with the value set; its later look moves with it, and a computed value is simply replaced."""
    if isinstance(getattr(type(record), name, None), property):
        return _with_property(record, name, value)
    new: dict[str, Any] = {name: value}
    was, later = getattr(record, name), getattr(record, f"{name}_later", None)
    if type(was) in (int, float) and type(later) in (int, float):
        new[f"{name}_later"] = max(0, later + value - was)
    return replace(record, **new)


def _with_property(record: Any, name: str, value: Any) -> Any:
    kind = type(record)
    computed = {each: held for each, held in vars(kind).items() if isinstance(held, property)}
    made = type(kind.__name__, (kind,), {**computed, "__slots__": (), name: property(lambda _: value)})
    return made(**{each.name: getattr(record, each.name) for each in fields(record) if each.init})
