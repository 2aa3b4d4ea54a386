"""Whether the node works to win memory back: /proc/vmstat twice, /proc/meminfo, and pressure where the kernel has it.

Defined in: Linux, Documentation/filesystems/proc.rst, Documentation/accounting/psi.rst, mm/vmstat.c.
"""

from __future__ import annotations

import re

from bot.domain.command import Command, Looks, Outputs
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.readings.reclaim import Pressure, ReclaimReading
from bot.domain.safe_text import one_line
from bot.probes.formats.sections import sections

_VMSTAT, _MEMINFO, _PRESSURE = "/proc/vmstat", "/proc/meminfo", "/proc/pressure/"
_COUNTER = re.compile(r"(\w{1,80}) ([0-9]{1,20})", re.ASCII)
_ROW = re.compile(r"([\w()]{1,80}):\s+([0-9]{1,20})( kB)?\s*", re.ASCII)
_PERCENT = r"([0-9]{1,3}\.[0-9]{2})"
_LINE = re.compile(rf"(some|full) avg10={_PERCENT} avg60={_PERCENT} avg300={_PERCENT} total=([0-9]{{1,20}})")


def parse(outputs: Outputs) -> ReclaimReading:
    """Read the counters of both looks, and memory and pressure as the second look saw them.

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
        if row.group(3):  # the others count huge pages, not memory
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
    commands=(Command("memory", ("tail", "-v", "-n", "+1", *_FILES), looks=Looks.TWICE),),
    parse=parse,
)
