"""The kernel's table of tracked connections is full, and it drops the packets of new connections.

Confirms: `nf_conntrack: table full, dropping packet`, or entries at nine tenths of the limit or more. A full table
harms once it drops: without a line about that the node is degraded, if the log was read.
Refutes: a table with room, and no drop within the last minutes; a kernel that tracks no connections.
Remedy: none planned: the connections come back after a reboot; raise nf_conntrack_max or track fewer.
"""

from __future__ import annotations

from bot.causes import _recent
from bot.causes._figures import percent
from bot.causes._finding import found
from bot.domain.cause import Cause, Tuning, Weighing
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, RuledOut, Status, Undecided
from bot.probes.conntrack import ConntrackReading
from bot.probes.kernel_log import KernelLogReading

NAME = "conntrack-full"


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell whether the table is full, or was full recently."""
    table, log = snapshot.get(ConntrackReading), snapshot.get(KernelLogReading)
    dropped, elsewhere = (
        _recent.recent(snapshot, _recent.told(snapshot, kind), tuning["dropped_recent_hours"])
        # Since 6.17 the kernel names other network namespaces; such a line is not about the host's own table.
        for kind in ("conntrack-full", "conntrack-full-elsewhere")
    )
    has_room = not isinstance(table, Unread) and table.used_percent < tuning["used_percent"]
    before = dropped
    if has_room:
        dropped = _recent.recent(snapshot, dropped, tuning["dropped_now_minutes"] / 60)
    evidence = []
    used = 0.0
    if not isinstance(table, Unread) and table.loaded:
        used = table.used_percent
        if used >= tuning["used_percent"]:
            says = f"{table.count:,} of {table.maximum:,} tracked connections ({percent(used)})"
            evidence.append(Evidence("conntrack-used", "conntrack", says, table.source))
    if dropped:
        says = f"the table was full and packets were dropped, {_recent.ago(snapshot, dropped[-1])}"
        evidence.append(Evidence("conntrack-dropped", "kernel_log", says, _recent.lines(dropped, 3)))
    if elsewhere:
        says = f"the table of network namespace {elsewhere[-1].device} was full, {_recent.ago(snapshot, elsewhere[-1])}"
        evidence.append(Evidence("conntrack-dropped-elsewhere", "kernel_log", says, _recent.lines(elsewhere, 3)))
    if evidence:
        # If the table has room again, a drop of minutes ago is not present harm. A full table may keep to its limit by
        # early drops; that it drops packets shows in the log.
        drops_now = (dropped and not has_room) or (isinstance(log, Unread) and used >= tuning["full_percent"])
        return found(NAME, Status.CRITICAL if drops_now else Status.DEGRADED, Confidence.CONFIRMED, evidence)
    if isinstance(table, Unread):
        return Undecided(NAME, f"the table of connections was not read ({table.reason})")
    if not table.loaded:
        return RuledOut(NAME, "the kernel tracks no connections here")
    earlier = f"; it was full and dropped packets {_recent.ago(snapshot, before[-1])}" if before else ""
    return RuledOut(NAME, f"{table.count:,} of {table.maximum:,} tracked connections ({percent(used)}){earlier}")


CAUSE = Cause(
    name=NAME,
    title="Conntrack table full",
    probes=("conntrack", "kernel_log", "host"),
    thresholds=("used_percent", "full_percent", "dropped_recent_hours", "dropped_now_minutes"),
    signature=("conntrack", "kernel_log", "host"),
    weigh=weigh,
)
