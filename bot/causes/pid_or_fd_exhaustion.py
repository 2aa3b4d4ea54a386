"""The node runs out of threads or open files, and the next program to start fails.

Confirms: threads near the smaller of pid_max and threads-max, open files near file-max, the tasks of a slice near its
limit; a recent rejected fork or shortage of files.
Refutes: room below each limit.
Remedy: none planned: a program that opens or forks too much does so again after a reboot.
"""

from __future__ import annotations

from bot.causes import _recent
from bot.causes._figures import count, percent
from bot.causes._finding import found
from bot.domain.cause import Cause, Tuning, Weighing
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, RuledOut, Status, Undecided
from bot.probes.kernel_limits import KernelLimitsReading
from bot.probes.kernel_log import KernelLogReading

NAME = "pid-or-fd-exhaustion"
_FORK = "fork rejected by pids controller"


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell whether threads, tasks or open files are at their limit, or were recently."""
    reading, log = snapshot.get(KernelLimitsReading), snapshot.get(KernelLogReading)
    evidence = []
    near = (
        [] if isinstance(reading, Unread) else [x for x in reading.limits if x.used_percent >= tuning["used_percent"]]
    )
    for limit in near:
        says = f"{limit.used:,} of {limit.maximum:,} {limit.name} ({percent(limit.used_percent)})"
        evidence.append(Evidence("limit-near", "kernel_limits", says, limit.lines))
    if not isinstance(log, Unread):
        refused = [event for event in log.of("cgroup-exhausted") if _FORK in event.text]
        for name, noun, events in (
            ("fork-rejected", "fork", refused),
            ("files-exhausted", "open", list(log.of("files-exhausted"))),
        ):
            recent = _recent.recent(snapshot, events, tuning["recent_hours"])
            if recent:
                # The kernel logs it once for each cgroup, and names the cgroup that forked, not the cgroup with the
                # limit.
                says = f"{count(len(recent), f'rejected {noun}')} in the log, {_recent.ago(snapshot, recent[-1])}"
                evidence.append(Evidence(name, "kernel_log", says, _recent.lines(recent, 3)))
    if evidence:
        full = any(limit.used_percent >= tuning["full_percent"] for limit in near)
        return found(NAME, Status.CRITICAL if full else Status.DEGRADED, Confidence.CONFIRMED, evidence)
    if isinstance(reading, Unread):
        return Undecided(NAME, f"the limits were not read ({reading.reason})")
    nearest = max(reading.limits, key=lambda limit: limit.used_percent)
    return RuledOut(NAME, f"{nearest.used:,} of {nearest.maximum:,} {nearest.name} is the nearest to its limit")


CAUSE = Cause(
    name=NAME,
    title="Threads or open files exhausted",
    probes=("kernel_limits", "kernel_log", "host"),
    thresholds=("used_percent", "full_percent", "recent_hours"),
    signature=("kernel_limits", "kernel_log", "host"),
    weigh=weigh,
)
