"""Soft interrupts and the network backlog, by core, looked at twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class SoftnetCore:
    """One core's row of /proc/net/softnet_stat as a rise over the window (32-bit counters, wrap allowed for)."""

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
