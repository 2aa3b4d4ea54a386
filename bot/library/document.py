"""A YAML file as plain data, with the line of each value (YAML 1.2 core schema, https://yaml.org/spec/1.2.2/).

Only tables, lists, text, numbers and booleans are accepted. Tags, anchors, aliases and duplicate keys are refused. The
file is read event by event, so that deep nesting is harmless.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
)

from bot.domain.problems import Problems, read_file
from bot.domain.safe_text import safe

KeyPath: TypeAlias = tuple[str | int, ...]

LIMIT_BYTES = 256 * 1024
_DEEPEST = 16
_MOST_VALUES = 20_000
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's parser, if PyYAML was built with it

# A number with a leading zero is text: people write 0755 and 007 with other meanings.
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,29})\Z", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z", re.ASCII)
_WORDS: Mapping[str, Any] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}


@dataclass(frozen=True, slots=True)
class Document:
    """A file's data, and the line of each value."""

    data: Any
    lines: Mapping[KeyPath, int]

    def line_of(self, *path: str | int) -> int:
        """Return the line of a key or list item, or of its nearest parent."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_document_file(path: Path, what: str, problems: Problems) -> Document:
    """Read and parse a file; `what` names it where it cannot be read.

    Raises: as `read_document`; also when the file cannot be read, or is too large.
    """
    return read_document(read_file(path, what, LIMIT_BYTES, problems), problems)


def read_document(text: str, problems: Problems, loader: Any = _LOADER) -> Document:
    """Parse the text.

    Raises: the problems' error, with the line, when it is not YAML, or contains more than plain data.
    """
    try:
        return _Builder(problems).build(text, loader)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1 if isinstance(error.position, int) else 0
        problems.fail(line, "contains a character that YAML does not allow")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        says = f"not YAML: {error.problem or error.context}"
        if error.context_mark is not None and mark is not None and error.context_mark.line != mark.line:
            says += f" ({error.context} that begins in line {error.context_mark.line + 1})"
        if error.problem is not None and "cannot start any token" in error.problem:
            says += "; text with a special first character needs quotes, and YAML is not indented with tabs"
        if error.problem is not None and "mapping values are not allowed" in error.problem:
            says += "; text with a colon and a blank in it needs quotes"
        problems.fail(min(mark.line, text.count("\n")) + 1 if mark is not None else 0, says)
    except yaml.YAMLError as error:
        problems.fail(0, f"not YAML: {error}")


@dataclass(slots=True)
class _Open:
    """An open table or list. `key` is the table's key whose value comes next."""

    value: Any
    path: KeyPath
    key: str | None = None


class _Builder:
    """Builds plain data from the parser's events."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._lines: dict[KeyPath, int] = {}
        self._open: list[_Open] = []
        self._data: Any = None
        self._documents = 0

    def build(self, text: str, loader: Any) -> Document:
        for event in yaml.parse(text, Loader=loader):
            self._take(event)
            if len(self._lines) > _MOST_VALUES:
                self._fail(event, f"more than {_MOST_VALUES} values, which is too many for a playbook")
        return Document(self._data, self._lines)

    def _take(self, event: Any) -> None:
        if isinstance(event, DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._fail(event, "a second document begins here; write each playbook into its own file")
        elif isinstance(event, AliasEvent):
            self._fail(event, "aliases (*name) are not supported; write the value out")
        elif isinstance(event, CollectionEndEvent):
            self._open.pop()
        elif isinstance(event, ScalarEvent | MappingStartEvent | SequenceStartEvent):
            if event.anchor is not None:
                self._fail(event, "anchors (&name) are not supported; write the value out where it is needed")
            if event.tag is not None:
                self._fail(event, "tags (!name) are not supported; write plain text, numbers, lists and tables")
            self._value(event)

    def _value(self, event: Any) -> None:
        top = self._open[-1] if self._open else None
        if top is not None and isinstance(top.value, dict) and top.key is None:
            top.key = self._key(event, top)
            return
        value: Any = {} if isinstance(event, MappingStartEvent) else []
        if isinstance(event, ScalarEvent):
            value = self._scalar(event)
        path = self._add_value(event, top, value)
        if not isinstance(event, ScalarEvent):
            self._open.append(_Open(value, path))
            if len(self._open) > _DEEPEST:
                self._fail(event, "nested too deeply")

    def _key(self, event: Any, table: _Open) -> str:
        if not isinstance(event, ScalarEvent) or not event.value or "\n" in event.value:
            self._fail(event, "a key should be a single word")
        name = self._text(event)
        if name in table.value:
            first = self._lines[(*table.path, name)]
            self._fail(event, f'"{name[:60]}" is given twice; the first time in line {first}')
        self._lines[(*table.path, name)] = event.start_mark.line + 1
        return name

    def _add_value(self, event: Any, top: _Open | None, value: Any) -> KeyPath:
        if top is None:
            self._data = value
            self._lines[()] = event.start_mark.line + 1
            return ()
        if isinstance(top.value, list):
            path = (*top.path, len(top.value))
            top.value.append(value)
            self._lines[path] = event.start_mark.line + 1
            return path
        path = (*top.path, str(top.key))
        top.value[top.key] = value
        top.key = None
        return path

    def _scalar(self, event: Any) -> Any:
        text = self._text(event)
        if event.style:  # quoted or a block: always text
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.match(text):
            return int(text)
        if _FLOAT.match(text):
            number = float(text)
            if math.isinf(number):
                self._fail(event, f"{text[:30]} is too large a number")
            return number
        return text

    def _text(self, event: Any) -> str:
        text: str = event.value
        if safe(text) != text:
            self._fail(event, "the text contains control characters or marks that change its direction")
        return text

    def _fail(self, event: Any, says: str) -> None:
        self._problems.fail(event.start_mark.line + 1, says)
