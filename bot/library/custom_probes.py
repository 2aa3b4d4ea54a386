"""Probes that a playbook defines in YAML: a read-only command, and fields found in its output."""

from __future__ import annotations

import json
import keyword
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NoReturn

from bot.domain.command import Command, Outputs, SampleTimes
from bot.domain.duration import duration_text, parse_duration
from bot.domain.errors import CannotRead
from bot.domain.json_form import to_json_types
from bot.domain.probe import CustomReading, Probe
from bot.domain.safe_text import one_line, redacted_line, safe
from bot.library.kinds import ValueKind
from bot.library.kleene import FUNCTIONS
from bot.library.read_only import writing_fault
from bot.library.shapes import FieldShape, ProbeShape

LONGEST_LIMIT = timedelta(seconds=10)
LARGEST_OUTPUT_BYTES = 256 * 1024
_LIMIT = timedelta(seconds=4)
_OUTPUT_BYTES = 64 * 1024
_LONGEST_LINE = 4096
_LONGEST_TEXT = 500
_MOST_LINES = 20_000  # times thirty fields: about a second of searching

_SIZE = re.compile(r"(\d{1,9})\s*(B|kB|KB|KiB|k|K)?\Z", re.ASCII)
_NUMBER = re.compile(r"[-+]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][-+]?\d{1,3})?\Z", re.ASCII)
_TRUTHS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_KINDS: Mapping[str, ValueKind] = {"number": ValueKind.NUMBER, "text": ValueKind.TEXT, "bool": ValueKind.TRUTH}

Field = float | str | bool
Complain = Callable[[str, str], None]  # the key in the probe's table, and the problem


@dataclass(frozen=True, slots=True)
class CustomProbe:
    """A probe, and the kinds of its reading's fields."""

    probe: Probe
    kinds: Mapping[str, ValueKind]


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds a field in an output, and its line; None if it is missing or has the wrong type."""

    name: str
    type: str
    pattern: Any = None  # a compiled RE2
    path: tuple[str, ...] = ()

    def in_lines(self, lines: list[str]) -> tuple[Field | None, str]:
        for line in lines:
            # A longer line is skipped: if it were cut, the pattern could match at the cut.
            if len(line.encode()) <= _LONGEST_LINE and (found := self.pattern.search(line)):
                text = found.group(1) if self.pattern.groups else found.group(0)
                return _converted(text, self.type), redacted_line(line, 400)
        return None, ""

    def in_json(self, document: Any) -> Field | None:
        for part in self.path:
            if isinstance(document, dict) and part in document:
                document = document[part]
            elif isinstance(document, list) and part.isascii() and part.isdigit() and int(part[:9]) < len(document):
                document = document[int(part[:9])]
            else:
                return None
        return _converted(document, self.type)


def make_probe(shape: ProbeShape, complain: Complain) -> CustomProbe:
    """Return the probe. Problems go to `complain`; after any the probe must not be used.

    Shape: a probe that runs twice has `x` from the first run, `x_later` from the second, and `x_rise`, the difference.
    """
    if keyword.iskeyword(shape.name) or shape.name in FUNCTIONS:
        complain("name", f'"{shape.name}" is a reserved word in conditions; choose another name')
    if fault := _command_fault(shape.command):
        complain("command", fault)
    twice = shape.look == "twice"
    command = Command(
        name=shape.name,
        argv=tuple(word.replace("\n", " ") for word in shape.command),
        looks=SampleTimes.TWICE if twice else SampleTimes.ONCE,
        lane="custom",
        alone=True,
        limit=_time_limit(shape, complain),
        output_limit_bytes=_output_limit(shape, complain),
    )
    finders = [_finder(name, field_shape, complain) for name, field_shape in shape.fields.items()]
    if len({field_shape.json is None for field_shape in shape.fields.values()}) > 1:
        complain("fields", "are by regex and by json; the output is either text or JSON")
    kinds = {name: _KINDS[field_shape.type] for name, field_shape in shape.fields.items()}
    if twice:
        later = {f"{name}_later": kind for name, kind in kinds.items()}
        later |= {f"{name}_rise": kind for name, kind in kinds.items() if kind is ValueKind.NUMBER}
        for name in kinds.keys() & later.keys():
            complain("fields", f"{name} is the name of another field in the second run; choose another name")
        kinds |= later
    parse = _Parser(shape.name, tuple(finder for finder in finders if finder is not None), twice)
    title = shape.title or " ".join(shape.command)[:60]
    definition = json.dumps(to_json_types(shape), sort_keys=True)
    return CustomProbe(Probe(shape.name, title, (command,), parse, definition=definition), kinds)


def _command_fault(command: list[str]) -> str | None:
    if not command[0].strip() or command[0].startswith("-") or "=" in command[0] or " " in command[0].strip():
        return f'"{one_line(command[0], 40)}" is not a program; write a list: [program, argument, …]'
    if any("\n" in word for word in command):
        return "contains a line break"
    return writing_fault(command)


def _time_limit(shape: ProbeShape, complain: Complain) -> timedelta:
    if shape.limit is None:
        return _LIMIT
    try:
        limit = parse_duration(shape.limit)
    except ValueError as error:
        complain("limit", f"is {one_line(str(shape.limit), 30)}; {error}")
        return _LIMIT
    if not timedelta(milliseconds=100) <= limit <= LONGEST_LIMIT:
        complain("limit", f'is {duration_text(limit)}; it should be from "100ms" to "{duration_text(LONGEST_LIMIT)}"')
    return limit


def _output_limit(shape: ProbeShape, complain: Complain) -> int:
    if shape.output_limit is None:
        return _OUTPUT_BYTES
    found = _SIZE.match(str(shape.output_limit))
    size = int(found.group(1)) * (1 if found.group(2) in (None, "B") else 1024) if found else 0
    if not 1 <= size <= LARGEST_OUTPUT_BYTES:
        said = one_line(str(shape.output_limit), 30)
        complain(
            "output_limit", f'is {said}; it should be a size like "64kB", at most "{LARGEST_OUTPUT_BYTES // 1024}kB"'
        )
        return _OUTPUT_BYTES
    return size


def _finder(name: str, shape: FieldShape, complain: Complain) -> _Finder | None:
    def refuse(says: str) -> None:
        complain(f"fields.{name}", says)

    if keyword.iskeyword(name):
        refuse(f'"{name}" is a reserved word in conditions; choose another name')
    if (shape.regex is None) == (shape.json is None):
        refuse("needs either regex or json, but not both")
        return None
    if shape.json is not None:
        path = tuple(shape.json.split("."))
        if not all(path):
            refuse(f'"{one_line(shape.json, 60)}" is not a path; write keys and list positions with dots between')
        return _Finder(name, shape.type, path=path)
    pattern = compiled(shape.regex or "", refuse)
    return None if pattern is None else _Finder(name, shape.type, pattern=pattern)


def compiled(regex: str, refuse: Callable[[str], None]) -> Any:
    """Return a user's regex as an RE2 pattern with one group at most, or None after telling `refuse` why not."""
    # There is no fallback: Python's re has no time limit, and a node could print text that makes it run forever.
    try:
        import re2  # loaded only where a playbook has a regex of its own
    except ImportError:
        refuse("needs google-re2, which is not installed here; a field with json does without it")
        return None

    options = re2.Options()
    options.log_errors = False  # reported as the playbook's error, not on stderr
    options.max_mem = 1 << 20
    try:
        pattern = re2.compile(regex, options)
    except re2.error as error:
        said = (
            error.args[0].decode("utf-8", "replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        )
        refuse(f"is not an RE2 expression: {one_line(said, 100)} (RE2 has no look-around and no back-references)")
        return None
    if pattern.groups > 1:
        refuse(f"has {pattern.groups} groups; a single group may capture the value: write the others as (?:…)")
    return pattern


@dataclass(frozen=True, slots=True)
class _Parser:
    """Parses the command's output into the reading."""

    name: str
    finders: tuple[_Finder, ...]
    twice: bool

    def __call__(self, outputs: Outputs) -> CustomReading:
        fields, source = self._parse_output(outputs.text(self.name))
        if not fields:
            raise CannotRead(f"{self.name}: none of its fields is in the output")
        if self.twice:
            later, source_later = self._parse_output(outputs.text(self.name, 1))
            fields |= {
                f"{name}_rise": rise for name in later if (rise := _rise(fields.get(name), later[name])) is not None
            }
            fields |= {f"{name}_later": value for name, value in later.items()}
            source += source_later
        return CustomReading(self.name, fields, source)

    def _parse_output(self, text: str) -> tuple[dict[str, Field], tuple[str, ...]]:
        fields: dict[str, Field] = {}
        source: dict[str, None] = {}
        lines = safe(text).split("\n")
        if len(lines) > _MOST_LINES:
            raise CannotRead(f"{self.name}: the output has more than {_MOST_LINES} lines")
        document = _json(self.name, text) if any(finder.path for finder in self.finders) else None
        for finder in self.finders:
            value, line = (finder.in_json(document), "") if finder.path else finder.in_lines(lines)
            if value is not None:
                fields[finder.name] = value
                source[line] = None
        return fields, tuple(line for line in source if line)


def _json(name: str, text: str) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise CannotRead(f"{name}: the output is not JSON ({one_line(str(error), 80)})") from None


def _rise(first: Field | None, later: Field) -> float | None:
    if isinstance(first, bool | str) or first is None or isinstance(later, bool | str):
        return None
    rise = later - first
    return rise if math.isfinite(rise) else None


def _converted(value: Any, wanted: str) -> Field | None:
    """The value converted to a field's type, None if that is not possible."""
    if wanted == "bool":
        return value if isinstance(value, bool) else _TRUTHS.get(str(value).strip().lower())
    if wanted == "text":
        if isinstance(value, bool):
            return "true" if value else "false"
        return redacted_line(str(value), _LONGEST_TEXT) if isinstance(value, str | int | float) else None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, str):
        if not _NUMBER.match(value.strip()):
            return None
        value = float(value) if set(".eE") & set(value) else int(value)
    number: float = value
    if isinstance(number, int):
        return number if abs(number) < 1 << 63 else None
    return number if math.isfinite(number) else None
