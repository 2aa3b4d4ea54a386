"""A user's TOML file, with the line of each key (TOML 1.0, https://toml.io/en/v1.0.0).

The standard library's reader has no line numbers. So where a fault needs one, the text, which is valid by then, is cut
into its statements, and each is read alone.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from bot.domain.problems import Problems, read_file

KeyPath: TypeAlias = tuple[str | int, ...]

_PLACE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")
_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!"")|""(?!"))*"{3,5}'
    r"|'''(?:[^']|'(?!'')|''(?!'))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*|[\[\]{}\n]",
    re.DOTALL,
)


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
                self._lines = _lines(self._text)
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
    return read_toml(read_file(path, what, most_bytes, problems), problems)


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


def _lines(text: str) -> dict[KeyPath, int]:
    """Return the line of every key, table and item of an array: that on which its header or its pair begins."""
    lines: dict[KeyPath, int] = {}
    tables: dict[KeyPath, int] = {}  # [[name]]: how many there were
    here: KeyPath = ()
    line = 1
    for statement in _statements(text):
        said = tomllib.loads(statement)
        if statement.lstrip().startswith("["):
            here = _note_header(said, line, lines, tables)
        else:
            _note_all(said, here, line, lines)
        line += statement.count("\n")
    return lines


def _statements(text: str) -> Iterator[str]:
    """Yield each header, pair, comment and blank line: what ends with a line, outside of strings and brackets."""
    begin = depth = 0
    for found in _TOKEN.finditer(text):
        token = found.group()
        depth += (token in ("[", "{")) - (token in ("]", "}"))
        if token == "\n" and not depth:
            yield text[begin : found.end()]
            begin = found.end()
    yield text[begin:]


def _note_header(said: Any, line: int, lines: dict[KeyPath, int], tables: dict[KeyPath, int]) -> KeyPath:
    """Note the tables of a header, and return the path of what follows it."""
    path: KeyPath = ()
    while said:
        ((name, said),) = said.items()
        path = (*path, name)
        lines.setdefault(path, line)
        if isinstance(said, list):
            tables[path], said = tables.get(path, -1) + 1, {}
        if path in tables:  # inside an array of tables a name means its latest
            path = (*path, tables[path])
            lines.setdefault(path, line)
    return path


def _note_all(said: Any, within: KeyPath, line: int, lines: dict[KeyPath, int]) -> None:
    items = said.items() if isinstance(said, dict) else enumerate(said) if isinstance(said, list) else ()
    for key, value in items:
        lines.setdefault((*within, key), line)
        _note_all(value, (*within, key), line, lines)
