"""Whether the node reclaims memory: /proc/vmstat twice, /proc/meminfo, and pressure (PSI) if the kernel has it.

Defined in: Linux, Documentation/filesystems/proc.rst, Documentation/accounting/psi.rst, mm/vmstat.c.
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
from bot.probes.formats.sections import sections

# Linux before 4.8 counts reclaim by zone. `pgscan_direct_throttle` is not a zone but a separate counter.
_ZONES = ("dma", "dma32", "normal", "high", "movable")


@dataclass(frozen=True, slots=True)
class Pressure:
    """A line of a PSI file. Units: percent of time over 10, 60 and 300 s; total in microseconds."""

    avg10: float
    avg60: float
    avg300: float
    total_usec: int
    raw: str = ""


@dataclass(frozen=True, slots=True)
class ReclaimReading:
    """Counters of /proc/vmstat at both looks, /proc/meminfo, and PSI if the kernel has it.

    Shape: `pressure` maps "memory some", "memory full", "io some", "io full", "cpu some" … to lines; empty if PSI is
    off. `lines` maps a counter's or row's name to its raw line (second look for counters).
    """

    probe: ClassVar[str] = "reclaim"

    vmstat: Mapping[str, int]
    vmstat_later: Mapping[str, int]
    meminfo_kib: Mapping[str, int]
    pressure: Mapping[str, Pressure] = field(default_factory=dict)
    seconds_between: float | None = None
    lines: Mapping[str, str] = field(default_factory=dict)

    def rise(self, *counters: str) -> int | None:
        """How far these counters rose in total inside the window; None when none of them exists in both looks."""
        rises = [
            max(0, self.vmstat_later[name] - self.vmstat[name])
            for name in counters
            if name in self.vmstat and name in self.vmstat_later
        ]
        return sum(rises) if rises else None

    def _rise_over_zones(self, counter: str) -> int | None:
        whole = self.rise(counter)
        return self.rise(*(f"{counter}_{zone}" for zone in _ZONES)) if whole is None else whole

    @property
    def allocstall_rise(self) -> int | None:
        """How often an allocation had to reclaim memory itself inside the window."""
        names = {name for name in self.vmstat if name == "allocstall" or name.startswith("allocstall_")}
        return self.rise(*sorted(names))

    @property
    def compact_fail_rise(self) -> int | None:
        """How often memory was compacted in vain inside the window."""
        return self.rise("compact_fail")

    @property
    def compact_stall_rise(self) -> int | None:
        """How often an allocation had to wait for memory to be compacted inside the window."""
        return self.rise("compact_stall")

    @property
    def pswpout_rise(self) -> int | None:
        """Pages that went to swap inside the window."""
        return self.rise("pswpout")

    @property
    def pswpin_rise(self) -> int | None:
        """Pages that came back from swap inside the window."""
        return self.rise("pswpin")

    @property
    def pgscan_direct_rise(self) -> int | None:
        """Pages scanned by direct reclaim inside the window."""
        return self._rise_over_zones("pgscan_direct")

    @property
    def pgscan_kswapd_rise(self) -> int | None:
        """Pages scanned by kswapd inside the window."""
        return self._rise_over_zones("pgscan_kswapd")

    @property
    def direct_lines(self) -> tuple[str, ...]:
        """The counters of direct reclaim that rose, that which rose most first, and compaction's."""
        risen = [name for name in self.lines if name.startswith(("pgscan_direct", "allocstall")) and self.rise(name)]
        risen.sort(key=lambda name: -(self.rise(name) or 0))
        return self._lines(*risen, *(["compact_stall"] if self.compact_stall_rise else []))[:5]

    @property
    def kswapd_lines(self) -> tuple[str, ...]:
        """The counters of pages scanned by kswapd that rose."""
        return self._lines(*(name for name in self.lines if name.startswith("pgscan_kswapd") and self.rise(name)))

    @property
    def swap_lines(self) -> tuple[str, ...]:
        """The counters of pages to and from swap."""
        return self._lines("pswpin", "pswpout")

    @property
    def memory_lines(self) -> tuple[str, ...]:
        """The rows of what memory there is, and of what is available."""
        return self._lines("MemTotal", "MemAvailable")

    @property
    def memory_full_line(self) -> str:
        """The line that tells how long everything waited for memory."""
        line = self.pressure.get("memory full")
        return "" if line is None else line.raw

    def _lines(self, *names: str) -> tuple[str, ...]:
        return tuple(self.lines[name] for name in names if name in self.lines)

    @property
    def mem_total_kib(self) -> int | None:
        """MemTotal."""
        return self.meminfo_kib.get("MemTotal")

    @property
    def mem_available_kib(self) -> int | None:
        """MemAvailable."""
        return self.meminfo_kib.get("MemAvailable")

    @property
    def mem_available_percent(self) -> float | None:
        """MemAvailable as a share of MemTotal, which it cannot be more than."""
        total, available = self.mem_total_kib, self.mem_available_kib
        return None if not total or available is None or available > total else 100 * available / total

    @property
    def kernel_held_kib(self) -> int | None:
        """Percpu plus SUnreclaim, which include the cost of dying cgroups."""
        held = [self.meminfo_kib[name] for name in ("Percpu", "SUnreclaim") if name in self.meminfo_kib]
        return sum(held) if held else None

    @property
    def kernel_held_percent(self) -> float | None:
        """Percpu and SUnreclaim as a share of MemTotal; in a container they may be its host's, and more than it has."""
        total, held = self.mem_total_kib, self.kernel_held_kib
        return None if not total or held is None else min(100.0, 100 * held / total)

    @property
    def memory_full_avg10(self) -> float | None:
        """Percent of the last 10 s in which everything waited for memory; None if PSI is off."""
        line = self.pressure.get("memory full")
        return None if line is None else line.avg10

    @property
    def io_full_avg10(self) -> float | None:
        """Percent of the last 10 s in which everything waited for I/O; None if PSI is off."""
        line = self.pressure.get("io full")
        return None if line is None else line.avg10


_VMSTAT, _MEMINFO, _PRESSURE = "/proc/vmstat", "/proc/meminfo", "/proc/pressure/"
_COUNTER = re.compile(r"(\w{1,80}) ([0-9]{1,20})", re.ASCII)
_ROW = re.compile(r"([\w()]{1,80}):\s+([0-9]{1,20})( kB)?\s*", re.ASCII)
_PERCENT = r"([0-9]{1,3}\.[0-9]{2})"
_LINE = re.compile(rf"(some|full) avg10={_PERCENT} avg60={_PERCENT} avg300={_PERCENT} total=([0-9]{{1,20}})")


def parse(outputs: Outputs) -> ReclaimReading:
    """Read the counters of both looks, and memory and pressure from the second look.

    Unread when: a counter or row is malformed, or MemTotal is missing. Without pressure files it is still a reading.
    """
    first, later = sections(outputs.text("memory", 0)), sections(outputs.text("memory", 1))
    before, _ = _counters(first)
    after, lines = _counters(later)
    kib: dict[str, int] = {}
    for line in later.get(_MEMINFO, ()):
        row = _ROW.fullmatch(line)
        if row is None:
            raise CannotRead(f"reclaim: a row of {_MEMINFO} is malformed ({one_line(line, 60)})")
        if row.group(3):  # rows without kB count huge pages, not memory
            kib[row.group(1)] = int(row.group(2))
            lines[row.group(1)] = line
    if "MemTotal" not in kib:
        raise CannotRead(f"reclaim: {_MEMINFO} has no MemTotal")
    pressure: dict[str, Pressure] = {}
    for path, rows in later.items():
        if path.startswith(_PRESSURE):
            for line in rows:
                kind, read = _pressure(line)
                pressure[f"{path.removeprefix(_PRESSURE)} {kind}"] = read
    return ReclaimReading(before, after, kib, pressure, outputs.seconds_between("memory"), lines)


def _counters(files: dict[str, tuple[str, ...]]) -> tuple[dict[str, int], dict[str, str]]:
    counters: dict[str, int] = {}
    lines: dict[str, str] = {}
    for line in files.get(_VMSTAT, ()):
        found = _COUNTER.fullmatch(line)
        if found is None:
            raise CannotRead(f"reclaim: a line of {_VMSTAT} is malformed ({one_line(line, 60)})")
        counters[found.group(1)] = int(found.group(2))
        lines[found.group(1)] = line
    if not counters:
        raise CannotRead(f"reclaim: {_VMSTAT} could not be read")
    return counters, lines


def _pressure(line: str) -> tuple[str, Pressure]:
    found = _LINE.fullmatch(line)
    if found is None or any(float(share) > 100 for share in found.groups()[1:4]):
        raise CannotRead(f"reclaim: a line of {_PRESSURE} is malformed ({one_line(line, 60)})")
    kind, avg10, avg60, avg300, total = found.groups()
    return kind, Pressure(float(avg10), float(avg60), float(avg300), int(total), line)


_FILES = (_VMSTAT, _MEMINFO, *(f"{_PRESSURE}{kind}" for kind in ("cpu", "io", "memory", "irq")))

PROBE = Probe(
    name="reclaim",
    title="memory, reclaim and pressure",
    commands=(Command("memory", ("tail", "-v", "-n", "+1", *_FILES), looks=SampleTimes.TWICE),),
    parse=parse,
    reading=ReclaimReading,
)
