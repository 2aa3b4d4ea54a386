"""The bot's values as JSON values, made safe and without secrets; texts seen before are quick.

Shape: a dataclass becomes its fields and its simple properties, a duration seconds (as its name says), an instant ISO
8601, an enum its value, a set or tuple a list; figures keep three decimals.
"""

from __future__ import annotations

import enum
import functools
import operator
from collections.abc import Container, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime, timedelta
from typing import Any

from bot.domain.safe_text import Redactor, safe
from bot.domain.secret_forms import context
from bot.domain.secret_shown import are_words_of_command

# The node's own lines are in the evidence; the readings would repeat them, some hundred kB for each node.
_LEFT_OUT = frozenset({"raw", "lines", "source", "source_later"})
_AS_IT_IS = frozenset({int, bool, type(None)})
_LISTS = frozenset({tuple, list, set, frozenset})
_MOST_REMEMBERED = 16_384  # texts; a few MB


class JsonConverter:
    """Converts the values of many nodes; share a converter, because nodes say much the same.

    Shape: text without secrets and without anything to escape takes the quick way. Everything else goes the
    whole way: made plain, then redacted together with its context.
    """

    def __init__(self) -> None:
        self._redactor = Redactor()
        self._clean: set[str] = set()  # nothing to escape or redact, and no secret follows
        self._names: set[str] = set()  # the same, and the value under that name is no secret either
        self._slow = 0  # how many texts, mappings and lists did not go the quick way

    def convert(self, value: Any) -> Any:
        """Return the value as JSON values."""
        kind = type(value)
        if kind in _AS_IT_IS:  # the most frequent first: a node's readings hold some thousand values
            return value
        if kind is str:
            return value if value in self._clean or self._is_clean(value) else self._convert_slowly(value)
        if kind is float:
            return _rounded(value)
        if kind in _LISTS:
            return self._converted_list(value)
        if is_dataclass(kind):
            return self._record(value)
        if isinstance(value, Mapping):
            return self._mapping(value)
        return self._redactor.value(plain(value))  # an instant, a member of an enum

    def _mapping(self, value: Mapping[Any, Any]) -> Any:
        known = self._names.issuperset(value) or all(map(self._is_harmless_name, value))
        if not known or _tells_a_name(value):
            return self._convert_slowly(value)
        clean = self._clean
        converted: dict[str, Any] = {}
        for name, item in value.items():
            kind = type(item)
            converted[str(name)] = item if kind in _AS_IT_IS or (kind is str and item in clean) else self.convert(item)
        return converted

    def _converted_list(self, values: Any) -> Any:
        clean, slow = self._clean, self._slow
        converted: list[Any] = []
        for item in values:
            kind = type(item)
            if kind is str:
                if item not in clean and not self._is_clean(item):
                    return self._convert_slowly(values)  # a neighbour of a secret may belong to it
                converted.append(item)
            elif kind is float:
                converted.append(_rounded(item))
            else:
                converted.append(item if kind in _AS_IT_IS else self.convert(item))
        is_command = all(type(item) is str for item in converted) and are_words_of_command("\n".join(converted))
        # Rows are read column by column, the words of a command line by what it is.
        return self._convert_slowly(values) if is_command or slow != self._slow else converted

    def _record(self, value: Any) -> Any:
        kind: Any = type(value)
        parts = _parts_of_kind(kind)
        if not parts.is_harmless:
            return self._convert_slowly(value)
        clean = self._clean
        record: dict[str, Any] = {}
        for name, held in zip(parts.names, parts.values(value), strict=True):
            of = type(held)  # most are known texts and figures: they need no call
            if of in _AS_IT_IS or (of is str and held in clean):
                record[name] = held
            elif of is float:
                record[name] = _rounded(held)
            elif of in _LISTS:
                record[name] = self._converted_list(held) if held else []
            elif of is timedelta:
                record[f"{name}_seconds"] = self.convert(held)
            else:
                record[name] = self.convert(held)
        for name in parts.properties:
            held = getattr(value, name)
            if held is None or isinstance(held, int | float | str):
                record.setdefault(name, self.convert(held))
        return record

    def _convert_slowly(self, value: Any) -> Any:
        self._slow += 1
        return self._redactor.value(plain(value))

    def _is_clean(self, text: str) -> bool:
        if safe(text) != text or not self._redactor.is_harmless(text):
            return False
        _remember(self._clean, text)
        return True

    def _is_harmless_name(self, name: Any) -> bool:
        if type(name) is int:  # as cores are named
            return True
        if type(name) is not str or not self._is_clean(name) or context().told.search(name):
            return False
        _remember(self._names, name)
        return True


@functools.lru_cache(maxsize=8_192)
def _rounded(value: float) -> float:
    """Round to three decimals; cached, because figures repeat and a look-up is cheaper. No zero has a sign."""
    return round(value, 3) + 0.0


def plain(value: Any) -> Any:
    """Return a value as JSON values, made safe; nothing is redacted."""
    match value:
        case enum.Enum():
            return value.value
        case str():
            return safe(value)
        case timedelta():
            return round(value.total_seconds(), 3)
        case datetime():
            return value.isoformat()
        case float():
            return _rounded(value)
        case Mapping():
            return {safe(str(name)): plain(item) for name, item in value.items()}
        case tuple() | list() | frozenset() | set():
            return [plain(item) for item in value]
    return _plain_record(value) if is_dataclass(value) and not isinstance(value, type) else value


def _plain_record(value: Any) -> dict[str, Any]:
    kind: Any = type(value)
    parts = _parts_of_kind(kind)
    record: dict[str, Any] = {}
    for name, held in zip(parts.names, parts.values(value), strict=True):
        record[f"{name}_seconds" if isinstance(held, timedelta) else name] = plain(held)
    for name in parts.properties:
        held = getattr(value, name)
        if held is None or isinstance(held, int | float | str):
            record.setdefault(name, plain(held))
    return record


@dataclass(frozen=True, slots=True)
class _Parts:
    """The fields and properties of a dataclass that JSON shows.

    Shape: `is_harmless` where no name stands for a secret; `taker` gets several fields at once.
    """

    names: tuple[str, ...]
    properties: tuple[str, ...]
    is_harmless: bool
    taker: operator.attrgetter[Any] | None

    def values(self, record: Any) -> tuple[Any, ...]:
        """Return the fields' values, in the order of their names."""
        if self.taker is None:
            return tuple(getattr(record, name) for name in self.names)
        taken: tuple[Any, ...] = self.taker(record)
        return taken


@functools.cache
def _parts_of_kind(kind: Any) -> _Parts:
    names_kept = tuple(field.name for field in fields(kind) if field.name not in _LEFT_OUT)
    members = vars(kind).items()
    properties = tuple(
        name
        for name, part in members
        if isinstance(part, property) and not name.startswith("_") and _may_be_simple(part)
    )
    names = {*names_kept, *properties}
    harmless = not (any(map(context().told.search, names)) or _tells_a_name(names))
    return _Parts(names_kept, properties, harmless, operator.attrgetter(*names_kept) if len(names_kept) > 1 else None)


def _may_be_simple(part: property) -> bool:
    """Whether a property can have a text, a figure or nothing: others would be worked out for nothing."""
    told = str(getattr(part.fget, "__annotations__", {}).get("return", "None"))
    return "None" in told or not told.startswith(("tuple[", "frozenset[", "Mapping["))


def _tells_a_name(names: Container[str]) -> bool:
    """Whether a mapping with these names may say `name: db-password, value: …`, like a Kubernetes environment."""
    return "value" in names and ("name" in names or "key" in names)


def _remember(texts: set[str], text: str) -> None:
    if len(text) <= 256:
        if len(texts) >= _MOST_REMEMBERED:
            texts.clear()
        texts.add(text)
