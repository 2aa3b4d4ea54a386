"""How a room declares its settings: a frozen dataclass whose fields are keys, each with its kind, default and help.

Shape: a `row` may come from a flag, the environment or zombie.toml; an `option` stands only in zombie.toml, in the
table named after the room. Each default is defined only once, at its field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, TypeVar

from bot.domain.allowance import Allowance
from bot.domain.duration import duration_text, parse_day_span, parse_duration
from bot.domain.listen_address import host_and_port
from bot.domain.nearest import did_you_mean
from bot.domain.safe_text import one_line
from bot.domain.toml_table import TomlTable

T = TypeVar("T")
C = TypeVar("C")
# Reads a key of a table; None if it is absent, or wrong and noted.
Reader: TypeAlias = Callable[[TomlTable, str], T | None]
# Makes a value of a text; raises ValueError with what is wrong with it.
Parser: TypeAlias = Callable[[str], T]
Collector: TypeAlias = Callable[[Iterable[T]], C]


@dataclass(frozen=True, slots=True)
class Kind:
    """How a value is written: in a table of zombie.toml, and in a flag or the environment.

    Shape: `from_text` takes a flag's value too, which may be of its type already; it raises ValueError with what the
    value should be. A path is as it is written, relative or with its ~ (`placed`).
    """

    from_toml: Reader[Any]
    from_text: Callable[[Any], Any] = str


@dataclass(frozen=True, slots=True)
class Key:
    """A setting.

    Shape: `toml` is its place in zombie.toml with dots between tables; if `flag`, `environment` or `toml` is empty, it
    cannot be given that way. One that is `only_in_file` stands in its room's table. `where_it_exists` is a file of the
    current folder that is the default if it exists. Without a name it is named after table and field. `like` is an
    example where the default says nothing, as TOML has it.
    """

    kind: Kind
    help: str
    default: Any = None
    flag: str = ""
    environment: str = ""
    toml: str = ""
    only_in_file: bool = False
    where_it_exists: str = ""
    secret: bool = False
    name: str = ""
    like: str = ""

    def of_field(self, table: str, name: str) -> Key:
        """Return it with the place and the name that a field of that table gives it."""
        dotted = f"{table}.{name}" if table else name
        place = dotted if self.only_in_file else self.toml
        return replace(self, toml=place, name=self.name or dotted.replace(".", "_"))

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


def row(kind: Kind, says: str, default: Any = None, **more: Any) -> Any:
    """A field that may come from a flag, the environment or zombie.toml."""
    key = Key(kind, says, default, **more)
    return field(default_factory=lambda: default, metadata={"key": key}, kw_only=True, repr=not key.secret)


def secret(says: str, environment: str) -> Any:
    """A field for a secret text, set only by the environment and never shown; empty if not set."""
    return row(TEXT, says, "", environment=environment, secret=True)


def option(read: Reader[T], default: T, says: str = "", like: str = "") -> T:
    """A field that is a key of the room's table; what it is for, and an example where the default says nothing."""
    made: T = row(Kind(read), says, default, only_in_file=True, like=like)
    return made


def keys_of(kind: type[Any], table: str = "") -> dict[str, Key]:
    """Return the keys of a dataclass of settings by their fields' names; it has the table of that name."""
    return {
        found.name: found.metadata["key"].of_field(table, found.name)
        for found in fields(kind)
        if "key" in found.metadata
    }


# --- readers, beside the methods of `TomlTable`


def parsed(parse: Parser[T]) -> Reader[T]:
    """Return a reader of a text."""

    def read(table: TomlTable, name: str) -> T | None:
        text = table.text(name)
        try:
            return parse(text) if text is not None else None
        except ValueError as no:
            table.wrong(name, str(no))
            return None

    return read


def each(parse: Parser[T], into: Collector[T, C]) -> Reader[C]:
    """Return a reader of several texts; every one that is wrong is noted."""

    def read(table: TomlTable, name: str) -> C | None:
        found: list[T] = []
        for text in table.texts(name) or ():
            try:
                found.append(parse(text))
            except ValueError as no:
                table.wrong(name, str(no))
        return into(found) if name in table else None

    return read


names: Reader[frozenset[str]] = each(str, frozenset)  # in any order
allowance = parsed(Allowance.parse)  # how many within what time, like "20/10m"
path = parsed(Path)  # as it is written
day_spans: Reader[tuple[tuple[int, int], ...]] = each(parse_day_span, tuple)  # in minutes, of "22:00-06:00"


def duration(table: TomlTable, name: str) -> timedelta | None:
    """A duration above zero."""
    found = table.duration(name)
    if found == timedelta(0):
        table.wrong(name, 'should be more than 0, like "15m"')
        return None
    return found


def count(low: int = 0, high: int = 1_000_000) -> Reader[int]:
    """Return a reader of a whole number between two bounds."""
    return lambda table, name: table.integer(name, low, high)


def one_of(*words: str) -> Reader[str]:
    """Return a reader that accepts any of these words."""

    def parse(word: str) -> str:
        if word not in words:
            raise ValueError(f'is "{word[:40]}". {did_you_mean(word, words)}')
        return word

    return parsed(parse)


def by_name(read: Reader[T]) -> Reader[Mapping[str, T]]:
    """Return a reader of a table whose keys are people's own, each with what `read` makes of it."""

    def read_each(table: TomlTable, name: str) -> Mapping[str, T] | None:
        inner = table.table(name)
        return None if inner is None else {key: each for key in inner.names if (each := read(inner, key)) is not None}

    return read_each


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f'holds "{one_line(text, 40)}", which is no regular expression: {error}') from None


patterns: Reader[tuple[re.Pattern[str], ...]] = each(_pattern, tuple)


def text_or_texts(table: TomlTable, name: str) -> tuple[str, ...] | None:
    """A text, or several."""
    if table.is_text(name):
        return (text,) if (text := table.text(name)) is not None else None
    return table.texts(name)


# --- kinds, of what may stand in a flag or the environment too


def placed(value: Any, folder: Path, home: Path | None) -> Any:
    """Return a value whose paths, if it has any, are as a person means them: relative to a folder or to their home."""
    match value:
        case Path():
            if home is not None and value.parts[:1] == ("~",):
                return home.joinpath(*value.parts[1:])
            return folder / value
        case tuple():
            return tuple(placed(each, folder, home) for each in value)
    return value


def _paths_of(written: Any) -> tuple[Path, ...]:
    parts = written.split(":") if isinstance(written, str) else written
    return tuple(Path(part) for part in parts if str(part).strip())


def _flag_of(text: str) -> bool:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if text.lower() not in words:
        raise ValueError("true or false")
    return words[text.lower()]


def _address_of(text: str) -> str:
    try:
        host_and_port(text)
    except ValueError:
        raise ValueError("an address to listen on, like 127.0.0.1:8080") from None
    return text


PATH, PATHS = Kind(path, Path), Kind(each(Path, tuple), _paths_of)
TEXT, FLAG, LISTEN = Kind(TomlTable.text), Kind(TomlTable.flag, _flag_of), Kind(TomlTable.text, _address_of)


def number(low: int = 1, high: int = 1_000_000) -> Kind:
    """Return the kind of a whole number between two bounds."""

    def from_text(written: Any) -> int:
        text = str(written)
        found = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
        if not low <= found <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return found

    return Kind(count(low, high), from_text)


def time_between(least: timedelta, most: timedelta) -> Kind:
    """Return the kind of a duration between two bounds; a text may be bare seconds."""
    bounds = f'from "{duration_text(least)}" to "{duration_text(most)}"'

    def from_toml(table: TomlTable, name: str) -> timedelta | None:
        found = table.duration(name)
        if found is not None and not least <= found <= most:
            table.wrong(name, f"should be {bounds}")
        return found

    def from_text(written: Any) -> timedelta:
        try:
            found = parse_duration(_bare_seconds(written))
        except ValueError:
            raise ValueError('a time like "30s" or "2m"') from None
        if not least <= found <= most:
            raise ValueError(bounds)
        return found

    return Kind(from_toml, from_text)


def _bare_seconds(written: Any) -> Any:
    text = str(written)
    return float(text) if text.replace(".", "", 1).isdigit() and text.isascii() and len(text) < 12 else written
