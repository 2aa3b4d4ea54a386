"""How a room declares its settings: a frozen dataclass whose fields are rows, or keys of its table.

Shape: a row may come from a flag, the environment or zombie.toml, and `zombie settings` explains it. A key stands only
in zombie.toml, in the table named after the room. Each default is defined only once, at its field.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any, ClassVar, TypeAlias, TypeVar

from bot.domain.allowance import Allowance
from bot.domain.duration import duration_text, parse_day_span
from bot.domain.nearest import did_you_mean
from bot.domain.safe_text import one_line
from bot.domain.toml_table import TomlTable

T = TypeVar("T")
# Reads a key of a table; None if it is absent, or wrong and noted.
Reader: TypeAlias = Callable[[TomlTable, str], T | None]


class SettingKind(enum.Enum):
    """The type of a row's value, in the words of its documentation."""

    PATH = "path"
    PATHS = "paths"  # separated by colons in the environment
    TEXT = "text"
    NUMBER = "number"
    DURATION = "duration"
    FLAG = "true or false"
    LISTEN = "an address to listen on"


@dataclass(frozen=True, slots=True)
class Setting:
    """A row.

    Shape: `key` is its place in zombie.toml with dots between tables; if `flag`, `environment` or `key` is empty, it
    cannot be given that way. `where_it_exists` is a file of the current folder that is the default if it exists. `low`
    and `high` bound a number, or a duration in seconds. Without a name it has its field's name. `like` is an example
    where there is no default, as TOML has it.
    """

    kind: SettingKind
    help: str
    default: Any = None
    flag: str = ""
    environment: str = ""
    key: str = ""
    where_it_exists: str = ""
    low: int = 1
    high: int = 1_000_000
    secret: bool = False
    name: str = ""
    like: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """A key: what it is for, its default, and an example as TOML has it where the default says nothing."""

    help: str
    default: Any
    like: str = ""

    @property
    def has_default(self) -> bool:
        """Whether there is a value where nothing is written."""
        return self.default not in (None, "")

    @property
    def example(self) -> str:
        """The default, or without one an example, as TOML has it."""
        return self.like or _toml_value(self.default)


def _toml_value(value: Any) -> str:
    match value:
        case bool() | int() | str():
            return json.dumps(value, ensure_ascii=False)
        case timedelta():
            return f'"{duration_text(value)}"'
        case frozenset() | tuple():
            return "[" + ", ".join(sorted(map(_toml_value, value))) + "]"
        case Mapping():
            return "{" + ", ".join(f" {key} = {_toml_value(each)} " for key, each in value.items()) + "}"
    return json.dumps(str(value), ensure_ascii=False)


class Several:
    """A dataclass of settings that stands for each of several tables, written [[name]]; `needed` are keys of each."""

    __slots__ = ()
    needed: ClassVar[tuple[str, ...]] = ()


def row(kind: SettingKind, says: str, default: Any = None, **more: Any) -> Any:
    """A field that is a row of the settings."""
    setting = Setting(kind, says, default, **more)
    return field(default=default, metadata={"row": setting}, kw_only=True, repr=not setting.secret)


def secret(says: str, environment: str) -> Any:
    """A field for a secret text, set only by the environment and never shown; empty if not set."""
    return row(SettingKind.TEXT, says, "", environment=environment, secret=True)


def option(read: Reader[T], default: T, says: str = "", like: str = "") -> T:
    """A field that is a key of the room's table; what it is for, and an example where the default says nothing."""
    told = {"read": read, "option": Option(says, default, like)}
    made: T = field(default_factory=lambda: default, metadata=told, kw_only=True)
    return made


def rows_of(kind: type[Any], prefix: str = "") -> Iterator[tuple[str, Setting]]:
    """Yield each row of a dataclass of settings, by its field's name."""
    for found in fields(kind):
        if "row" in found.metadata:
            setting: Setting = found.metadata["row"]
            yield found.name, setting if setting.name else replace(setting, name=prefix + found.name)


def key_readers(kind: type[Any]) -> Mapping[str, Reader[Any]]:
    """Return the reader of each key of a dataclass of settings, by name."""
    return {found.name: found.metadata["read"] for found in fields(kind) if "read" in found.metadata}


def options_of(kind: type[Any]) -> Mapping[str, Option]:
    """Return what each key of a dataclass of settings is for, by name."""
    return {found.name: found.metadata["option"] for found in fields(kind) if "option" in found.metadata}


# --- readers, beside the methods of `TomlTable`


def names(table: TomlTable, name: str) -> frozenset[str] | None:
    """Several texts in any order."""
    return frozenset(found) if (found := table.texts(name)) is not None else None


def duration(table: TomlTable, name: str) -> timedelta | None:
    """A duration above zero."""
    found = table.duration(name)
    if found == timedelta(0):
        table.wrong(name, 'should be more than 0, like "15m"')
        return None
    return found


def allowance(table: TomlTable, name: str) -> Allowance | None:
    """How many within what time, like "20/10m"."""
    text = table.text(name)
    try:
        return Allowance.parse(text) if text is not None else None
    except ValueError as no:
        table.wrong(name, str(no))
        return None


def count(low: int = 0, high: int = 1_000_000) -> Reader[int]:
    """Return a reader of a whole number between two bounds."""
    return lambda table, name: table.integer(name, low, high)


def one_of(*words: str) -> Reader[str]:
    """Return a reader that accepts any of these words."""

    def read(table: TomlTable, name: str) -> str | None:
        word = table.text(name)
        if word is not None and word not in words:
            table.wrong(name, f'is "{word[:40]}". {did_you_mean(word, words)}')
            return None
        return word

    return read


def texts_by_name(table: TomlTable, name: str) -> Mapping[str, str] | None:
    """A table of texts."""
    inner = table.table(name)
    return None if inner is None else {key: value for key in inner.names if (value := inner.text(key)) is not None}


def counts_by_name(table: TomlTable, name: str) -> Mapping[str, int] | None:
    """A table of whole numbers above zero."""
    inner = table.table(name)
    if inner is None:
        return None
    return {key: value for key in inner.names if (value := inner.integer(key, 1, 1_000_000)) is not None}


def patterns(table: TomlTable, name: str) -> tuple[re.Pattern[str], ...] | None:
    """Several regular expressions."""
    found: list[re.Pattern[str]] = []
    for pattern in table.texts(name) or ():
        try:
            found.append(re.compile(pattern))
        except re.error as error:
            table.wrong(name, f'holds "{one_line(pattern, 40)}", which is no regular expression: {error}')
    return tuple(found) if name in table else None


def text_or_texts(table: TomlTable, name: str) -> tuple[str, ...] | None:
    """A text, or several."""
    if table.is_text(name):
        return (text,) if (text := table.text(name)) is not None else None
    return table.texts(name)


def day_spans(table: TomlTable, name: str) -> tuple[tuple[int, int], ...] | None:
    """Parts of the day, like "22:00-06:00", in minutes."""
    spans: list[tuple[int, int]] = []
    for span in table.texts(name) or ():
        try:
            spans.append(parse_day_span(span))
        except ValueError as no:
            table.wrong(name, str(no))
    return tuple(spans) if name in table else None
