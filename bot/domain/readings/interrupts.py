"""Which cores serve the network interfaces' interrupts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class InterruptLine:
    """One interrupt of a network device.

    Shape: `rises` maps core -> interrupts inside the window, for cores where it rose; `cores` is where it may be
    delivered (effective affinity), empty where the kernel does not tell; `queue` is the queue it serves.
    """

    irq: str
    name: str
    rises: Mapping[int, int] = field(default_factory=dict)
    cores: tuple[int, ...] = ()
    queue: int | None = None
    raw: str = ""


@dataclass(frozen=True, slots=True)
class InterruptsReading:
    """The network devices' interrupts; none at all is an answer."""

    probe: ClassVar[str] = "interrupts"

    lines: tuple[InterruptLine, ...]
    seconds_between: float | None = None
    irqbalance_runs: bool | None = None

    @property
    def by_core(self) -> Mapping[int, int]:
        """Network interrupts inside the window, by core."""
        total: dict[int, int] = {}
        for line in self.lines:
            for core, rise in line.rises.items():
                total[core] = total.get(core, 0) + rise
        return total

    @property
    def total_rise(self) -> int:
        """Network interrupts inside the window."""
        return sum(self.by_core.values())

    @property
    def busiest_core_share_percent(self) -> float:
        """The share of the network interrupts that landed on one core; 0 when there were none."""
        return 100 * max(self.by_core.values(), default=0) / self.total_rise if self.total_rise else 0.0

    def queues_on(self, core: int) -> tuple[InterruptLine, ...]:
        """Return the interrupts that this core serves."""
        return tuple(line for line in self.lines if core in line.cores or (not line.cores and core in line.rises))
