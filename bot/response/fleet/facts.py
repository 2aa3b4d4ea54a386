"""Facts: what a node's readings say, in words that can be compared between peers.

A fact is named by its path, like `units.services[ecs.service].enabled`; a probe that was read is a fact under its own
name. So an entry that is missing is absent on a node whose probe was read, and unknown on any other node.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

from bot.domain.probe import CustomReading, Snapshot, Unread
from bot.domain.safe_text import one_line, redacted_text

READ = "read"  # the value of the fact named like its probe
ABSENT = "none"
MOST_FACTS = 3_000  # of a node
LONGEST = 80  # characters of a value or of an entry's name; longer text is prose, not a fact
# These differ on every node, or only say how it was read.
_OWN = frozenset(
    {"hostname", "boot_id", "machine_id", "uptime", "node_time_at", "pid", "tid", "id", "address", "mac", "serial"}
)
_PROSE = frozenset({"source", "raw", "lines", "line", "text", "says", "because", "counter", "walked", "stack", "label"})
_NAMES = ("name", "path", "image", "kind", "unit", "device", "mount", "target")  # fields that name an entry of a list
_BAND = re.compile(r"0|below 0|[\d,]+ to [\d,]+|none")
_ENDS = ("_later", "_usec", "_seconds", "_at", "_since_boot", "_ms", "_id")


def facts_of(snapshot: Snapshot) -> Mapping[str, str]:
    """Return the facts of everything that was read, by path.

    Shape: numbers become bands (`10 to 99`), so that healthy nodes have equal facts.
    """
    facts: dict[str, str] = {}
    for probe, reading in snapshot.readings.items():
        if isinstance(reading, Unread):
            continue
        facts[probe] = READ
        for where, value in _of_fields(probe, reading):
            if len(facts) >= MOST_FACTS:
                break
            facts[where] = value
    return facts


def band(number: float) -> str:
    """Return the power of ten within which a number lies.

    Example:
    >>> [band(number) for number in (0, 7, 68_440, -3)]
    ['0', '1 to 9', '10,000 to 99,999', 'below 0']
    """
    if number < 0:
        return "below 0"
    if number < 1:
        return "0"
    digits = len(str(int(number)))
    return f"{10 ** (digits - 1):,} to {10**digits - 1:,}"


def is_band(value: str) -> bool:
    """True for a result of `band`, and for an absent count.

    Example:
    >>> is_band(band(12)), is_band("enabled"), is_band(ABSENT)
    (True, False, True)
    """
    return _BAND.fullmatch(value) is not None


def _of_fields(where: str, record: Any) -> Iterator[tuple[str, str]]:
    if isinstance(record, CustomReading):
        for name, value in record.fields.items():
            yield from _of_value(f"{where}.{name}", value)
        return
    if not is_dataclass(record):
        return
    for field in fields(record):
        if field.name in _OWN | _PROSE or field.name.startswith("source") or field.name.endswith(_ENDS):
            continue
        yield from _of_value(f"{where}.{field.name}", getattr(record, field.name))


def _of_value(where: str, value: Any) -> Iterator[tuple[str, str]]:
    match value:
        case bool():
            yield where, "yes" if value else "no"
        case int() | float():
            yield where, band(value)
        case str():
            if value and len(value) <= LONGEST:
                yield where, one_line(redacted_text(value), LONGEST)
        case Mapping():
            for key, held in value.items():
                if isinstance(key, str) and len(key) <= LONGEST:
                    yield from _of_value(f"{where}[{one_line(key, LONGEST)}]", held)
        case tuple() | frozenset():
            for held in value:
                yield from _of_entry(where, held)
        case datetime() | None:
            return
        case _ if is_dataclass(value):
            yield from _of_fields(where, value)


def _of_entry(where: str, entry: Any) -> Iterator[tuple[str, str]]:
    """A named entry: that it is there, and its values."""
    name = entry if isinstance(entry, str) else _name_of(entry)
    if not name or len(name) > LONGEST or any(character in name for character in "\n[]"):
        return
    inner = f"{where}[{one_line(redacted_text(name), LONGEST)}]"
    yield inner, "there"
    if is_dataclass(entry):
        yield from _of_fields(inner, entry)


def _name_of(entry: Any) -> str:
    for name in _NAMES:
        held = getattr(entry, name, "")
        if isinstance(held, str) and held:
            return held
    return ""
