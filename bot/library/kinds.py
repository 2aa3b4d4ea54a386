"""The kinds of values in conditions, and the fields of readings that conditions can use."""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any


class Kind(enum.Enum):
    """The kinds of values in conditions. Each value may also be unknown."""

    NUMBER = "a number"
    TEXT = "text"
    TRUTH = "a yes or no"
    TEXTS = "a list of texts"
    NUMBERS = "a list of numbers"


_KINDS: Mapping[frozenset[Any], Kind] = {
    frozenset({int}): Kind.NUMBER,
    frozenset({float}): Kind.NUMBER,
    frozenset({int, float}): Kind.NUMBER,
    frozenset({str}): Kind.TEXT,
    frozenset({bool}): Kind.TRUTH,
    frozenset({tuple[str, ...]}): Kind.TEXTS,
    frozenset({tuple[int, ...]}): Kind.NUMBERS,
}


def kind_of(annotation: Any) -> Kind | None:
    """Return the kind of a field with this annotation, None if conditions cannot use it.

    Example: `int | None` is a number, `Mapping[str, int]` has no kind.
    """
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        members = frozenset(typing.get_args(annotation)) - {type(None)}
    else:
        members = frozenset({annotation})
    return _KINDS.get(members)


@cache
def fields_of(reading: type[Any]) -> Mapping[str, Kind]:
    """Return the public fields and properties of a reading's type that conditions can use."""
    found: dict[str, Kind] = {}
    if is_dataclass(reading):
        hints = typing.get_type_hints(reading)
        for field in fields(reading):
            if (kind := kind_of(hints[field.name])) is not None:
                found[field.name] = kind
    for name in dir(reading):
        attribute = getattr(reading, name, None)
        if isinstance(attribute, property) and attribute.fget is not None:
            kind = kind_of(typing.get_type_hints(attribute.fget).get("return"))
            if kind is not None:
                found[name] = kind
    return {name: kind for name, kind in found.items() if not name.startswith("_")}


def all_attributes(reading: type[Any]) -> frozenset[str]:
    """Return every public name of a reading's type, usable in conditions or not."""
    named = {field.name for field in fields(reading)} if is_dataclass(reading) else set()
    return frozenset(name for name in {*dir(reading), *named} if not name.startswith("_"))
