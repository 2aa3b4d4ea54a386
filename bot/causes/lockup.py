"""A core was stuck in the kernel for tens of seconds, and the kernel's watchdog said so.

Confirms: soft or hard lockups, or RCU stalls, in the kernel log of the last hours.
Supports: resets of the network card after them; a core held in the kernel now.
Refutes: a kernel log without them.
Remedy: a reboot may be planned while it goes on (it clears, it does not cure), but never where the trace is in the
walk over memory cgroups: then the cgroups are the cause, and their leaker must be stopped first.
"""

from __future__ import annotations

from bot.causes import _recent
from bot.causes._figures import count, sentence
from bot.causes._starvation import starvation
from bot.domain.cause import Cause, Tuning, Weighing
from bot.domain.plan import Step
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.cpu import CpuReading
from bot.probes.formats.kernel_line import KernelEventKind
from bot.probes.kernel_log import KernelLogReading

NAME = "lockup"
_LOCKUPS = (KernelEventKind.SOFT_LOCKUP, KernelEventKind.HARD_LOCKUP, KernelEventKind.RCU_STALL)


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell whether the kernel saw its own cores stuck."""
    log = snapshot.get(KernelLogReading)
    if isinstance(log, Unread):
        return Undecided(NAME, f"the kernel log was not read ({log.reason})")
    everything = log.of(*_LOCKUPS)
    events = _recent.recent(snapshot, everything, tuning["recent_hours"])
    if not events:
        old = f"; the last was {_recent.ago(snapshot, everything[-1])}" if everything else ""
        return RuledOut(NAME, f"the kernel log tells of no lockup within {tuning['recent_hours']:.0f} hours{old}")
    now = _recent.surely_within(snapshot, events, tuning["now_minutes"])
    last = events[-1]
    where = "" if last.core is None else f" on core {last.core}"
    who = f" in {last.process}" if last.process else ""
    says = f"{count(len(events), 'lockup line')}, the last{where}{who} {_recent.ago(snapshot, last)}"
    evidence = [Evidence("lockup", "kernel_log", says, _recent.lines(events))]
    walks = _recent.recent(snapshot, log.of(KernelEventKind.STACK_MEMCG_WALK), tuning["recent_hours"])
    if walks:
        says += "; the trace is in the walk over memory cgroups"
        evidence.append(Evidence("memcg-walk-stack", "kernel_log", "the trace names the walk", _recent.lines(walks)))
    starved = starvation(snapshot, tuning["recent_hours"])
    if starved is not None:
        says += "; the network card was starved of CPU too"
        evidence.append(Evidence("nic-starved", "kernel_log", starved.says, starved.source))
    cpu = snapshot.get(CpuReading)
    if not isinstance(cpu, Unread):
        needed = max(1, min(round(tuning["core_held_seconds"]), len(cpu.seconds)))
        for core in cpu.held("sys_percent", tuning["core_held_percent"], needed)[:1]:
            held = f"core {core.core} is held in the kernel now"
            evidence.append(Evidence("core-held", "cpu", held, tuple(row for row in core.raw if row)[:3]))
    # One stall is over when it is told; only one that comes back is worth a reboot, and never one by dying cgroups.
    goes_on = len(now) >= tuning["repeats_few"] and not walks
    return Finding(
        cause=NAME,
        status=Status.CRITICAL if now else Status.DEGRADED,
        confidence=Confidence.CONFIRMED,
        summary=sentence(says),
        evidence=tuple(evidence),
        remedy=(Step("reboot"),) if goes_on else (),
    )


CAUSE = Cause(
    name=NAME,
    title="Lockup",
    probes=("kernel_log", "host", "cpu", "nic"),
    thresholds=("recent_hours", "now_minutes", "repeats_few", "core_held_percent", "core_held_seconds"),
    weigh=weigh,
    cured_alone_by=("reboot",),  # the kernel itself is stuck or full, and nothing leaks that a boot would bring back
)
