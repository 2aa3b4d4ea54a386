"""Validates a document against the shape of a playbook, and reports problems by line."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from pydantic_core import ErrorDetails, SchemaValidator, ValidationError

from bot.domain.nearest import did_you_mean
from bot.domain.problems import Problems
from bot.domain.safe_text import one_line
from bot.library.document import Document, KeyPath
from bot.library.shapes import SLUG, CauseFile, PlaybookShape, shape_of_table, table

T = TypeVar("T")

_MESSAGES = {
    "list_type": "should be a list: [first, second]",
    "dict_type": "should be a table: keys with values",
    "dataclass_type": "should be a table: keys with values",
    "int_type": "should be a whole number",
    "float_type": "should be a number",
    "string_too_short": "is empty",
    "too_short": "is empty",
    "string_too_long": "is too long",
    "too_long": "is too long",
}
_NOT_EMPTY: Mapping[type[Any], str] = {
    PlaybookShape: "a playbook has at least a name, title, version, probes and causes",
    CauseFile: "zombie playbooks new NAME writes one to begin with",
}
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_BY_KEY = {"limit": 'should be a time like "4s"', "output_limit": 'should be a size like "64kB"'}


@functools.cache  # making it takes longer than using it
def _validator(kind: type[Any]) -> SchemaValidator:
    return SchemaValidator(table(kind))


def check(document: Document, problems: Problems, kind: type[T]) -> T:
    """Return a file's data as that shape: a playbook's, or a cause's.

    Raises: the problems' error, with a line for each problem.
    """
    if document.data is None:
        problems.fail(0, f"the file is empty; {_NOT_EMPTY[kind]}")
    try:
        checked: T = _validator(kind).validate_python(document.data)  # type: ignore[arg-type]  # a class is hashable
    except ValidationError as error:
        for fault in error.errors(include_url=False):
            _add_fault(fault, document, problems, kind)
        raise problems.error() from None
    return checked


def _add_fault(fault: ErrorDetails, document: Document, problems: Problems, kind: type[Any]) -> None:
    path = _existing_path(fault["loc"], document.data)
    last = fault["loc"][-1] if fault["loc"] else ""
    if fault["type"] == "missing":
        says = next(field.metadata["says"] for field in fields(shape_of_table(path, kind)) if field.name == last)
        problems.add(document.line_of(*path), f'{_path_text(path, kind)} lacks "{last}": {says[0].lower()}{says[1:]}')
    elif fault["type"] == "unexpected_keyword_argument" and last == "<<":
        problems.add(document.line_of(*path), "merge keys (<<) are not supported; write the keys out where they belong")
    elif fault["type"] == "unexpected_keyword_argument":
        known = [field.name for field in fields(shape_of_table(path[:-1], kind))]
        where = _path_text(path[:-1], kind) if path[:-1] else ""
        problems.unknown(document.line_of(*path), "key", str(last), known, where)
    else:
        problems.add(document.line_of(*path), f"{_path_text(path, kind)} {_sentence(fault, path)}")


def _sentence(fault: ErrorDetails, path: KeyPath) -> str:
    kind, value = fault["type"], fault["input"]
    if path and path[-1] in _BY_KEY:
        return _BY_KEY[str(path[-1])]
    if kind == "string_type":
        quoted = f'; put it in quotes: "{str(value).lower()}"' if isinstance(value, int | float) else ""
        return f"should be text{quoted}"
    if kind in ("float_type", "int_type"):
        return f"{_MESSAGES[kind]}{_number_hint(value)}"
    if kind == "list_type" and isinstance(value, str):
        words = value.split() if path and path[-1] == "command" else [value]
        return f"should be a list: [{one_line(', '.join(words), 60)}]"
    if kind == "dataclass_type" and "thresholds" in path:
        return f"should be a table: {{value: {one_line(str(value), 30)}, reason: …}}"
    if kind == "literal_error":
        known = [word.strip("'") for word in fault["ctx"]["expected"].replace(" or ", ", ").split(", ")]
        return f'is "{one_line(str(value), 40)}". {did_you_mean(str(value), known)}'
    if kind == "string_pattern_mismatch":
        between = "dashes" if fault["ctx"]["pattern"] == SLUG else "underscores"
        return (
            f'is "{one_line(str(value), 60)}"; it should be lower-case letters, digits and {between}, '
            "and start with a letter"
        )
    message = fault["msg"]
    return _MESSAGES.get(kind) or message.replace("Input should", "should", 1).replace("Value error, ", "", 1)


def _number_hint(value: Any) -> str:
    """What is right in place of `"90"`, `90%`, `30m` or `1.0`."""
    if isinstance(value, float) and value.is_integer():
        return f": {int(value)}"
    found = _NUMBER.match(value) if isinstance(value, str) else None
    if found is None:
        return ""
    if found.end() == len(value):
        return f", without quotes: {value}"
    return f' alone, not "{one_line(value, 30)}"; its name says the unit'


def _existing_path(loc: tuple[str | int, ...], data: Any) -> KeyPath:
    """The part of an error's location that exists in the data; the rest names branches and missing keys."""
    path: list[str | int] = []
    for part in loc:
        inside = part in data if isinstance(data, dict) else isinstance(data, list) and part in range(len(data))
        if inside:
            data = data[part]
            path.append(part)
    return tuple(path)


def _path_text(path: KeyPath, kind: type[Any]) -> str:
    """The path in text: `causes.io-stall.remedy[0]`."""
    words = "".join(f"[{part}]" if isinstance(part, int) else f".{one_line(part, 60)}" for part in path)
    return words.lstrip(".") or ("the cause" if kind is CauseFile else "the playbook")
