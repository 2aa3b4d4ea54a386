"""More packets arrive than the cores that handle them can process.

Confirms: cores full of soft interrupts while packets are dropped or packet work runs out of its budget.
Supports: NET_RX rises sharply on these cores; the interrupts are spread; if measured, how long they waited (bpftrace).
Refutes: cores with time to spare; full cores that drop nothing and stay within their budget, so they keep up; time in
the kernel (%sys), not in soft interrupts; one core that takes every queue's interrupts, which is irq-affinity.
Remedy: none planned: the traffic is still there after a reboot.
"""

from __future__ import annotations

from bot.causes._figures import percent
from bot.causes._packet_waits import packet_wait_evidence
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import counted, listed
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.cpu import CpuReading
from bot.probes.interrupts import InterruptsReading
from bot.probes.softirq import SoftirqReading

NAME = "softirq-storm"


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell whether packet work overloads the cores."""
    cpu, softirq = snapshot.get(CpuReading), snapshot.get(SoftirqReading)
    lost = 0 if isinstance(softirq, Unread) else softirq.dropped_rise
    if isinstance(cpu, Unread):
        because = f"the cores were not read ({cpu.reason})"
        if lost:
            because += f", and {counted(lost, 'packet')} were dropped within the window"
        return Undecided(NAME, because, suspected=bool(lost))
    held = cpu.held("packet_percent", tuning["core_full_percent"], tuning["held_seconds"])
    full = sorted(core.core for core in held)
    if not full:
        core, spent = cpu.hottest("soft_percent")
        where = f", core {core}," if core >= 0 else ""
        return RuledOut(NAME, f"the core busiest with soft interrupts{where} spends {percent(spent)} of its time there")
    interrupts = snapshot.get(InterruptsReading)
    if not isinstance(interrupts, Unread):
        placement = interrupts.placement
        share, rate = tuning["one_core_share_percent"], tuning["interrupts_per_second"]
        if placement is not None and full == [placement.core] and cpu.cores > 1 and placement.crowds(share, rate):
            return RuledOut(
                NAME, f"only core {placement.core} is overloaded, and every queue's interrupts land on it: irq-affinity"
            )
    cores = listed(list(map(str, full)), 6)
    means = sum(cpu.core_mean(core, "packet_percent") for core in full) / len(full)
    said = f"{counted(len(full), 'core')} full of soft interrupts (core {cores}; {percent(means)} on average)"
    evidence = [Evidence("cores-full-of-softirq", "cpu", said, cpu.rows("packet_percent", full))]
    squeezed = 0
    if not isinstance(softirq, Unread):
        squeezed = softirq.time_squeeze_rise
        says = (
            f"{softirq.processed_rise:,} packets within the window; {lost:,} dropped, and the work ran out of its "
            f"budget {squeezed:,} times"
        )
        source = tuple(core.raw for core in softirq.softnet if core.core in full and core.raw)[:4]
        evidence.append(Evidence("packet-work", "softirq", says, source))
        if not lost and not squeezed:
            return RuledOut(NAME, f"{said}, and nothing was dropped or put off: they keep up")
    evidence += packet_wait_evidence(snapshot, full)
    # One full core, and interrupts not read: that may also be irq-affinity.
    told_apart = len(full) > 1 or not isinstance(interrupts, Unread)
    proven = told_apart and (bool(lost) or squeezed >= tuning["time_squeeze_many"])
    return Finding(
        cause=NAME,
        status=Status.CRITICAL if lost >= tuning["dropped_many"] else Status.DEGRADED,
        confidence=Confidence.CONFIRMED if proven else Confidence.LIKELY,
        summary=said + (f"; {counted(lost, 'packet')} dropped within the window" if lost else ""),
        evidence=tuple(evidence),
    )


CAUSE = Cause(
    name=NAME,
    title="Softirq storm",
    probes=("cpu", "softirq", "interrupts"),
    settled_by="packets dropped or put off in a second check (/proc/net/softnet_stat), and the counts of interrupts",
    thresholds={
        "core_full_percent": Threshold(80, "As in irq-affinity."),
        "held_seconds": Threshold(2, "As in irq-affinity."),
        "dropped_many": Threshold(
            100, "Packets dropped within the window (ours); a handful is retransmitted unnoticed."
        ),
        "time_squeeze_many": Threshold(
            50, "Ten times a second packet work ran out of its budget (ours); a healthy node does so now and then."
        ),
        "one_core_share_percent": Threshold(80, "As in irq-affinity."),
        "interrupts_per_second": Threshold(500, "As in irq-affinity."),
    },
    evaluate=evaluate,
    beside=("softirq_waits",),
    lasting_fix="Find who sends; a larger type, more queues, or RPS spread what is there by right.",
)
