"""How each core spends each second: mpstat, or /proc/stat if there is no mpstat."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from heapq import nlargest
from typing import ClassVar

from bot.domain.command import Command, Completed, Outputs, SampleTimes
from bot.domain.probe import Probe
from bot.probes.formats.core_second import CoreSecond
from bot.probes.formats.mpstat_json import mpstat_json
from bot.probes.formats.mpstat_text import mpstat_text
from bot.probes.formats.proc_stat import proc_stat


@dataclass(frozen=True, slots=True)
class HeldCore:
    """A core that stayed above a threshold for consecutive seconds: its longest run."""

    core: int
    seconds: int
    mean_percent: float
    raw: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CpuReading:
    """Every core in every second of the window, oldest first; a core that was offline in a second is absent in it."""

    probe: ClassVar[str] = "cpu"

    seconds: tuple[tuple[CoreSecond, ...], ...]
    origin: str  # "mpstat json", "mpstat text" or "/proc/stat"

    @property
    def cores(self) -> int:
        """How many cores were seen."""
        return len({core.core for second in self.seconds for core in second})

    def held(self, field: str, at_least_percent: float, for_seconds: float) -> tuple[HeldCore, ...]:
        """Return the cores whose `field` stayed at or above a threshold for that many consecutive seconds, worst first.

        A window that is shorter must be able to see it too.

        Example: `cpu.held("sys_percent", 90, 2)`.
        """
        needed = max(1, min(round(for_seconds), len(self.seconds)))
        best: dict[int, list[CoreSecond]] = {}
        running: dict[int, list[CoreSecond]] = {}
        share = operator.attrgetter(field)
        for second in self.seconds:
            above = [core for core in second if share(core) >= at_least_percent]
            running = {core.core: [*running.get(core.core, ()), core] for core in above}
            for number, run in running.items():
                if _seconds_covered(run) > _seconds_covered(best.get(number, [])):
                    best[number] = run
        held = [
            HeldCore(number, _seconds(run), _weighted_mean(run, field), tuple(c.raw for c in run))
            for number, run in best.items()
            if _seconds(run) >= needed
        ]
        return tuple(sorted(held, key=lambda h: (-h.seconds, -h.mean_percent, h.core)))

    def core_mean(self, core: int, field: str) -> float:
        """Return a core's mean over the window, 0 if the core was never seen."""
        return _weighted_mean([c for second in self.seconds for c in second if c.core == core], field)

    def rows(self, field: str, cores: Collection[int] | None = None, most: int = 4) -> tuple[str, ...]:
        """Return the raw rows of the seconds with the most of `field`, of all cores or of these."""
        seen = [row for second in self.seconds for row in second if row.raw and (cores is None or row.core in cores)]
        return tuple([row.raw for row in nlargest(most, seen, key=operator.attrgetter(field))])

    def mean(self, field: str) -> float:
        """Return the mean over all cores and seconds."""
        return _weighted_mean([c for second in self.seconds for c in second], field)

    def most(self, field: str) -> float:
        """Return the most that any core had in any second, 0 if no core was seen."""
        share = operator.attrgetter(field)
        return max([share(core) for second in self.seconds for core in second], default=0.0)

    def hottest(self, field: str) -> tuple[int, float]:
        """Return the core with the highest mean over the window, and that mean."""
        spans: dict[int, float] = {}
        spent: dict[int, float] = {}
        told = operator.attrgetter("core", "span_seconds", field)
        for second in self.seconds:
            for number, span, percent in map(told, second):
                spans[number] = spans.get(number, 0) + span
                spent[number] = spent.get(number, 0) + percent * span
        means = ((number, spent[number] / spans[number] if spans[number] else 0.0) for number in sorted(spans))
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
    def hottest_irq_percent(self) -> float:
        """Hard interrupts of the core that has most of them."""
        return self.hottest("irq_percent")[1]

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


def _seconds_covered(run: Sequence[CoreSecond]) -> float:
    return sum([core.span_seconds for core in run])


def _seconds(run: Sequence[CoreSecond]) -> int:
    return math.floor(_seconds_covered(run) + 0.1)  # whole seconds; a sample's length is known to hundredths


def _weighted_mean(run: Sequence[CoreSecond], field: str) -> float:
    span = _seconds_covered(run)
    told = operator.attrgetter(field, "span_seconds")
    return sum([percent * seconds for percent, seconds in map(told, run)]) / span if span else 0.0


_ENDED_BY_A_SIGNAL = (124, 130, 137, 143)  # by `timeout`, or by a person on the node


def parse(outputs: Outputs) -> CpuReading:
    """Read any of the three printed forms.

    A node too busy to let mpstat finish in time is worth reading: complete samples are kept.

    Unread when: there is no complete sample, or a figure is wrong.
    """
    run = outputs.get("mpstat")
    text = run.stdout if run is not None and _ended_early(run) else outputs.text("mpstat")
    if text.lstrip().startswith("{"):
        took = run.took.total_seconds() if run is not None and run.took is not None else None
        return CpuReading(mpstat_json(text, took), "mpstat json")
    if text.lstrip().startswith(("uptime ", "cpu")):
        return CpuReading(proc_stat(text), "/proc/stat")
    return CpuReading(mpstat_text(text), "mpstat text")


def _ended_early(run: Completed) -> bool:
    return run.exit_status in _ENDED_BY_A_SIGNAL and not run.cut and bool(run.stdout.strip())


# A look every second; the uptime of each look shows how late it was.
_LOOKS = (
    'i=0; while read -r up _ </proc/uptime; echo "uptime $up"; grep -a "^cpu" /proc/stat; '
    '[ "$i" -lt "$1" ]; do i=$((i+1)); sleep 1; done'
)

PROBE = Probe(
    name="cpu",
    title="time of every core, second by second",
    commands=(
        Command(
            "mpstat",
            ("mpstat", "-P", "ALL", "-o", "JSON", "1", "{samples}"),
            alternatives=(
                ("mpstat", "-P", "ALL", "1", "{samples}"),  # sysstat before 11.5.1
                ("sh", "-c", _LOOKS, "sh", "{samples}"),
            ),
            looks=SampleTimes.THROUGHOUT,
            lane="cpu",
            limit=timedelta(seconds=6),  # a starved node starts it late; ended too early it prints no complete sample
            output_limit_bytes=4 * 1024 * 1024,  # 192 cores print 30 kB a second
        ),
    ),
    parse=parse,
    reading=CpuReading,
)
