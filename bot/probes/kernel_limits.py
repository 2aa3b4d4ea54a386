"""Kernel limits: threads, open files, entries in the neighbour tables, TCP's memory.

Defined in: proc(5) (loadavg), Linux, Documentation/admin-guide/sysctl/{kernel,fs}.rst, cgroup-v2.rst (pids), and
net/core/neighbour.c (/proc/net/stat/*_cache: a row for each CPU, in hexadecimal);
Documentation/networking/ip-sysctl.rst (tcp_mem, tcp_max_orphans), net/ipv4/proc.c (sockstat).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from bot.domain.command import Command, Outputs, SampleTimes
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.probes.formats.sections import sections


@dataclass(frozen=True, slots=True)
class Limit:
    """How many of something exist, and how many may exist."""

    name: str
    used: int
    maximum: int
    lines: tuple[str, ...] = ()

    @property
    def used_percent(self) -> float:
        """The used share; 0 without a limit."""
        return 100 * self.used / self.maximum if self.maximum else 0.0


@dataclass(frozen=True, slots=True)
class TcpMemory:
    """What all TCP connections hold for data on its way, against the kernel's own limits. Units: pages.

    Shape: above `pressure` windows are shrunk, above `maximum` data is refused. `orphans` are connections that no
    process holds any more.
    """

    pages: int
    pressure: int
    maximum: int
    orphans: int = 0
    most_orphans: int | None = None
    lines: tuple[str, ...] = ()

    @property
    def used_percent(self) -> float:
        """The share of the maximum that is used."""
        return 100 * self.pages / self.maximum if self.maximum else 0.0


@dataclass(frozen=True, slots=True)
class KernelLimitsReading:
    """The limits, and how often a new neighbour found its table full, at both looks.

    Shape: `table_fulls` sums the tables of IPv4 and IPv6 over all CPUs since boot; None if there is no such count.
    `tcp` is of the newest look; None: unread.
    """

    probe: ClassVar[str] = "kernel_limits"

    limits: tuple[Limit, ...]
    table_fulls: int | None = None
    table_fulls_later: int | None = None
    source: tuple[str, ...] = ()
    tcp: TcpMemory | None = None

    @property
    def tcp_used_percent(self) -> float | None:
        """How much of TCP's memory is used, in percent of its maximum; None: unread."""
        return None if self.tcp is None else self.tcp.used_percent

    @property
    def used_percent(self) -> float:
        """The used share of the nearest limit."""
        return max((limit.used_percent for limit in self.limits), default=0.0)

    @property
    def table_fulls_lines(self) -> tuple[str, ...]:
        """The counts of the neighbour tables at both looks, as lines."""
        return (*self.source, f"table_fulls {self.table_fulls} then {self.table_fulls_later}")

    @property
    def table_fulls_rise(self) -> int:
        """How often a new neighbour found no room between the two looks."""
        if self.table_fulls is None or self.table_fulls_later is None:
            return 0
        return max(0, self.table_fulls_later - self.table_fulls)


_LOADAVG, _PID_MAX, _THREADS_MAX = "/proc/loadavg", "/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"
_FILE_NR = "/proc/sys/fs/file-nr"
_SOCKETS, _TCP_MEM = "/proc/net/sockstat", "/proc/sys/net/ipv4/tcp_mem"
_TCP_ORPHANS = "/proc/sys/net/ipv4/tcp_max_orphans"
_CACHES = ("/proc/net/stat/arp_cache", "/proc/net/stat/ndisc_cache")
# Where tasks are counted against a limit: cgroup v2, then v1, by the names of the kubelet's two drivers.
_GROUPS = tuple(
    f"{tree}/{group}"
    for tree in ("/sys/fs/cgroup", "/sys/fs/cgroup/pids")
    for group in ("kubepods.slice", "kubepods", "system.slice")
)
_PATHS = (
    *(_LOADAVG, _PID_MAX, _THREADS_MAX, _FILE_NR, *_CACHES, _SOCKETS, _TCP_MEM, _TCP_ORPHANS),
    *(f"{group}/pids.{name}" for group in _GROUPS for name in ("current", "max")),
)


def parse(outputs: Outputs) -> KernelLimitsReading:
    """Read the counts and their limits.

    Unread when: any of the kernel's three files on threads is missing or malformed.
    """
    files = sections(outputs.text("limits", 0))
    later = sections(outputs.text_or_none("limits", 1) or "")
    limits = [
        _thread_limit(files),
        *filter(None, (_file_limit(files), *(_task_limit(files, group) for group in _GROUPS))),
    ]
    fulls = _table_fulls(files)
    return KernelLimitsReading(
        tuple(limits),
        fulls,
        _table_fulls(later) if later else None,
        tuple(f"{path}: table_fulls" for path in _CACHES if path in files),
        _tcp_memory(later) or _tcp_memory(files),
    )


def _thread_limit(files: Mapping[str, tuple[str, ...]]) -> Limit:
    load = re.fullmatch(r"[0-9.]+ [0-9.]+ [0-9.]+ [0-9]{1,9}/([0-9]{1,9}) [0-9]{1,10}", _single_line(files, _LOADAVG))
    limits = [_single_line(files, path) for path in (_PID_MAX, _THREADS_MAX)]
    if load is None or not all(re.fullmatch(r"[0-9]{1,12}", limit) for limit in limits):
        raise CannotRead("kernel_limits: the number of threads and their limits could not be read")
    lines = (f"loadavg {load.group(0)}", f"pid_max {limits[0]}", f"threads-max {limits[1]}")
    return Limit("threads", int(load.group(1)), min(map(int, limits)), lines)


def _file_limit(files: Mapping[str, tuple[str, ...]]) -> Limit | None:
    found = re.fullmatch(r"([0-9]{1,19})\s+[0-9]{1,19}\s+([0-9]{1,20})", _single_line(files, _FILE_NR))
    return (
        Limit("open files", int(found.group(1)), int(found.group(2)), (f"file-nr {found.group(0)}",)) if found else None
    )


def _task_limit(files: Mapping[str, tuple[str, ...]], group: str) -> Limit | None:
    used, maximum = (_single_line(files, f"{group}/pids.{name}") for name in ("current", "max"))
    if not (re.fullmatch(r"[0-9]{1,12}", used) and re.fullmatch(r"[0-9]{1,12}", maximum)):
        return None  # missing, or `max`: no limit
    name = group.rpartition("/")[2]
    return Limit(f"tasks in {name}", int(used), int(maximum), (f"{name} pids.current {used} pids.max {maximum}",))


def _table_fulls(files: Mapping[str, tuple[str, ...]]) -> int | None:
    found = None
    for path in _CACHES:
        header, *rows = files.get(path) or ("",)  # a section that is cut right after its heading has no line
        names = header.split()
        if "table_fulls" not in names:
            continue
        at = names.index("table_fulls")
        cells = [row.split() for row in rows if row.strip()]
        if all(len(row) == len(names) and re.fullmatch(r"[0-9a-f]{1,16}", row[at]) for row in cells):
            found = (found or 0) + sum(int(row[at], 16) for row in cells)
    return found


def _tcp_memory(files: Mapping[str, tuple[str, ...]]) -> TcpMemory | None:
    said = next((line.strip() for line in files.get(_SOCKETS, ()) if line.startswith("TCP: ")), "")
    held = re.fullmatch(
        r"TCP: inuse [0-9]{1,10} orphan ([0-9]{1,10}) tw [0-9]{1,10} alloc [0-9]{1,10} mem ([0-9]{1,12})", said
    )
    limits = re.fullmatch(r"[0-9]{1,19}\s+([0-9]{1,19})\s+([0-9]{1,19})", _single_line(files, _TCP_MEM))
    if held is None or limits is None:
        return None
    most = _single_line(files, _TCP_ORPHANS)
    lines = (said, f"tcp_mem {' '.join(limits.group(0).split())}")
    if not re.fullmatch(r"[0-9]{1,12}", most):
        return TcpMemory(int(held[2]), int(limits[1]), int(limits[2]), int(held[1]), None, lines)
    return TcpMemory(
        int(held[2]), int(limits[1]), int(limits[2]), int(held[1]), int(most), (*lines, f"tcp_max_orphans {most}")
    )


def _single_line(files: Mapping[str, tuple[str, ...]], path: str) -> str:
    lines = files.get(path, ())
    return lines[0].strip() if len(lines) == 1 else ""


PROBE = Probe(
    name="kernel_limits",
    title="threads, open files, neighbours and TCP's memory against their limits",
    commands=(
        Command("limits", ("tail", "-v", "-n", "+1", *_PATHS), looks=SampleTimes.TWICE, output_limit_bytes=128 * 1024),
    ),
    parse=parse,
    reading=KernelLimitsReading,
)
