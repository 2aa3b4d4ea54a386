"""A user's TOML file, with the line of each key (TOML 1.0, https://toml.io/en/v1.0.0).

The standard library's reader has no line numbers. It refuses invalid TOML before the scan for lines begins, so the scan
is simple: it walks over headers, keys and values without checking them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from bot.domain.problems import Problems, decode_file

KeyPath: TypeAlias = tuple[str | int, ...]

_PLACE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!"")|""(?!"))*"{3,5}'
    r"|'''(?:[^']|'(?!'')|''(?!'))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\n]*")


class TomlText:
    """The data of a TOML file, and its lines; the file is scanned for lines only when a fault needs them."""

    __slots__ = ("_lines", "_text", "data")

    def __init__(self, data: Mapping[str, Any], text: str) -> None:
        self.data = data
        self._text = text
        self._lines: Mapping[KeyPath, int] | None = None

    @property
    def lines(self) -> Mapping[KeyPath, int]:
        """The line of every key, table and array item, by its path."""
        if self._lines is None:
            try:
                self._lines = _Scan(self._text.replace("\r\n", "\n")).lines()
            except RecursionError:  # nested so deeply that only the reader succeeds: no line numbers then
                self._lines = {}
        return self._lines

    def line_of(self, *path: str | int) -> int:
        """Return the line of that key, or of the nearest table or array around it; 0 if that is not known either."""
        while path:
            if path in self.lines:
                return self.lines[path]
            path = path[:-1]
        return 0


_DEEP_KEY = re.compile(r"""(?<![\w"'.-])(?:[\w"'-]++[ \t]*+\.[ \t]*+){100}""")


def read_toml_file(path: Path, what: str, most_bytes: int, problems: Problems) -> TomlText:
    """Return a file as it is parsed; `what` names it where it cannot be read.

    Raises: the problems' error, with the line where there is one, when it cannot be read, is too large or not TOML.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(most_bytes + 1)
    except OSError as no:
        problems.fail(0, f"{what} cannot be read: {no.strerror}")
    return read_toml(decode_file(raw, most_bytes, problems), problems)


def is_absent(path: Path) -> bool:
    """True if nothing is there; of a folder that may not be entered nobody knows."""
    try:
        path.stat()
    except OSError as no:
        return isinstance(no, FileNotFoundError | NotADirectoryError)
    return False


def read_toml(text: str, problems: Problems) -> TomlText:
    """Return the parsed text.

    Raises: the problems' error, with the line, when it is not TOML.
    """
    if deep := _DEEP_KEY.search(text):  # for which tomllib takes squared time
        problems.fail(text.count("\n", 0, deep.start()) + 1, "a key has more than a hundred parts")
    try:
        return TomlText(tomllib.loads(text), text)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        line = int(place.group(1)) if place and place.group(1) else text.count("\n") + 1
        problems.fail(line, f"not TOML: {_PLACE.sub('', str(error))}")
    except RecursionError:
        problems.fail(0, "arrays or tables are nested too deeply")
    except ValueError as error:  # a number with thousands of digits
        problems.fail(0, f"not TOML: {error}")


class _Scan:
    """Walks once over valid TOML and notes the line of every key, array item and header."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._lines: dict[KeyPath, int] = {}
        self._tables: dict[KeyPath, int] = {}  # [[name]]: how many there were

    def lines(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        self._skip(_BLANK)
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip(_BLANK)
        return self._lines

    def _skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        piece = found.group() if found else ""
        self._at += len(piece)
        self._line += piece.count("\n")
        return piece

    def _note_line(self, path: KeyPath) -> None:
        self._lines.setdefault(path, self._line)

    def _header(self) -> KeyPath:
        many = self._text.startswith("[[", self._at)
        self._at += 2 if many else 1
        parts = self._key()
        self._at += 2 if many else 1
        path: KeyPath = ()
        for index, part in enumerate(parts):
            path = (*path, part)
            self._note_line(path)
            last = index == len(parts) - 1
            if last and many:
                self._tables[path] = self._tables.get(path, -1) + 1
            if path in self._tables:  # inside an array of tables a name means its latest
                path = (*path, self._tables[path])
                self._note_line(path)
        return path

    def _pair(self, table: KeyPath) -> None:
        path = table
        for part in self._key():
            path = (*path, part)
            self._note_line(path)
        self._skip(_SPACE)
        self._at += 1  # =
        self._skip(_SPACE)
        self._value(path)

    def _key(self) -> list[str]:
        parts: list[str] = []
        while True:
            self._skip(_SPACE)
            if self._text[self._at] in "\"'":
                written = self._skip(_STRING)
                parts.append(str(next(iter(tomllib.loads(f"{written} = 0")))))
            else:
                parts.append(self._skip(_BARE))
            self._skip(_SPACE)
            if self._text[self._at] != ".":
                return parts
            self._at += 1

    def _value(self, path: KeyPath) -> None:
        first = self._text[self._at : self._at + 1]
        if first in ('"', "'"):
            self._skip(_STRING)
        elif first == "[":
            self._items(path)
        elif first == "{":
            self._inline(path)
        else:
            self._skip(_SCALAR)

    def _items(self, path: KeyPath) -> None:
        self._at += 1
        index = 0
        while True:
            self._skip(_BLANK)
            if self._text[self._at] == "]":
                break
            if self._text[self._at] == ",":
                self._at += 1
                continue
            self._note_line((*path, index))
            self._value((*path, index))
            index += 1
        self._at += 1

    def _inline(self, path: KeyPath) -> None:
        self._at += 1
        while True:
            self._skip(_BLANK)  # TOML 1.1 allows new lines here
            if self._text[self._at] == "}":
                break
            if self._text[self._at] == ",":
                self._at += 1
                continue
            self._pair(path)
        self._at += 1
