"""The JSON document, written the slow and simple way: what the fast way is compared with."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from typing import Any

from bot.domain.safe_text import safe

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
