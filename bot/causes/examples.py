"""The examples in a cause's file: readings, and what the cause comes to. They are its tests.

Shape: `then` is critical, degraded, ruled_out, does_not_apply or undecided; `says` is part of the sentence, `lines` are
all lines of the node behind it, `sure` is the confidence, `worst` how grave it may still be. `log` holds lines,
`KIND 3m ago core=7: text`, all but the kind as needed; `9 x KIND 3m ago` are nine, ten seconds apart. A probe holds its
reading's fields, or `unread`; a field that it does not name is nothing, and times are `5m ago` or `in 5m`. The host is
up for days and the log is empty, unless an example says otherwise; other probes that it does not name were not asked.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.errors import PlaybookError
from bot.domain.nearest import did_you_mean
from bot.domain.probe import Snapshot, Unread
from bot.domain.problems import Problems
from bot.domain.verdict import Finding, RuledOut
from bot.library.document import read_document_file
from bot.probes import PROBES
from bot.probes.cpu import CpuReading
from bot.probes.formats.core_second import CoreSecond
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.host import HostReading
from bot.probes.kernel_log import KernelLogReading

_UP = timedelta(days=11.25)
_LINE = re.compile(
    r"(?:(?P<times>[0-9]{1,3}) x )?(?P<kind>[a-z0-9-]+)(?: (?P<ago>[0-9.]+[smhd]) ago)?"
    r"(?P<more>(?: \w+=\S+)*)(?:: (?P<text>.+))?"
)
_AGO = re.compile(r"(?P<ago>[0-9.]+[smhd]) ago|in (?P<ahead>[0-9.]+[smhd])")
_AT = datetime(2026, 11, 22, tzinfo=UTC)
_OF_A_LINE: Mapping[str, Callable[[str], Any]] = {"core": int, "queue": int, "napi_scheduled": "yes".__eq__}
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_SAID = ("then", "says", "lines", "sure", "worst", "thresholds")


def check_examples(path: Path, cause: Cause) -> int:
    """Evaluate a cause on each example of its file; return how many there are.

    Raises: PlaybookError, with file and line, when one does not come to what it says.
    """
    problems = Problems(str(path), PlaybookError)
    document = read_document_file(path, "the cause", problems)
    examples = document.data["examples"]
    for index, example in enumerate(examples):
        if fault := example_mismatch(cause, example):
            problems.add(document.line_of("examples", index), fault)
    problems.raise_if_any()
    return len(examples)


def example_mismatch(cause: Cause, example: Mapping[str, Any]) -> str:
    """Return what is wrong with an example, or with what the cause makes of it; empty if nothing is."""
    try:
        snapshot = snapshot_of(example)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return f"no such reading: {error}"
    changed = {name: Threshold(value, "") for name, value in example.get("thresholds", {}).items()}
    return difference(cause.evaluate(snapshot, Tuning({**cause.thresholds, **changed})), example)


def difference(found: CauseResult, example: Mapping[str, Any]) -> str:
    """Return in what a result is not what the example says; empty if in nothing."""
    if isinstance(found, Finding):
        came, says, lines = found.status.value, found.summary, [line for seen in found.evidence for line in seen.source]
        sure, worst = str(found.confidence), ""
    elif isinstance(found, RuledOut):
        came, says, lines, sure, worst = "ruled_out" if found.applies else "does_not_apply", found.because, [], "", ""
    else:
        came, says, lines, sure, worst = "undecided", found.says, [], "", found.worst.value
    for name, value in (("then", came), ("sure", sure), ("worst", worst)):
        if example.get(name, value) != value or "then" not in example:
            return f"{name} is {value}, not {example.get(name)}: {says}"
    wanted = example.get("says", ())
    for part in [wanted] if isinstance(wanted, str) else wanted:
        if part not in says:
            return f'it does not say "{part}", but: {says}'
    if example.get("lines", lines) != lines:
        return f"the lines are {lines}"
    return ""


def snapshot_of(example: Mapping[str, Any]) -> Snapshot:
    """Return the readings that an example names, with a host and a kernel's log.

    Raises: AttributeError, KeyError, TypeError or ValueError, when a reading cannot be so.
    """
    given = {name: said for name, said in example.items() if name not in _SAID}
    of_host = given.get("host", {})
    host = _reading("host", {"kernel": "", "boot_id": "b", "uptime": _UP, **({} if of_host == "unread" else of_host)})
    readings = {"host": host, "kernel_log": _kernel_log_reading(given.get("log", ()), host)}
    for name, said in given.items():
        if name not in PROBES and name != "log":
            raise ValueError(f"{name} is not a probe. {did_you_mean(name, sorted(PROBES))}")
        probe = "kernel_log" if name == "log" else name
        if said == "unread":
            readings[probe] = Unread(probe, "permission denied")
        elif name not in ("log", "host"):
            readings[name] = _cpu_reading(**said) if name == "cpu" else _reading(name, said)
    return Snapshot("example", _AT, timedelta(seconds=5), readings)


def _reading(probe: str, said: Mapping[str, Any]) -> Any:
    return _value_of_kind(PROBES[probe].reading, said)


def _value_of_kind(kind: Any, value: Any) -> Any:
    """The value as that type: tables as records, lists as tuples, `5m` as a span of time."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType) and value is not None:
        kind = next(each for each in typing.get_args(kind) if each is not type(None))
    if is_dataclass(kind) and isinstance(value, Mapping):
        hints = typing.get_type_hints(kind)
        if unknown := set(value).difference(hints):
            raise ValueError(f"{kind.__name__} has no {', '.join(sorted(unknown))}")  # type: ignore[union-attr]
        lacking = {each.name: _empty_value(hints[each.name]) for each in fields(kind) if _is_needed(each)}
        known = lacking | {name: _value_of_kind(hints[name], each) for name, each in value.items()}
        return kind(**known)  # type: ignore[operator]
    if typing.get_origin(kind) is tuple and isinstance(value, list):
        return tuple(_value_of_kind(typing.get_args(kind)[0], each) for each in value)
    if isinstance(value, Mapping):
        key, of = typing.get_args(kind)
        return {key(name): _value_of_kind(of, each) for name, each in value.items()}
    if kind is timedelta and isinstance(value, str):
        return _parsed_span(value)
    if kind is datetime and (ago := _AGO.fullmatch(value)):
        return _AT - _parsed_span(ago["ago"]) if ago["ago"] else _AT + _parsed_span(ago["ahead"])
    return value


def _is_needed(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _empty_value(kind: Any) -> Any:
    """What a field holds that an example does not name, and that has no default: nothing."""
    if kind in (timedelta, datetime):
        return timedelta(0) if kind is timedelta else _AT
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return None
    of = typing.get_origin(kind) or kind
    return {} if of is Mapping else of()


def _parsed_span(text: str) -> timedelta:
    return timedelta(**{_UNITS[text[-1]]: float(text[:-1])})


def _kernel_log_reading(lines: Iterable[str], host: Any) -> KernelLogReading:
    events = tuple(event for line in (() if lines == "unread" else lines) for event in _events(line, host))
    return KernelLogReading("journal", 1200, events, tuple(dict.fromkeys(event.kind for event in events)))


def _events(line: str, host: Any) -> Iterator[KernelEvent]:
    found = _LINE.fullmatch(line)
    if found is None:
        raise ValueError(f"{line}; write KIND 3m ago: text")
    more = dict(pair.split("=", 1) for pair in found["more"].split())
    named = {name: _OF_A_LINE.get(name, str)(value) for name, value in more.items()}
    newest = host.uptime - _parsed_span(found["ago"]) if found["ago"] and isinstance(host, HostReading) else None
    for before in reversed(range(int(found["times"] or 1))):
        at = None if newest is None else newest - timedelta(seconds=10 * before)
        yield KernelEvent(found["kind"], found["text"] or line, at, **named)


def _cpu_reading(
    every: Mapping[str, float] | None = None, some: Mapping[str, Any] | None = None, cores: int = 8, seconds: int = 0
) -> CpuReading:
    """Five seconds in which `every` core is alike, but for `some`, which differ for that many `seconds`."""
    rows = []
    for second in range(5):
        here = some or {} if not seconds or second < seconds else {}
        rows.append(tuple(_core_second(core, {**(every or {}), **here.get(str(core), {})}) for core in range(cores)))
    return CpuReading(tuple(rows), "mpstat json")


def _core_second(core: int, shares: Mapping[str, float]) -> CoreSecond:
    names = [name for name in CoreSecond.__dataclass_fields__ if name.endswith("_percent")]
    known: dict[str, Any] = {**dict.fromkeys(names, 0.0), "idle_percent": 100 - sum(shares.values()), **shares}
    return CoreSecond(core=core, **known)
