"""The bot's values as JSON values, made safe; nothing is redacted here.

Shape: a dataclass becomes its fields and its simple properties, a duration seconds (as its name says), an instant ISO
8601, an enum its value, a set or tuple a list; figures keep three decimals.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from typing import Any

from bot.domain.safe_text import safe

# The node's own lines are in the evidence; the readings would repeat them, some hundred kB for each node.
_LEFT_OUT = frozenset({"raw", "lines", "source", "source_later"})
_AS_IT_IS = frozenset({int, bool, type(None)})
_LISTS = frozenset({tuple, list, set, frozenset})


def json_value(value: Any) -> Any:
    """Return a value as JSON values."""
    kind = type(value)
    if kind in _AS_IT_IS:  # the most frequent first: a node's readings hold some thousand values
        return value
    if kind is str:
        return safe(value)
    if kind is float:
        return _rounded(value)
    if kind in _LISTS:
        return [json_value(item) for item in value]
    if is_dataclass(kind):
        return _record(value)
    if isinstance(value, Mapping):
        return {safe(str(name)): json_value(item) for name, item in value.items()}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, timedelta):
        return _rounded(value.total_seconds())
    return value.isoformat() if isinstance(value, datetime) else value


def _rounded(value: float) -> float:
    """Round to three decimals. No zero has a sign."""
    return round(value, 3) + 0.0


def _record(value: Any) -> dict[str, Any]:
    kind: Any = type(value)
    names, properties = _shown_parts(kind)
    record: dict[str, Any] = {}
    for name in names:
        held = getattr(value, name)
        record[f"{name}_seconds" if type(held) is timedelta else name] = json_value(held)
    for name in properties:
        held = getattr(value, name)
        if held is None or isinstance(held, bool | int | float | str):
            record.setdefault(name, json_value(held))
    return record


@functools.cache
def _shown_parts(kind: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of a dataclass's fields and of its properties that JSON shows."""
    members = vars(kind).items()
    properties = (name for name, part in members if isinstance(part, property) and not name.startswith("_"))
    return tuple(field.name for field in fields(kind) if field.name not in _LEFT_OUT), tuple(properties)
