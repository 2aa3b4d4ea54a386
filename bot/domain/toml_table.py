"""A table of a user's TOML file, read key by key; a wrong value is noted with its line and read as absent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any, TypeVar

from bot.domain.duration import YEAR, parse_duration
from bot.domain.problems import Problems
from bot.domain.safe_text import one_line, safe
from bot.domain.toml_text import KeyPath, TomlText

_LONGEST_TEXT = 4096
T = TypeVar("T")


class TomlTable:
    """A table and its position; every method returns None if the key is absent or its value is wrong."""

    __slots__ = ("_data", "_path", "_problems", "_toml")

    def __init__(self, toml: TomlText, path: KeyPath, problems: Problems) -> None:
        data: Any = toml.data
        for part in path:
            data = data[part]
        self._toml = toml
        self._path = path
        self._problems = problems
        self._data: dict[str, Any] = data

    def __contains__(self, key: str) -> bool:
        return key in self._data

    @property
    def name(self) -> str:
        """The table's own name; empty for the whole file."""
        return self._dotted_key()

    @property
    def line(self) -> int:
        """The line where the table begins."""
        return self._toml.line_of(*self._path)

    def line_of(self, key: str) -> int:
        """The key's line, or else the table's."""
        return self._toml.line_of(*self._path, key)

    def wrong(self, key: str, says: str) -> None:
        """Note what is wrong with a key's value."""
        self._problems.add(self.line_of(key), f"{self._dotted_key(key)} {says}")

    def only(self, known: Iterable[str]) -> None:
        """Note every unknown key, with the nearest known keys."""
        names = tuple(known)
        for key in self._data:
            if key not in names:
                where = f"[{self._dotted_key()}]" if self._path else ""
                self._problems.unknown(self.line_of(key), "key", key, names, where)

    def is_text(self, key: str) -> bool:
        """True when the key's value is a text."""
        return isinstance(self._data.get(key), str)

    def text(self, key: str) -> str | None:
        """The key's text; it must not be empty, and must not hold control characters."""
        value = self._of_type(key, str, f'text: {one_line(key, 40)} = "…"')
        if value is None:
            return None
        if not value.strip():
            self.wrong(key, "is empty")
        elif len(value) > _LONGEST_TEXT or safe(value) != value or "\n" in value:
            self.wrong(key, "holds control characters, several lines or too much text")
        else:
            return value
        return None

    def integer(self, key: str, low: int, high: int) -> int | None:
        """The key's whole number, from `low` to `high`."""
        value = self._of_type(key, int, "a whole number without quotes")
        if value is None or low <= value <= high:
            return value
        self.wrong(key, f"is {one_line(str(value), 20)}; it should be from {low} to {high}")
        return None

    def flag(self, key: str) -> bool | None:
        """The key's true or false."""
        return self._of_type(key, bool, "true or false, without quotes")

    def duration(self, key: str, longest: timedelta = YEAR) -> timedelta | None:
        """The key's duration, text like `5s` or a bare number of seconds."""
        value = self._data.get(key)
        if value is None:
            return None
        try:
            return parse_duration(value, longest)
        except ValueError as error:
            self.wrong(key, f"is {_value_words(value)}; {error}")
            return None

    def texts(self, key: str) -> tuple[str, ...] | None:
        """The key's list of texts."""
        value = self._data.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.wrong(key, f'should be a list of texts: {one_line(key, 40)} = ["…"]')
            return None
        return tuple(value)

    def table(self, key: str) -> TomlTable | None:
        """The table of that name."""
        value = self._of_type(key, dict, f"a table: [{self._dotted_key(key)}]")
        return TomlTable(self._toml, (*self._path, key), self._problems) if value is not None else None

    def _of_type(self, key: str, kind: type[T], should_be: str) -> T | None:
        value = self._data.get(key)
        is_number = isinstance(value, int) and not isinstance(value, bool)  # a bool is an int to Python alone
        if value is None or (is_number if kind is int else isinstance(value, kind)):
            return value
        self.wrong(key, f"is {_type_words(value)}; it should be {should_be}")
        return None

    def array(self, key: str) -> Iterator[TomlTable]:
        """The tables of that name, each written under its own `[[…]]`."""
        value = self._data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.wrong(key, f"should be tables, each under its own [[{self._dotted_key(key)}]]")
            return
        for index in range(len(value)):
            yield TomlTable(self._toml, (*self._path, key, index), self._problems)

    @property
    def names(self) -> tuple[str, ...]:
        """The keys, in the file's order."""
        return tuple(self._data)

    def is_table(self, key: str) -> bool:
        """True when the key's value is a table itself."""
        return isinstance(self._data.get(key), dict)

    def value(self, key: str) -> object:
        """The key's value as TOML has it, whatever its type."""
        return self._data.get(key)

    def _dotted_key(self, *key: str) -> str:
        return ".".join(one_line(part, 60) for part in (*self._path, *key) if isinstance(part, str))


def _type_words(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return "text"
        case int() | float():
            return "a number"
        case dict():
            return "a table"
        case list():
            return "a list"
    return "a date or time"


def _value_words(value: object) -> str:
    return f'"{one_line(value, 30)}"' if isinstance(value, str) else _type_words(value)
