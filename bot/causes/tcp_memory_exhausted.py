"""TCP's share of the memory is used up: the kernel shrinks windows, refuses data, and cuts connections.

Confirms: TCP's connections hold as much as the kernel allows them (tcp_mem), or so much that it is under pressure; a
line of the last minutes that a connection was cut for it.
Refutes: memory below the kernel's own mark of pressure, and no such line within the last minutes.
Remedy: none planned: the program that does not read what it is sent, or is sent too much, does so again.
"""

from __future__ import annotations

from bot.causes import _recent
from bot.causes._figures import count, percent
from bot.causes._finding import found
from bot.domain.cause import Cause, Tuning, Weighing
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, RuledOut, Status, Undecided
from bot.probes.kernel_limits import KernelLimitsReading, TcpMemory
from bot.probes.kernel_log import KernelLogReading

NAME = "tcp-memory-exhausted"


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell whether TCP has memory left."""
    reading, log = snapshot.get(KernelLimitsReading), snapshot.get(KernelLogReading)
    tcp = None if isinstance(reading, Unread) else reading.tcp
    hours = tuning["told_recent_hours"] if tcp is None else tuning["told_now_minutes"] / 60
    kinds = ("tcp-memory", "tcp-orphans")
    cut, orphaned = (_recent.recent(snapshot, _recent.told(snapshot, kind), hours) for kind in kinds)
    evidence = []
    if tcp is not None and tcp.pressure and tcp.pages >= tcp.pressure:
        above = "all that the kernel allows" if tcp.pages >= tcp.maximum else "so much that the kernel shrinks windows"
        says = f"TCP's connections hold {count(tcp.pages, 'page')} ({percent(tcp.used_percent)} of the limit), {above}"
        evidence.append(Evidence("tcp-memory", "kernel_limits", says, tcp.lines))
    if cut:
        says = f"the kernel cut connections for want of TCP's memory, {_recent.ago(snapshot, cut[-1])}"
        evidence.append(Evidence("tcp-cut", "kernel_log", says, _recent.lines(cut, 3)))
    if orphaned:
        many = f" ({tcp.orphans:,} now)" if tcp is not None else ""
        since = _recent.ago(snapshot, orphaned[-1])
        says = f"too many closed connections still waited{many}, and the kernel cut some, {since}"
        evidence.append(Evidence("tcp-orphans", "kernel_log", says, _recent.lines(orphaned, 3)))
    if evidence:
        status = Status.CRITICAL if tcp is not None and _is_full(tcp, bool(cut)) else Status.DEGRADED
        return found(NAME, status, Confidence.CONFIRMED, evidence)
    if isinstance(reading, Unread):
        return Undecided(NAME, f"TCP's memory was not read ({reading.reason})")
    if tcp is None:
        # The kernel tells each connection that it cuts: where its log is silent, there is pressure at most.
        worst = Status.CRITICAL if isinstance(log, Unread) else Status.DEGRADED
        return Undecided(NAME, "TCP's memory was not read", worst=worst)
    return RuledOut(NAME, f"TCP's connections hold {percent(tcp.used_percent)} of what the kernel allows them")


def _is_full(tcp: TcpMemory, cut: bool) -> bool:
    """True where data is refused now: at the limit, or under pressure while connections are cut."""
    return tcp.pages >= (tcp.pressure if cut else tcp.maximum) > 0


CAUSE = Cause(
    name=NAME,
    title="TCP out of memory",
    probes=("kernel_limits", "kernel_log", "host"),
    thresholds=("told_recent_hours", "told_now_minutes"),
    signature=("kernel_limits", "kernel_log", "host"),
    weigh=weigh,
)
