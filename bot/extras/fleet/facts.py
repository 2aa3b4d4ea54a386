"""Facts: what a node's readings say, in words and figures that can be compared between peers.

A fact is named by its path, like `units.services[ecs.service].enabled`; a probe that was read is a fact under its own
name. So an entry that is missing is absent on a node whose probe was read, and unknown on any other node.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeAlias

from bot.domain.probe import CustomReading, Snapshot, Unread
from bot.domain.safe_text import one_line, redacted_line
from bot.domain.secret_forms import MARK
from bot.domain.secret_names import speaks_of_secret
from bot.probes.formats.container_lists import Container
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.formats.kernel_speakers import wording
from bot.probes.kernel_log import KernelLogReading

Fact: TypeAlias = str | float  # a state in words, or a figure

READ = "read"  # the value of the fact named like its probe
PRESENT, ABSENT = "there", "none"  # of an entry, as workers and the JSON have it
WORDS = {PRESENT: "present", ABSENT: "absent"}  # as people read it
MOST_FACTS = 3_000  # of a node
LONGEST = 80  # characters of a value or of an entry's name; longer text is prose, not a fact
MOST_PACKED = 200_000  # bytes of a node's facts
_MOST_UNPACKED = 2_000_000
# These differ on every node, or only say how it was read.
_OWN = frozenset(
    {
        *(
            "hostname",
            "boot_id",
            "machine_id",
            "uptime",
            "node_time_at",
            "pid",
            "tid",
            "id",
            "address",
            "mac",
            "serial",
        ),
        *("seconds", "looked_twice", "left_out", "mounts_left_out", "rooms_left_out"),
    }
)
_PROSE = frozenset(
    {"source", "raw", "lines", "line", "text", "says", "because", "counter", "walked", "stack", "label", "status"}
)
# Fields that name an entry of a list.
_NAMES = ("name", "point", "path", "image", "kind", "unit", "device", "mount", "target", "bus")
_ROUND = str.maketrans("[]", "()")  # a path has its own
_LINES = ("lines", "line", "raw", "text", "source")  # fields that hold the node's own
_PART = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")  # of a path: an entry, or a field
_BAND = re.compile(r"0|below 0|[\d,]+ to [\d,]+|none")
_ENDS = ("_later", "_usec", "_seconds", "_at", "_since_boot", "_ms", "_id", "_between")
_RANDOM = "[b-df-hj-np-tv-xz24-9]"  # the letters of Kubernetes' random names
_OWN_NAME = re.compile(
    r"[0-9a-f]{8}(?:(?:[-_]|\\x2d)[0-9a-f]{4}){3}(?:[-_]|\\x2d)[0-9a-f]{12}"  # a UID, also in a unit's name
    r"|(?<![0-9a-z:])(?<!ami-)(?![0-9a-f]{40}(?![0-9a-z]))[0-9a-f]{12,}(?![0-9a-z])"  # an id; 40 digits are a commit
    r"|(?<![0-9a-z])(?:veth(?:wepl)?|cali|lxc|eni-?|gke|azv|tap|vol-?|i-)[0-9a-f]{6,}|(?<![0-9a-z])vnet[0-9]+"
    rf"|\A[a-z/][a-z0-9/_-]*-{_RANDOM}{{8,10}}(?:-{_RANDOM}{{5}})?\Z"  # of a ReplicaSet, and of its pod
    rf"|\A[a-z/][a-z0-9/_-]*-(?!https\Z){_RANDOM}{{5}}\Z"  # of a pod of a DaemonSet or a Job
    r"|\Arun-(?:u?[0-9]+|r[0-9a-f]+|p[0-9]+-i[0-9]+)\."  # systemd-run's
    r"|\A(?:session-c?|user-|user@|user-runtime-dir@|run-user-)[0-9]+\.|@[0-9]+-[0-9.:a-f]+-[0-9.:a-f]+\.service"
    r"|\Akworker/|/proc/[0-9]+|(?<![a-z])[pt]id[-= ]?[0-9]+|[a-z_][-.@/][0-9]{5,7}\Z",  # threads and processes
    re.IGNORECASE,
)


@lru_cache(2**14)  # a fleet's nodes have the same names
def is_own_name(name: str) -> bool:
    """True for what only one node calls so: names of pods, containers, sessions and transient units, ids and PIDs.

    Shape: what follows a colon is an image's tag or digest, and shared.

    Example:
    >>> own = ("coredns-5d78c9869d-x2b4z", "session-12.scope", "run-r1b2c3d4.scope", "veth1a2b3c4", "worker-31415")
    >>> shared = ("ecs.service", "user.slice", "run-lock.mount", "nvme0n1p1", "6.1.0-13-amd64", "ray/worker:5d78c9869d")
    >>> {is_own_name(name) for name in own}, {is_own_name(name) for name in shared}
    ({True}, {False})
    """
    return _OWN_NAME.search(name) is not None


def facts_of(snapshot: Snapshot) -> Mapping[str, str]:
    """Return the facts of everything that was read, by path.

    Shape: numbers become bands (`10 to 99`), so that healthy nodes have equal facts.
    """
    figures = figures_of(snapshot)
    return {where: fact if isinstance(fact, str) else power_of_ten(fact) for where, fact in figures.items()}


def figures_of(snapshot: Snapshot) -> Mapping[str, Fact]:
    """Return the same with numbers as they are."""
    facts: dict[str, Fact] = {}
    for probe, reading in snapshot.readings.items():
        if isinstance(reading, Unread):
            continue
        facts[probe] = READ
        for where, value in _facts_of_fields(probe, reading):
            if len(facts) >= MOST_FACTS:
                break
            facts.setdefault(where, value)  # of several containers of an image, the newest
    return facts


def packed(facts: Mapping[str, Fact]) -> bytes:
    """Return facts in few bytes, about five thousand, to be stored or sent."""
    return zlib.compress(json.dumps(dict(facts), separators=(",", ":")).encode(), 6)


def unpacked(said: bytes) -> Mapping[str, Fact]:
    """Return the facts in such bytes; what is no fact is left out.

    Raises: ValueError or zlib.error when they hold none.

    Example:
    >>> unpacked(packed({"cpu": "read", "cpu.cores": 8.0, "cpu.heat": math.nan}))
    {'cpu': 'read', 'cpu.cores': 8.0}
    """
    facts = json.loads(zlib.decompressobj().decompress(said, _MOST_UNPACKED))
    if not isinstance(facts, dict) or len(facts) > 2 * MOST_FACTS:  # with their rates
        raise ValueError("no facts, or far too many")
    return {
        _shared(name): _shared(value) if isinstance(value, str) else value
        for name, value in facts.items()
        if isinstance(value, str) or (isinstance(value, float) and math.isfinite(value))
    }


@lru_cache(2**14)
def _shared(text: str) -> str:
    """The text, safe, and one for all nodes that have it."""
    return one_line(text, 4 * LONGEST)


def fact_value(text: str) -> str:
    """Return a text as a fact's value: one that is written like the mark of presence or absence stands in quotes.

    Example:
    >>> fact_value("cgroup2"), fact_value("none")
    ('cgroup2', '“none”')
    """
    said = redacted_line(text, LONGEST)
    return f"“{said}”" if said in (PRESENT, ABSENT) else said


def power_of_ten(number: float) -> str:
    """Return the power of ten within which a number lies.

    Example:
    >>> [power_of_ten(number) for number in (0, 7, 68_440, -3)]
    ['0', '1 to 9', '10,000 to 99,999', 'below 0']
    """
    if number < 0:
        return "below 0"
    if number < 1:
        return "0"
    digits = len(str(int(number)))
    return f"{10 ** (digits - 1):,} to {10**digits - 1:,}"


def is_band(value: str) -> bool:
    """True for a result of `power_of_ten`, and for an absent count.

    Example:
    >>> is_band(power_of_ten(12)), is_band("enabled"), is_band(ABSENT)
    (True, False, True)
    """
    return _BAND.fullmatch(value) is not None


def _facts_of_fields(where: str, record: Any) -> Iterator[tuple[str, Fact]]:
    if isinstance(record, CustomReading):
        for name, value in record.fields.items():
            yield from _facts_of_value(f"{where}.{name}", value)
        return
    if not is_dataclass(record) or isinstance(record, KernelEvent):  # a line of the log says what its name says
        return
    if isinstance(record, KernelLogReading):  # how much of the log is left says nothing of the node
        yield from _facts_of_value(f"{where}.events", record.events)
        return
    for field in fields(record):
        if field.name in _OWN | _PROSE or field.name.startswith("source") or field.name.endswith(_ENDS):
            continue
        if field.name != "name" or not where.endswith("]"):  # an entry's name is in its path, or a container's own
            yield from _facts_of_value(f"{where}.{field.name}", getattr(record, field.name))


def _facts_of_value(where: str, value: Any) -> Iterator[tuple[str, Fact]]:
    match value:
        case bool():
            yield where, "yes" if value else "no"
        case int() | float():
            yield where, float(value)
        case str():
            if value and len(value) <= LONGEST and not is_own_name(value):
                yield where, MARK if _names_secret(where) else fact_value(value)
        case Mapping():
            for key, held in value.items():
                if inner := _entry_path(where, key):
                    yield from _facts_of_value(inner, held)
        case tuple() | frozenset():
            for held in value:
                if inner := _entry_path(where, held if isinstance(held, str) else _name_of(held)):
                    yield inner, PRESENT
                    yield from _facts_of_fields(inner, held)
        case datetime() | None:
            return
        case _:
            yield from _facts_of_fields(where, value)


def _entry_path(where: str, name: object) -> str:
    """The path of an entry of this name; empty for none that nodes could share."""
    if not isinstance(name, str) or not name or len(name) > LONGEST or re.search(r"[\n\[\]]", name):
        return ""
    if is_own_name(name):
        return ""
    said = MARK[1:-1] if _names_secret(where) else redacted_line(name, LONGEST).translate(_ROUND)
    return f"{where}[{said}]"


@lru_cache(2**14)
def _names_secret(where: str) -> bool:
    """True where the last name of a path says that what stands under it is a secret, whatever it is."""
    return speaks_of_secret(where.removesuffix("]").rpartition("[" if where.endswith("]") else ".")[2])


def lines_of(snapshot: Snapshot, fact: str) -> tuple[str, ...]:
    """Return the node's own lines behind a fact, three at most; empty where its reading has none, or it is absent."""
    held = snapshot.readings.get(fact.partition(".")[0])
    found: Any = ()
    around: Any = None
    for entry, name in _PART.findall(fact.partition(".")[2]):
        lines = getattr(held, "lines", None)
        if name:
            own, held = None, getattr(held, name, None)
        elif isinstance(held, Mapping):
            own, held = around.get(entry) if isinstance(around, Mapping) else None, held.get(entry)
        else:
            held = next((each for each in reversed(held or ()) if _name_of(each) == entry), None)
            own = next(filter(None, (getattr(held, line, None) for line in _LINES)), None)
        found, around = own or found, lines
    lines = (found,) if isinstance(found, str) else tuple(found)
    return tuple(redacted_line(str(line), 200) for line in lines[:3])


def _name_of(entry: Any) -> str:
    if isinstance(entry, KernelEvent):
        return f"{entry.kind} {wording(entry)}".translate(_ROUND)
    for name in ("image",) if isinstance(entry, Container) else _NAMES:
        held = getattr(entry, name, "")
        if isinstance(held, str) and held:
            return held
    return ""
