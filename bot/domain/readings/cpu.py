"""Where each core spent each second of the window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class CoreSecond:
    """One core in one second. Units: percent of that second; `raw` is the line it was read from.

    Shape: user time is told as mpstat tells it, without niced work and guests, which stand for themselves.
    `span_seconds` is more than one where the node came late to its sample.
    """

    core: int
    usr_percent: float
    sys_percent: float
    iowait_percent: float
    irq_percent: float
    soft_percent: float
    steal_percent: float
    idle_percent: float
    raw: str = ""
    nice_percent: float = 0.0
    guest_percent: float = 0.0  # running a virtual machine, niced or not
    span_seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class HeldCore:
    """A core that was held above a threshold for seconds on end: its longest run."""

    core: int
    seconds: int
    mean_percent: float
    raw: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CpuReading:
    """Every core in every second of the window, oldest first; a core that was offline in a second is absent there."""

    probe: ClassVar[str] = "cpu"

    seconds: tuple[tuple[CoreSecond, ...], ...]
    origin: str  # "mpstat json", "mpstat text" or "/proc/stat"

    @property
    def cores(self) -> int:
        """How many cores were seen."""
        return len({core.core for second in self.seconds for core in second})

    def held(self, field: str, at_least_percent: float, for_seconds: int) -> tuple[HeldCore, ...]:
        """Return the cores whose `field` stayed at or above a threshold for that many consecutive seconds, worst first.

        Example: `cpu.held("sys_percent", 90, 2)`.
        """
        best: dict[int, list[CoreSecond]] = {}
        running: dict[int, list[CoreSecond]] = {}
        for second in self.seconds:
            present = {core.core: core for core in second}
            for number in list(running):
                if number not in present:
                    del running[number]
            for number, core in present.items():
                if getattr(core, field) >= at_least_percent:
                    running.setdefault(number, []).append(core)
                    if _span(running[number]) > _span(best.get(number, [])):
                        best[number] = list(running[number])
                else:
                    running.pop(number, None)
        held = [
            HeldCore(number, _seconds(run), _weighted(run, field), tuple(c.raw for c in run))
            for number, run in best.items()
            if _seconds(run) >= for_seconds
        ]
        return tuple(sorted(held, key=lambda h: (-h.seconds, -h.mean_percent, h.core)))

    def core_mean(self, core: int, field: str) -> float:
        """Return a core's mean over the window, 0 for a core that was never seen."""
        return _weighted([c for second in self.seconds for c in second if c.core == core], field)

    def mean(self, field: str) -> float:
        """Return the mean over all cores and seconds."""
        return _weighted([c for second in self.seconds for c in second], field)

    def hottest(self, field: str) -> tuple[int, float]:
        """Return the core with the highest mean over the window, and that mean."""
        runs: dict[int, list[CoreSecond]] = {}
        for second in self.seconds:
            for core in second:
                runs.setdefault(core.core, []).append(core)
        means = ((number, _weighted(run, field)) for number, run in sorted(runs.items()))
        return max(means, key=lambda pair: pair[1], default=(-1, 0.0))

    @property
    def hottest_sys_percent(self) -> float:
        """The busiest core's mean time in the kernel."""
        return self.hottest("sys_percent")[1]

    @property
    def hottest_soft_percent(self) -> float:
        """The busiest core's mean time in soft interrupts."""
        return self.hottest("soft_percent")[1]

    @property
    def hottest_steal_percent(self) -> float:
        """The worst core's mean stolen time."""
        return self.hottest("steal_percent")[1]

    @property
    def usr_percent(self) -> float:
        """Mean user time over all cores."""
        return self.mean("usr_percent")

    @property
    def sys_percent(self) -> float:
        """Mean kernel time over all cores."""
        return self.mean("sys_percent")

    @property
    def iowait_percent(self) -> float:
        """Mean I/O wait over all cores."""
        return self.mean("iowait_percent")

    @property
    def steal_percent(self) -> float:
        """Mean stolen time over all cores."""
        return self.mean("steal_percent")

    @property
    def idle_percent(self) -> float:
        """Mean idle time over all cores."""
        return self.mean("idle_percent")


def _span(run: Sequence[CoreSecond]) -> float:
    return sum(core.span_seconds for core in run)


def _seconds(run: Sequence[CoreSecond]) -> int:
    return math.floor(_span(run) + 0.1)  # whole seconds; a sample's length is known to hundredths


def _weighted(run: Sequence[CoreSecond], field: str) -> float:
    span = _span(run)
    return sum(getattr(core, field) * core.span_seconds for core in run) / span if span else 0.0
