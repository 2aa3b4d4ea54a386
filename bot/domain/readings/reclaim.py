"""Memory: what is left, what the kernel holds, and whether the node works to win it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

# Linux before 4.8 counts reclaim by zone. `pgscan_direct_throttle` is no zone but a counter of its own.
_ZONES = ("dma", "dma32", "normal", "high", "movable")


@dataclass(frozen=True, slots=True)
class Pressure:
    """One line of a PSI file. Units: percent of time over 10, 60 and 300 s; total in microseconds."""

    avg10: float
    avg60: float
    avg300: float
    total_usec: int
    raw: str = ""


@dataclass(frozen=True, slots=True)
class ReclaimReading:
    """Counters of /proc/vmstat at both looks, /proc/meminfo, and PSI where the kernel has it.

    Shape: `pressure` maps "memory some", "memory full", "io some", "io full", "cpu some" … to lines; empty where PSI
    is off. `lines` maps a counter's or row's name to its raw line (second look for counters).
    """

    probe: ClassVar[str] = "reclaim"

    vmstat: Mapping[str, int]
    vmstat_later: Mapping[str, int]
    meminfo_kib: Mapping[str, int]
    pressure: Mapping[str, Pressure] = field(default_factory=dict)
    seconds_between: float | None = None
    lines: Mapping[str, str] = field(default_factory=dict)

    def rise(self, *counters: str) -> int | None:
        """How far these counters rose together inside the window; None when none of them exists in both looks."""
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
        """How often an allocation had to reclaim for itself inside the window."""
        names = {name for name in self.vmstat if name == "allocstall" or name.startswith("allocstall_")}
        return self.rise(*sorted(names))

    @property
    def pgscan_direct_rise(self) -> int | None:
        """Pages scanned by direct reclaim inside the window."""
        return self._rise_over_zones("pgscan_direct")

    @property
    def pgscan_kswapd_rise(self) -> int | None:
        """Pages scanned by kswapd inside the window."""
        return self._rise_over_zones("pgscan_kswapd")

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
        """MemAvailable as a share of MemTotal."""
        total, available = self.mem_total_kib, self.mem_available_kib
        return None if not total or available is None else 100 * available / total

    @property
    def kernel_held_kib(self) -> int | None:
        """Percpu and SUnreclaim together; what dying cgroups cost is in there."""
        held = [self.meminfo_kib[name] for name in ("Percpu", "SUnreclaim") if name in self.meminfo_kib]
        return sum(held) if held else None

    @property
    def kernel_held_percent(self) -> float | None:
        """Percpu and SUnreclaim as a share of MemTotal."""
        total, held = self.mem_total_kib, self.kernel_held_kib
        return None if not total or held is None else 100 * held / total

    @property
    def memory_full_avg10(self) -> float | None:
        """Percent of the last 10 s in which everything waited for memory; None where PSI is off."""
        line = self.pressure.get("memory full")
        return None if line is None else line.avg10

    @property
    def io_full_avg10(self) -> float | None:
        """Percent of the last 10 s in which everything waited for I/O; None where PSI is off."""
        line = self.pressure.get("io full")
        return None if line is None else line.avg10
