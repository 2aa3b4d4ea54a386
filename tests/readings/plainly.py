"""The JSON document and its redaction, written the slow and simple way: what the fast way is compared with."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from typing import Any

from bot.domain.safe_text import redacted_text, safe, without_key
from bot.domain.secret_forms import MARK, context

LEFT_OUT = frozenset({"raw", "lines", "source", "source_later"})


def plainly(value: Any) -> Any:
    """Turn values into JSON's, one question after the other."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, timedelta):
        return round(value.total_seconds(), 3)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float):
        return round(value, 3)
    if is_dataclass(value) and not isinstance(value, type):
        return _record(value)
    if isinstance(value, Mapping):
        return {safe(str(key)): plainly(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list | frozenset | set):
        return [plainly(inner) for inner in value]
    return value


def _record(value: Any) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for field in fields(value):
        if field.name in LEFT_OUT:
            continue
        held = getattr(value, field.name)
        name = f"{field.name}_seconds" if isinstance(held, timedelta) else field.name
        record[name] = plainly(held)
    for name, member in vars(type(value)).items():
        if isinstance(member, property) and not name.startswith("_"):
            held = getattr(value, name)
            if held is None or isinstance(held, bool | int | float | str):
                record.setdefault(name, plainly(held))
    return record


def redacted(value: Any) -> Any:
    """Return a JSON value with every text in it redacted, each text searched anew."""
    if isinstance(value, str):
        return redacted_text(value)
    if isinstance(value, Mapping):
        told = next((value[key] for key in ("name", "key") if isinstance(value.get(key), str)), "")
        hidden = {"value"} if context().name.match(told) else set()  # as Kubernetes lists a container's environment
        return {redacted_text(name): _named(name, item, name in hidden) for name, item in value.items()}
    if isinstance(value, Sequence):
        return _listed(value)
    return value


def _named(name: str, value: Any, is_secret: bool) -> Any:
    if is_secret or context().name.match(name):
        if isinstance(value, str) and value:
            return MARK
        if isinstance(value, Sequence):
            return [MARK if isinstance(item, str) and item else redacted(item) for item in value]
    return redacted(value)


def _listed(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    inside = is_next = is_value = False
    for value in values:
        if isinstance(value, str):
            rest, inside = without_key(value, inside, above=found)
            before, rest = rest, context().value.cut(rest) if is_value else rest
            found.append(MARK if is_next and rest else redacted_text(rest))
            is_next = context().next.search(before[-200:]) is not None
            is_value = context().named.search(before[-200:]) is not None
        else:
            found.append(redacted(value))
    return found
