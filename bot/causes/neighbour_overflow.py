"""The neighbour table (ARP or IPv6) is full, and packets to machines that are not in it are dropped.

Confirms: the count of refused entries rises between the looks; a recent line of the kernel about it, or, if the count
was read and did not rise, a line of the last minutes.
Refutes: a count that does not rise, and a log without such a line.
Remedy: none planned: the table fills again after a reboot; raise net.ipv4.neigh.default.gc_thresh3.
"""

from __future__ import annotations

from bot.causes import _recent
from bot.causes._figures import count
from bot.causes._finding import found
from bot.domain.cause import Cause, Tuning, Weighing
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, RuledOut, Status, Undecided
from bot.probes.kernel_limits import KernelLimitsReading

NAME = "neighbour-overflow"


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell whether the table is full now, or was full recently."""
    reading, said = snapshot.get(KernelLimitsReading), _recent.told(snapshot, "neighbours-full")
    counted = not isinstance(reading, Unread) and None not in (reading.table_fulls, reading.table_fulls_later)
    rise = 0 if isinstance(reading, Unread) else reading.table_fulls_rise
    stands = counted and rise < tuning["refused_rise"]
    recent = _recent.recent(snapshot, said, tuning["refused_now_minutes"] / 60 if stands else tuning["recent_hours"])
    evidence = []
    if rise >= tuning["refused_rise"] and not isinstance(reading, Unread):
        says = f"{count(rise, 'neighbour')} found no room in the table within the window"
        source = (*reading.source, f"table_fulls {reading.table_fulls} then {reading.table_fulls_later}")
        evidence.append(Evidence("neighbours-refused", "kernel_limits", says, source))
    if recent:
        says = f"the kernel says that the table overflowed, {_recent.ago(snapshot, recent[-1])}"
        evidence.append(Evidence("neighbours-overflow", "kernel_log", says, _recent.lines(recent, 3)))
    if evidence:
        status = Status.CRITICAL if rise >= tuning["refused_rise"] else Status.DEGRADED
        return found(NAME, status, Confidence.CONFIRMED, evidence)
    if isinstance(reading, Unread) or reading.table_fulls is None:
        because = reading.reason if isinstance(reading, Unread) else "the kernel does not count it here"
        return Undecided(NAME, f"the table's refusals were not read ({because})")
    over = f"; the table overflowed {_recent.ago(snapshot, said[-1])}" if said else ", and the log shows no overflow"
    return RuledOut(NAME, f"no neighbour was refused within the window{over}")


CAUSE = Cause(
    name=NAME,
    title="Neighbour table full",
    probes=("kernel_limits", "kernel_log", "host"),
    thresholds=("refused_rise", "recent_hours", "refused_now_minutes"),
    weigh=weigh,
)
