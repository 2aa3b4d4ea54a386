"""The questions to a node, each a value: its commands, and the pure function that reads their answers."""

from __future__ import annotations

from bot.domain.probe import Probe
from bot.probes import conntrack, cpu, interrupts, processes, reclaim, softirq, throttling

PROBES: dict[str, Probe] = {
    probe.name: probe
    for probe in (
        conntrack.PROBE,
        cpu.PROBE,
        interrupts.PROBE,
        processes.PROBE,
        reclaim.PROBE,
        softirq.PROBE,
        throttling.PROBE,
    )
}
