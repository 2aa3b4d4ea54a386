"""A cgroup uses up its CPU quota and waits for the next period, while cores may stand idle.

Confirms: most of a cgroup's periods in the window were throttled, and for more than moments altogether.
Supports: idle cores on the node.
Refutes: no quota, few throttled periods, or moments that were lost at the end of each.
Remedy: none planned: the limit is the workload's own, and still there after a reboot.
"""

from __future__ import annotations

from datetime import timedelta

from bot.causes._figures import percent, span
from bot.domain.cause import Cause, Tuning, Weighing
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.cpu import CpuReading
from bot.probes.throttling import ThrottlingReading

NAME = "cfs-throttling"


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell which cgroups are held back by their own CPU limit."""
    throttling = snapshot.get(ThrottlingReading)
    if isinstance(throttling, Unread):
        return Undecided(NAME, f"the CPU quotas were not read ({throttling.reason})")
    hit = [
        group
        for group in throttling.groups
        if group.periods >= tuning["periods_few"]
        and group.ratio >= tuning["throttled_ratio"]
        and group.throttled_for >= timedelta(milliseconds=tuning["throttled_ms_few"])
    ]
    if not hit:
        if throttling.capped:
            return Undecided(NAME, f"only {throttling.groups_seen:,} cgroups were looked at, and there are more")
        if not throttling.groups:
            return RuledOut(NAME, "no cgroup with a CPU quota ran within the window")
        worst = max(throttling.groups, key=lambda group: group.ratio)
        share, lost = percent(100 * worst.ratio), f"{worst.throttled_for.total_seconds():.2f} s altogether"
        return RuledOut(NAME, f"the most throttled cgroup was throttled in {share} of periods, {lost}")
    hit.sort(key=lambda group: (-group.ratio, -group.throttled, group.path))
    cpu = snapshot.get(CpuReading)
    idle = "" if isinstance(cpu, Unread) else f"; the node's cores are {percent(cpu.idle_percent)} idle"
    evidence = tuple(
        Evidence(
            "cgroup-throttled",
            "throttling",
            f"{group.path}: throttled in {group.throttled} of {group.periods} periods, {span(group.throttled_for)}",
            group.source,
        )
        for group in hit[:4]
    )
    more = f" and {len(hit) - 1} more" if len(hit) > 1 else ""
    return Finding(
        cause=NAME,
        status=Status.DEGRADED,
        confidence=Confidence.CONFIRMED,
        summary=f"{hit[0].path}{more} used up the CPU quota in {percent(100 * hit[0].ratio)} of periods{idle}",
        evidence=evidence,
    )


CAUSE = Cause(
    NAME,
    "CFS throttling",
    ("throttling", "cpu"),
    ("throttled_ratio", "periods_few", "throttled_ms_few"),
    weigh,
    worst=Status.DEGRADED,
    of_one=True,
)
