"""Where each core spent each second of the window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class CoreSecond:
    """One core in one second. Units: percent of that second; `raw` is the line it was read from."""

    core: int
    usr_percent: float
    sys_percent: float
    iowait_percent: float
    irq_percent: float
    soft_percent: float
    steal_percent: float
    idle_percent: float
    raw: str = ""


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
                    if len(running[number]) > len(best.get(number, [])):
                        best[number] = list(running[number])
                else:
                    running.pop(number, None)
        held = [
            HeldCore(number, len(run), sum(getattr(c, field) for c in run) / len(run), tuple(c.raw for c in run))
            for number, run in best.items()
            if len(run) >= for_seconds
        ]
        return tuple(sorted(held, key=lambda h: (-h.seconds, -h.mean_percent, h.core)))

    def core_mean(self, core: int, field: str) -> float:
        """Return a core's mean over the window, 0 for a core that was never seen."""
        values = [getattr(c, field) for second in self.seconds for c in second if c.core == core]
        return sum(values) / len(values) if values else 0.0

    def mean(self, field: str) -> float:
        """Return the mean over all cores and seconds."""
        values = [getattr(c, field) for second in self.seconds for c in second]
        return sum(values) / len(values) if values else 0.0

    def hottest(self, field: str) -> tuple[int, float]:
        """Return the core with the highest mean over the window, and that mean."""
        cores = sorted({c.core for second in self.seconds for c in second})
        return max(((core, self.core_mean(core, field)) for core in cores), key=lambda pair: pair[1], default=(-1, 0.0))

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
