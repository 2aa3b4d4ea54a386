"""The kinds of values in conditions, and the fields of readings that conditions can use."""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, TypeAlias


class ValueKind(enum.Enum):
    """The kinds of values in conditions. Each value may also be unknown."""

    NUMBER = "a number"
    TEXT = "text"
    TRUTH = "a yes or no"
    TEXTS = "a list of texts"
    NUMBERS = "a list of numbers"
    OTHER = "not a number, a text or a yes or no"  # what is there, and expressions cannot use


_KINDS: Mapping[frozenset[Any], ValueKind] = {
    frozenset({int}): ValueKind.NUMBER,
    frozenset({float}): ValueKind.NUMBER,
    frozenset({int, float}): ValueKind.NUMBER,
    frozenset({str}): ValueKind.TEXT,
    frozenset({bool}): ValueKind.TRUTH,
    frozenset({tuple[str, ...]}): ValueKind.TEXTS,
    frozenset({tuple[int, ...]}): ValueKind.NUMBERS,
}


@dataclass(frozen=True, slots=True)
class Record:
    """A part of a reading with fields of its own, such as a volume."""

    type: type[Any]

    @property
    def value(self) -> str:
        """What it is, in words."""
        return f"a {self.type.__name__}"


@dataclass(frozen=True, slots=True)
class Many:
    """Several parts of a reading, such as its volumes, or lines of the kernel's log."""

    of: Record

    @property
    def value(self) -> str:
        """What it is, in words."""
        return f"several of {self.of.type.__name__}"


Shape: TypeAlias = ValueKind | Record | Many  # what a value in a cause's file can be


def item_shape(shape: Shape) -> Shape | None:
    """Return the shape of one of several, None if it is not several."""
    match shape:
        case Many(of=record):
            return record
        case ValueKind.TEXTS:
            return ValueKind.TEXT
        case ValueKind.NUMBERS:
            return ValueKind.NUMBER
        case _:
            return None


def kind_of(annotation: Any) -> ValueKind:
    """Return the kind of a field with this annotation.

    Example: `int | None` is a number, `Mapping[str, int]` is something else.
    """
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        members = frozenset(typing.get_args(annotation)) - {type(None)}
    else:
        members = frozenset({annotation})
    return _KINDS.get(members, ValueKind.OTHER)


def _annotations(reading: type[Any]) -> Mapping[str, Any]:
    """The types of a reading's public fields and properties, by name."""
    hints = typing.get_type_hints(reading) if is_dataclass(reading) else {}
    found = {field.name: hints[field.name] for field in fields(reading)} if is_dataclass(reading) else {}
    for name in dir(reading):
        if isinstance(attribute := getattr(reading, name, None), property) and attribute.fget is not None:
            found[name] = typing.get_type_hints(attribute.fget).get("return")
    return {name: annotation for name, annotation in found.items() if not name.startswith("_")}


@cache
def kinds_of(reading: Any) -> Mapping[str, ValueKind]:
    """Return the kinds of a reading's public fields and properties, as conditions see them."""
    return {name: kind_of(annotation) for name, annotation in _annotations(reading).items()}


def fields_of(reading: type[Any]) -> Mapping[str, ValueKind]:
    """Return those that conditions can use."""
    return {name: kind for name, kind in kinds_of(reading).items() if kind is not ValueKind.OTHER}  # type: ignore[arg-type]  # a class is hashable


@cache
def shapes_of(reading: Any) -> Mapping[str, Shape]:
    """Return what a cause's file sees of a reading or a part of one: also spans and times, in seconds, and parts."""
    return {name: shape_of(annotation) for name, annotation in _annotations(reading).items()}


def shape_of(annotation: Any) -> Shape:
    """Return the shape of a value with this annotation, as causes' files see it."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        first, *others = [each for each in typing.get_args(annotation) if each is not type(None)]
        return shape_of(first) if not others else kind_of(annotation)
    if annotation in (timedelta, datetime):
        return ValueKind.NUMBER
    inside = typing.get_args(annotation) if typing.get_origin(annotation) is tuple else ()
    if len(inside) == 2 and inside[1] is Ellipsis and is_dataclass(inside[0]):
        return Many(Record(inside[0]))  # type: ignore[arg-type]  # a class, not an instance
    return Record(annotation) if is_dataclass(annotation) else kind_of(annotation)  # type: ignore[arg-type]
