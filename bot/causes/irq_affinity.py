"""The network card's interrupts all land on one core, and that core is full of them.

Confirms: several queues' interrupts rise on one core, which spends its time in interrupts, hard and soft.
Supports: irqbalance does not run; packets are dropped on that core; resets for lack of CPU.
Refutes: interrupts spread over cores, or a core with time to spare.
Remedy: none planned: spread the interrupts (irqbalance, effective affinity); after a reboot they would land there
again.
"""

from __future__ import annotations

from bot.causes._figures import percent
from bot.causes._starvation import starvation
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, Finding, HalfRead, RuledOut, Status, Undecided
from bot.probes.cpu import CpuReading
from bot.probes.interrupts import InterruptsReading, Placement
from bot.probes.softirq import SoftirqReading

NAME = "irq-affinity"


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell whether the card's interrupts overload one core although they could be spread."""
    cpu, interrupts = snapshot.get(CpuReading), snapshot.get(InterruptsReading)
    if isinstance(interrupts, Unread):
        full = [] if isinstance(cpu, Unread) else _full_cores(cpu, tuning)
        because = f"the interrupts were not read ({interrupts.reason})"
        if full:
            because += f", and core {full[0]} is full of them"
        return Undecided(NAME, because, suspected=bool(full))
    if not isinstance(cpu, Unread) and cpu.cores == 1:
        return RuledOut(NAME, "the machine has a single core: there is nothing to spread", applies=False)
    placement = interrupts.placement
    if placement is None or not placement.crowds(tuning["one_core_share_percent"], tuning["interrupts_per_second"]):
        if interrupts.lines and not interrupts.seconds_between:
            return HalfRead(NAME, "the interrupts were looked at only once")
        return RuledOut(NAME, _placement_words(placement))
    said = (
        f"{percent(placement.share_percent)} of the network's interrupts "
        f"({placement.per_second:,.0f}/s, {len(placement.queues)} queues) land on core {placement.core}"
    )
    if isinstance(cpu, Unread):
        return Undecided(NAME, f"{said}; how full it is was not read ({cpu.reason})", suspected=True)
    if placement.core not in _full_cores(cpu, tuning):
        spent = cpu.core_mean(placement.core, "packet_percent")
        return RuledOut(NAME, f"{said}, which spends only {percent(spent)} of its time on them")
    return _placement_finding(snapshot, placement, said, cpu, interrupts, tuning)


def _full_cores(cpu: CpuReading, tuning: Tuning) -> list[int]:
    held = cpu.held("packet_percent", tuning["core_full_percent"], tuning["held_seconds"])
    return sorted(core.core for core in held)


def _placement_finding(
    snapshot: Snapshot,
    placement: Placement,
    said: str,
    cpu: CpuReading,
    interrupts: InterruptsReading,
    tuning: Tuning,
) -> Finding:
    spent = cpu.core_mean(placement.core, "packet_percent")
    full = f"core {placement.core} spends {percent(spent)} of its time in interrupts"
    evidence = [
        Evidence(
            "interrupts-on-one-core", "interrupts", said, tuple(line.raw for line in placement.queues if line.raw)[:4]
        ),
        Evidence("core-full-of-interrupts", "cpu", full, cpu.rows("packet_percent", (placement.core,))),
    ]
    if interrupts.irqbalance_runs is False:
        evidence.append(Evidence("irqbalance", "interrupts", "irqbalance does not run"))
    softirq = snapshot.get(SoftirqReading)
    dropped = 0
    if not isinstance(softirq, Unread):
        mine = [core for core in softirq.softnet if core.core == placement.core]
        dropped = sum(core.dropped for core in mine)
        if dropped:
            says = f"{dropped:,} packets dropped on core {placement.core} within the window"
            evidence.append(Evidence("packets-dropped", "softirq", says, tuple(core.raw for core in mine if core.raw)))
    starved = snapshot.once(starvation, tuning["recent_hours"])
    if starved is not None:
        evidence.append(Evidence("nic-starved", "kernel_log", starved.says, starved.source))
    hurt = bool(dropped or starved)
    return Finding(
        cause=NAME,
        status=Status.CRITICAL if hurt else Status.DEGRADED,
        confidence=Confidence.CONFIRMED,
        summary=f"{said}, and {full}",
        evidence=tuple(evidence),
    )


def _placement_words(placement: Placement | None) -> str:
    if placement is None:
        return "no network interrupt came within the window"
    if len(placement.queues) == 1 and placement.share_percent >= 99:
        return f"a single queue has all the interrupts, on core {placement.core}: there is nothing to spread"
    return (
        f"core {placement.core} takes the most network interrupts, {percent(placement.share_percent)} of them "
        f"({placement.per_second:,.0f}/s)"
    )


CAUSE = Cause(
    name=NAME,
    title="Interrupts on one core",
    probes=("interrupts", "cpu", "softirq", "kernel_log", "nic", "host"),
    thresholds={
        "one_core_share_percent": Threshold(
            80, "Ours. If they are spread over only two cores, neither takes four fifths."
        ),
        "interrupts_per_second": Threshold(
            500,
            "Ours. Fewer interrupts fill no core; where they land does not matter then. If every queue of the cards is "
            "bound to one core, this is not used: full of packet work, the core polls with interrupts off, and there "
            "were 23 a second (own recording).",
        ),
        "core_full_percent": Threshold(
            80, "Ours. A core that spends four fifths in interrupts, hard and soft, falls behind at the next burst."
        ),
        "held_seconds": Threshold(2, "Ours. A burst of one second is absorbed by the rings."),
        "recent_hours": Threshold(24, "Resets of days ago are not a present symptom. A day is ours."),
    },
    evaluate=evaluate,
    lasting_fix=(
        "Let irqbalance run, or set the queues' affinity at boot; keep busy tasks off the cores that serve them."
    ),
)
