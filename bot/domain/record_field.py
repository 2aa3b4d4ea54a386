"""Setting one field of a record, by the field's name and the value's text as people write them."""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import timedelta
from typing import Any, get_args, get_origin, get_type_hints

from bot.domain.errors import UsageError
from bot.domain.nearest import did_you_mean
from bot.domain.safe_text import one_line

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
    if short in names and field_type(type(record), short) is timedelta:
        return short
    computed = [each for each in dir(type(record)) if isinstance(getattr(type(record), each), property)]
    if name not in computed:
        raise UsageError(f"{what} is not read: there is no {name}.", did_you_mean(name, sorted({*names, *computed})))
    return name


def field_type(kind: Any, name: str) -> Any:
    """Return the type of a field or a property, without `None`."""
    return _typed(kind, name)


@functools.cache
def _typed(kind: Any, name: str) -> Any:
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
        return _computed(record, name, value)
    new: dict[str, Any] = {name: value}
    was, later = getattr(record, name), getattr(record, f"{name}_later", None)
    if type(was) in (int, float) and type(later) in (int, float):
        new[f"{name}_later"] = max(0, later + value - was)
    return _copied(record, type(record), new)


def _computed(record: Any, name: str, value: Any) -> Any:
    kind = type(record)
    computed = {each: held for each, held in vars(kind).items() if isinstance(held, property)}
    made = type(kind.__name__, (kind,), {**computed, "__slots__": (), name: property(lambda _: value)})
    return _copied(record, made, {})


def _copied(record: Any, kind: type[Any], new: Mapping[str, Any]) -> Any:
    """Return a record of that kind with the fields of another, and these new ones.

    A log has hundreds of entries, and `replace` takes three times as long; no reading does anything when it is made.
    """
    made: Any = object.__new__(kind)
    own: Any = type(record)
    for name in _field_names(own):
        object.__setattr__(made, name, new[name] if name in new else getattr(record, name))
    return made


@functools.cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
