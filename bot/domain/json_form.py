"""Frozen values to JSON and back, by their fields' types, so that stored values can be read again unchanged.

Shape: a dataclass is an object of its fields, a duration `NAME_seconds`, an instant ISO 8601 UTC, an enum its value.
What a class names in `ALSO_SHOWN` is shown, too, and not read: a plan's digest. A snapshot is left out: it has hundreds
of kilobytes, and the evidence quotes the lines that matter.
"""

from __future__ import annotations

import enum
import functools
import json
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

MOST_TEXT = 20_000  # characters of a text; a longer text is cut, and says so
MOST_LINES = 1_000  # texts in a list; the rest is counted
MOST_ROOM = 8 * 1024 * 1024  # bytes of memory that a text of JSON may take
MOST_LEVELS = 50  # of lists and objects inside each other
LONGEST = timedelta(days=300_000)  # that can be added to any year up to the last
LAST_YEAR = 9_000

_TEXT = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)', re.DOTALL)  # linear, also where its end is missing

_LONE = re.compile(r"[\ud800-\udfff]")  # half of a letter, which no UTF-8 holds
_ASTRAL, _WIDE = re.compile(r"[\U00010000-\U0010ffff]|\\u[dD][89abAB]"), re.compile(r"[\u0100-\uffff]|\\u(?!00)")

Reader: TypeAlias = Callable[[Any, str], Any]  # takes a JSON value, and its position for errors

_LEFT_OUT = frozenset({"snapshot"})
_AS_IT_IS = frozenset({int, float, bool, type(None)})
T = TypeVar("T")


class NotOfForm(ValueError):
    """A JSON value does not fit its type; says where and what."""


def reject_duplicate_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, as a decoder's `object_pairs_hook`.

    Raises: NotOfForm when a key stands in it twice: readers differ on which of them counts.

    Example:
    >>> reject_duplicate_keys([("a", 1), ("b", 2)])
    {'a': 1, 'b': 2}
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NotOfForm("a key stands twice in an object")
    return found


def lines_of(text: str) -> Iterator[str]:
    """Yield the lines of a text as `split` does, which would hold all of them at once.

    Example:
    >>> list(lines_of("a\\n\\nb"))
    ['a', '', 'b']
    """
    at = 0
    while (end := text.find("\n", at)) >= 0:
        yield text[at:end]
        at = end + 1
    yield text[at:]


def count_json_values(text: str) -> int:
    """Return about how many values a JSON text has, whatever its texts hold; it takes no memory for them.

    Example:
    >>> count_json_values('{"a": [1, 2, "[,,,"]}')
    4
    """
    found = sum(map(text.count, "[{,"))
    for said in _TEXT.finditer(text):  # one by one: what `sub` returns is put together from a list of all between them
        found -= sum(text.count(sign, *said.span()) for sign in "[{,")
    return found


def has_more_values(text: str, most: int) -> bool:
    """Whether a JSON text has more than about so many values; for most texts a quick look is enough.

    Example:
    >>> has_more_values('{"a": [1, 2, "[,,,"]}', 4)
    False
    """
    return sum(map(text.count, "[{,")) > most and count_json_values(text) > most


def memory_bytes(text: str) -> int:
    """Return about how many bytes of memory a text of JSON takes; a single letter makes each of its letters wider.

    Example:
    >>> memory_bytes("abc"), memory_bytes("ab…"), memory_bytes(r"ab\\ud83d\\ude00")
    (3, 6, 56)
    """
    if text.isascii() and "\\u" not in text:
        return len(text)
    return len(text) * (4 if _ASTRAL.search(text) else 2 if _WIDE.search(text) else 1)


def decode_untrusted(text: str, most: int, most_room: int = MOST_ROOM) -> Any:
    """Return the JSON value in a text that anybody may have written.

    Raises: NotOfForm when it is not JSON, or holds what none of ours does: more than `most` values, a key twice, many
    levels, a number that no counter has, half a letter, more letters than there is room for.

    Example:
    >>> decode_untrusted('{"a": [1]}', 10)
    {'a': [1]}
    """
    if memory_bytes(text) > most_room:
        raise NotOfForm(f"it takes more than {most_room // 1024 // 1024} MiB of memory")
    if has_more_values(text, most):
        raise NotOfForm(f"it has more than {most:,} values")
    try:
        value = DECODER.decode(text)
    except RecursionError as error:
        raise NotOfForm("it is nested too deeply") from error
    check_texts(value, most_room)
    return value


def check_texts(value: Any, most: int, levels: int = MOST_LEVELS) -> None:
    """Raise NotOfForm when a JSON value has a text of more than `most` letters or half a letter, or many levels."""
    if isinstance(value, str):
        if len(value) > most:
            raise NotOfForm(f"it has a text of more than {most:,} letters")
        if not value.isascii() and _LONE.search(value):
            raise NotOfForm("it has half a letter, a lone surrogate")
    elif isinstance(value, dict | list):
        if not levels:
            raise NotOfForm("it is nested too deeply")
        for each in (*value, *value.values()) if isinstance(value, dict) else value:
            check_texts(each, most, levels - 1)


def whole_number(digits: str) -> int:
    """Return an integer of JSON, as a decoder's `parse_int`. Raises: NotOfForm when no counter of 64 bits holds it."""
    if len(digits) > 21 or abs(number := int(digits)) > 2**64:
        raise NotOfForm(f"{digits[:20]} is a larger number than any that is written")
    return number


def to_json_types(value: Any) -> Any:
    """Return a value as JSON types.

    Example:
    >>> to_json_types({"for": timedelta(seconds=90), "at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)})
    {'for': 90.0, 'at': '2026-01-02T03:04:05+00:00'}
    """
    kind = type(value)
    if kind in _AS_IT_IS:
        return value
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, str):
        return _shortened(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if is_dataclass(kind):
        record = {_key(field, value): to_json_types(getattr(value, field.name)) for field in _fields(kind)}
        for name in getattr(value, "ALSO_SHOWN", ()):
            record[name] = getattr(value, name)
        return record
    if isinstance(value, Mapping):
        return {str(key): to_json_types(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        more = len(value) - MOST_LINES
        if more > 0 and isinstance(value[0], str):
            return [*(to_json_types(item) for item in value[:MOST_LINES]), f"… and {more} more"]
        return [to_json_types(item) for item in value]
    return value


def read(kind: type[T], value: Any) -> T:
    """Return the value of that type made from a JSON value; unknown keys are ignored.

    Raises: NotOfForm when the JSON value does not fit.

    Example:
    >>> from bot.domain.verdict import RuledOut
    >>> read(RuledOut, {"cause": "steal", "because": "st is 0 %", "new": 1})
    RuledOut(cause='steal', because='st is 0 %', applies=True)
    """
    hint: Any = kind
    found: T = _reader(hint)(value, kind.__name__)
    return found


def canonical(value: Any) -> str:
    """Return plain values as JSON on one line: the same values are always the same text."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


@functools.cache
def _reader(hint: Any) -> Reader:
    """Return a reader of that type; cached by type, because ledger entries are read often."""
    origin = get_origin(hint)
    if hint is Any:
        return lambda value, where: value
    if origin in (Union, types.UnionType):
        (other,) = (get_arg for get_arg in get_args(hint) if get_arg is not types.NoneType)
        inner = _reader(other)
        return lambda value, where: None if value is None else inner(value, where)
    if origin is tuple:
        one_of = _reader(get_args(hint)[0])
        return lambda value, where: tuple(
            [one_of(item, f"{where}[{at}]") for at, item in enumerate(_checked_type(list, value, where))]
        )
    if origin is not None and issubclass(origin, Mapping):
        named = _reader(get_args(hint)[1])
        return lambda value, where: {
            key: named(item, f"{where}.{key}") for key, item in _checked_type(dict, value, where).items()
        }
    if is_dataclass(hint):
        return functools.partial(_record, hint)
    if hint in (str, int, float, bool):
        return functools.partial(_checked_type, hint)
    return functools.partial(_read_scalar, hint)


def _read_scalar(kind: Any, value: Any, where: str) -> Any:
    try:
        if issubclass(kind, enum.Enum):
            return kind(value)
        if kind is datetime:
            return _instant(_checked_type(str, value, where))
        if kind is timedelta:
            return _duration(_checked_type(float, value, where))
    except (ValueError, OverflowError) as error:
        raise NotOfForm(f"{where}: {error}") from error
    return _checked_type(kind, value, where)


def _record(kind: Any, value: Any, where: str) -> Any:
    record = _checked_type(dict, value, where)
    given = {}
    for name, key, must, plain_kind, reader in _record_fields(kind):
        if key in record:
            item = record[key]  # most are texts and numbers and need no reader
            given[name] = item if type(item) is plain_kind else reader(item, f"{where}.{key}")
        elif must:
            raise NotOfForm(f"{where} has no {key}")
    return kind(**given)


@functools.cache
def _record_fields(kind: Any) -> tuple[tuple[str, str, bool, type[Any] | None, Reader], ...]:
    """Return a record's fields: name, JSON key, whether it is required, its type if plain, and its reader."""
    hints = _hints(kind)
    return tuple(
        (
            field.name,
            f"{field.name}_seconds" if hints[field.name] is timedelta else field.name,
            field.default is MISSING and field.default_factory is MISSING,
            hints[field.name] if hints[field.name] in (str, int, float, bool) else None,
            _reader(hints[field.name]),
        )
        for field in _fields(kind)
    )


def _checked_type(kind: type[Any], value: Any, where: str) -> Any:
    wanted: Any = (int, float) if kind is float else kind
    if not isinstance(value, wanted) or (isinstance(value, bool) and kind is not bool):
        raise NotOfForm(f"{where} is {type(value).__name__}, not {kind.__name__}")
    return value


def _instant(written: str) -> datetime:
    instant = datetime.fromisoformat(written)
    if instant.tzinfo is None:
        raise ValueError(f"{written} has no time zone")
    if instant.year > LAST_YEAR:
        raise ValueError(f"{written} is after the year {LAST_YEAR:,}")
    return instant.astimezone(UTC)


def _duration(seconds: float) -> timedelta:
    duration = timedelta(seconds=seconds)
    if abs(duration) > LONGEST:
        raise ValueError(f"{seconds:g} s is longer than {LONGEST.days:,} days")
    return duration


def _key(field: Field[Any], record: Any) -> str:
    return f"{field.name}_seconds" if isinstance(getattr(record, field.name), timedelta) else field.name


def _fields(kind: type[Any]) -> tuple[Field[Any], ...]:
    return tuple(field for field in fields(kind) if field.name not in _LEFT_OUT)


@functools.cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)


def _shortened(text: str) -> str:
    more = len(text) - MOST_TEXT
    return text if more <= 0 else f"{text[:MOST_TEXT]}… and {more} more characters"


def _no_number(constant: str) -> NoReturn:
    raise NotOfForm(f"{constant} is not a number")


DECODER = json.JSONDecoder(parse_constant=_no_number, parse_int=whole_number, object_pairs_hook=reject_duplicate_keys)
