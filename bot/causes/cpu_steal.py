"""The hypervisor gives this machine's CPU time to others, or its CPU credits are used up.

Confirms: stolen time, over all cores or for several seconds in a row on any core.
Refutes: no stolen time.
Remedy: none planned: an in-place reboot keeps the host and the credits; it takes another host or instance type.
"""

from __future__ import annotations

from bot.causes._figures import percent
from bot.domain.cause import Cause, Tuning, Weighing
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.cpu import CpuReading

NAME = "cpu-steal"


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell whether CPU time is stolen from this machine."""
    cpu = snapshot.get(CpuReading)
    if isinstance(cpu, Unread):
        return Undecided(NAME, f"the cores were not read ({cpu.reason})")
    mean = cpu.steal_percent
    needed = max(1, min(round(tuning["held_seconds"]), len(cpu.seconds)))
    held = cpu.held("steal_percent", tuning["core_stolen_percent"], needed)
    worst, most = cpu.hottest("steal_percent")
    if mean < tuning["stolen_percent"] and not held:
        return RuledOut(NAME, f"{percent(mean)} of the time of all cores is stolen, {percent(most)} of the worst core")
    says = f"{percent(mean)} of the time of all cores is stolen, {percent(most)} of core {worst}'s"
    seen = sorted((core for second in cpu.seconds for core in second if core.raw), key=lambda core: -core.steal_percent)
    return Finding(
        cause=NAME,
        status=Status.CRITICAL if mean >= tuning["stolen_critical_percent"] else Status.DEGRADED,
        confidence=Confidence.CONFIRMED,
        summary=says,
        evidence=(Evidence("cpu-stolen", "cpu", says, tuple(core.raw for core in seen[:4])),),
    )


CAUSE = Cause(
    name=NAME,
    title="CPU steal",
    probes=("cpu",),
    thresholds=("stolen_percent", "stolen_critical_percent", "core_stolen_percent", "held_seconds"),
    weigh=weigh,
)
