"""On which cores network interrupts land, and how much of those cores the packet work takes."""

from __future__ import annotations

from dataclasses import dataclass
from string import digits

from bot.probes.cpu import CpuReading
from bot.probes.formats.core_second import CoreSecond
from bot.probes.interrupts import InterruptLine, InterruptsReading


@dataclass(frozen=True, slots=True)
class IrqPlacement:
    """The core that most network interrupts landed on in the window.

    Shape: `bound` if no queue of the cards that interrupted it may interrupt another core.
    """

    core: int
    share_percent: float
    per_second: float
    queues: tuple[InterruptLine, ...]  # queues whose interrupts rose on it
    bound: bool = False


def irq_placement(interrupts: InterruptsReading) -> IrqPlacement | None:
    """Return the busiest core's share, None without network interrupts or if the time between looks is not known."""
    if not interrupts.total_rise or not interrupts.seconds_between:
        return None
    core, rise = max(interrupts.by_core.items(), key=lambda pair: (pair[1], -pair[0]))
    lines = tuple(line for line in interrupts.lines if line.rises.get(core))
    cards = {_card_of(line) for line in lines}
    queues = (line for line in interrupts.lines if line.queue is not None and _card_of(line) in cards)
    bound = all(line.cores == (core,) for line in queues)
    return IrqPlacement(core, interrupts.busiest_core_share_percent, rise / interrupts.seconds_between, lines, bound)


def _card_of(line: InterruptLine) -> str:
    """Name what the queues of a card share: "eth0-Tx-Rx-" of eth0-Tx-Rx-3."""
    name, at, device = line.name.partition("@")
    return f"{name.rstrip(digits)}{at}{device}"


def queues_crowd_one_core(placement: IrqPlacement | None, share_percent: float, per_second: float, cores: int) -> bool:
    """True when several queues share one core with many interrupts that could be spread; `cores` 0: not known.

    A core full of packet work polls its queues with their interrupts off (NAPI): the busier, the fewer interrupts. So
    if every queue of its cards is bound to it, the number of interrupts says nothing.
    """
    return (
        placement is not None
        and cores != 1
        and len(placement.queues) > 1
        and placement.share_percent >= share_percent
        and (placement.per_second >= per_second or placement.bound)
    )


def packet_percent(cpu: CpuReading, core: int) -> float:
    """Return a core's mean share of time in interrupts, hard and soft."""
    return cpu.core_mean(core, "irq_percent") + cpu.core_mean(core, "soft_percent")


def full_cores(cpu: CpuReading, at_least_percent: float, for_seconds: float) -> dict[int, float]:
    """Return the cores whose time in interrupts stayed that high for that many seconds, with their means."""
    needed = max(1, min(round(for_seconds), len(cpu.seconds)))
    best: dict[int, int] = {}
    running: dict[int, int] = {}
    for second in cpu.seconds:
        full = {core.core for core in second if core.irq_percent + core.soft_percent >= at_least_percent}
        running = {core: running.get(core, 0) + 1 for core in full}
        best |= {core: max(run, best.get(core, 0)) for core, run in running.items()}
    return {core: packet_percent(cpu, core) for core, run in sorted(best.items()) if run >= needed}


def core_rows(cpu: CpuReading, cores: tuple[int, ...], most: int = 4) -> tuple[str, ...]:
    """Return the raw rows of these cores, busiest seconds first."""
    seen: list[CoreSecond] = [core for second in cpu.seconds for core in second if core.core in cores and core.raw]
    seen.sort(key=lambda core: -(core.irq_percent + core.soft_percent))
    return tuple(core.raw for core in seen[:most])
