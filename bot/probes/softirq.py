"""Soft interrupts and the network backlog of every core: /proc/softirqs and /proc/net/softnet_stat, twice.

Defined in: Linux, Documentation/filesystems/proc.rst; net/core/net-procfs.c (softnet_seq_show, 32-bit hexadecimal).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from bot.domain.command import Command, Outputs, SampleTimes
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.safe_text import one_line
from bot.probes.formats.core_list import MOST_CORES, core_list
from bot.probes.formats.counter import counter_increase, counts
from bot.probes.formats.sections import sections


@dataclass(frozen=True, slots=True)
class SoftnetCore:
    """A core's row of /proc/net/softnet_stat as a rise over the window (32-bit counters, wrap allowed for)."""

    core: int
    processed: int
    dropped: int
    time_squeeze: int
    raw: str = ""


@dataclass(frozen=True, slots=True)
class SoftirqReading:
    """Rises inside the window. `rises` maps a softirq's name to core -> rise, for cores where it rose."""

    probe: ClassVar[str] = "softirq"

    rises: Mapping[str, Mapping[int, int]]
    softnet: tuple[SoftnetCore, ...] = ()
    seconds_between: float | None = None
    lines: Mapping[str, str] = field(default_factory=dict)

    @property
    def dropped_rise(self) -> int:
        """Packets dropped in the window because a core's backlog was full."""
        return sum(core.dropped for core in self.softnet)

    @property
    def time_squeeze_rise(self) -> int:
        """How often in the window packet work ran out of budget or time."""
        return sum(core.time_squeeze for core in self.softnet)

    @property
    def processed_rise(self) -> int:
        """Packets processed in the window."""
        return sum(core.processed for core in self.softnet)


_SOFTIRQS = "/proc/softirqs"
_SOFTNET = "/proc/net/softnet_stat"
_ONLINE = "/sys/devices/system/cpu/online"

_HEADER = re.compile(r"CPU([0-9]{1,5})", re.ASCII)
_NAME = re.compile(r"(\w{1,32}):", re.ASCII)
_ROW = re.compile(r"[0-9a-f]{8}(?: [0-9a-f]{8})*", re.ASCII)

# Columns of softnet_stat: processed, dropped and time_squeeze lead in every kernel; Linux 5.14 added the core at 12.
_CORE_AT = 12
_FEWEST_COLUMNS = 9

_Counts = dict[str, dict[int, int]]


def parse(outputs: Outputs) -> SoftirqReading:
    """Read both looks; a core that was online in only a single look is left out.

    Unread when: a row is malformed, a counter went back, or the rows of softnet_stat cannot be assigned to cores.
    """
    first, later = sections(outputs.text("softirqs", 0)), sections(outputs.text("softirqs", 1))
    before, _ = _softirq_counts(first)
    after, lines = _softirq_counts(later)
    rises: dict[str, dict[int, int]] = {}
    for name in after:
        cores = sorted(before.get(name, {}).keys() & after[name].keys())
        moved = [core for core in cores if before[name][core] != after[name][core]]
        rises[name] = {
            core: counter_increase(before[name][core], after[name][core], f"softirq: {name}") for core in moved
        }
    return SoftirqReading(rises, _softnet_rises(first, later), outputs.seconds_between("softirqs"), lines)


def _softirq_counts(files: dict[str, tuple[str, ...]]) -> tuple[_Counts, dict[str, str]]:
    rows = files.get(_SOFTIRQS, ())
    header = [_HEADER.fullmatch(word) for word in rows[0].split()] if rows else []
    cores = [int(found.group(1)) for found in header if found]
    if not cores or len(cores) != len(header) or len(set(cores)) != len(cores):
        raise CannotRead(f"softirq: {_SOFTIRQS} could not be read")
    table: _Counts = {}
    lines: dict[str, str] = {}
    for row in rows[1:]:
        words = row.split()
        if not words:
            continue
        name = _NAME.fullmatch(words[0])
        row_counts = counts(words[1:]) if len(words) == 1 + len(cores) else None
        if name is None or row_counts is None:
            raise CannotRead(f"softirq: a row of {_SOFTIRQS} is malformed ({one_line(row, 60)})")
        table[name.group(1)] = dict(zip(cores, row_counts, strict=True))
        lines[name.group(1)] = " ".join(words)
    if "NET_RX" not in table:
        raise CannotRead(f"softirq: {_SOFTIRQS} has no row NET_RX")
    return table, lines


def _softnet_rises(first: dict[str, tuple[str, ...]], later: dict[str, tuple[str, ...]]) -> tuple[SoftnetCore, ...]:
    before, after = _softnet(first), _softnet(later)
    cores = []
    for core in sorted(before.keys() & after.keys()):
        (then, _), (now, raw) = before[core], after[core]
        what = f"softirq: softnet_stat of core {core}"
        processed, dropped, squeezed = (counter_increase(then[at], now[at], what) for at in range(3))
        cores.append(SoftnetCore(core, processed, dropped, squeezed, raw))
    return tuple(cores)


def _softnet(files: dict[str, tuple[str, ...]]) -> dict[int, tuple[tuple[int, ...], str]]:
    rows = [row.split() for row in files.get(_SOFTNET, ()) if row.strip()]
    if not rows:
        raise CannotRead(f"softirq: {_SOFTNET} could not be read")
    width = len(rows[0])
    flat = [" ".join(row) for row in rows]
    if width < _FEWEST_COLUMNS or any(len(row) != width for row in rows) or not all(map(_ROW.fullmatch, flat)):
        raise CannotRead(f"softirq: the rows of {_SOFTNET} are malformed")
    if width > _CORE_AT:
        cores = tuple(int(row[_CORE_AT], 16) for row in rows)
    else:
        cores = core_list(" ".join(files.get(_ONLINE, ())))
    if len(cores) != len(rows) or len(set(cores)) != len(cores) or max(cores) >= MOST_CORES:
        raise CannotRead(f"softirq: the rows of {_SOFTNET} cannot be assigned to cores")
    return {
        core: (tuple([int(word, 16) for word in row[:3]]), raw)
        for core, row, raw in zip(cores, rows, flat, strict=True)
    }


PROBE = Probe(
    name="softirq",
    title="soft interrupts and network backlog",
    commands=(Command("softirqs", ("tail", "-v", "-n", "+1", _SOFTIRQS, _SOFTNET, _ONLINE), looks=SampleTimes.TWICE),),
    parse=parse,
    reading=SoftirqReading,
)
