"""Limits of the kernel that were reached, and processes that were killed for it."""

from datetime import timedelta

import pytest

from bot.domain.verdict import Status
from bot.probes.formats.kernel_line import KernelEvent, KernelLine
from bot.probes.formats.kernel_table import own_table
from bot.probes.kernel_limits import KernelLimitsReading, Limit
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

LIMITS, NEIGHBOURS, KILLS = "pid-or-fd-exhaustion", "neighbour-overflow", "oom-kills"
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
GLOBAL = "Out of memory: Killed process 4711 (java) total-vm:1kB, anon-rss:1kB"
OLD_GLOBAL = "Out of memory: Kill process 4711 (java) score 901 or sacrifice child"
OF_A_CGROUP = "Memory cgroup out of memory: Killed process 812 (worker) total-vm:1kB, anon-rss:1kB"


def said(text: str, ago: timedelta = MINUTE) -> KernelEvent:
    event = own_table().event(KernelLine(text, f"[1.0] {text}", timedelta(days=b.DAYS) - ago))
    assert event is not None, text
    return event


def limits(*near: Limit, fulls: int | None = 0, later: int | None = 0) -> KernelLimitsReading:
    return KernelLimitsReading((Limit("threads", 900, 32_768), *near), fulls, later)


@pytest.mark.parametrize(
    ("limit", "status"),
    [
        (Limit("threads", 23_000, 32_768), Status.DEGRADED),
        (Limit("threads", 32_000, 32_768), Status.CRITICAL),
        (Limit("open files", 75_000, 100_000), Status.DEGRADED),
        (Limit("tasks in kubepods.slice", 99_000, 100_000), Status.CRITICAL),
    ],
)
def test_what_nears_its_limit_is_named(limit: Limit, status: Status) -> None:
    finding = found(LIMITS, limits(limit))
    assert finding.status is status
    assert limit.name in finding.summary
    assert finding.remedy == ()


def test_room_below_every_limit_is_ruled_out() -> None:
    assert "nearest to its limit" in ruled_out(LIMITS, limits()).because
    ruled_out(LIMITS, limits(Limit("threads", 22_000, 32_768)))
    ruled_out(LIMITS, limits(Limit("open files", 900_000, 9_223_372_036_854_775_807)))
    assert "not read" in undecided(LIMITS, b.unread("kernel_limits")).because


def test_rejected_forks_and_opens_of_the_last_hour_count() -> None:
    fork = "cgroup: fork rejected by pids controller in /kubepods.slice/pod1"
    assert "rejected fork" in found(LIMITS, b.log(said(fork))).summary
    assert "rejected open" in found(LIMITS, b.log(said("VFS: file-max limit 65536 reached"))).summary
    ruled_out(LIMITS, b.log(said(fork, 5 * HOUR)))
    ruled_out(LIMITS, b.log(said("cgroup: cgroup_mkdir failed: error -28")))  # no cgroup, and no limit of tasks


@pytest.mark.parametrize(
    "line",
    [
        "neighbour: arp_cache: neighbor table overflow!",
        "neighbour: ndisc_cache: neighbour table overflow!",
        "Neighbour table overflow.",
    ],
)
def test_neighbours_that_find_no_room(line: str) -> None:
    assert found(NEIGHBOURS, b.log(said(line))).status is Status.DEGRADED
    assert found(NEIGHBOURS, limits(fulls=7, later=9), b.log(said(line))).status is Status.CRITICAL
    ruled_out(NEIGHBOURS, b.log(said(line, 3 * HOUR)))


def test_neighbours_that_found_no_room_a_while_ago() -> None:
    line = said("neighbour: arp_cache: neighbor table overflow!", 40 * MINUTE)
    assert "40 minutes ago" in ruled_out(NEIGHBOURS, limits(fulls=2, later=2), b.log(line)).because
    for uncounted in (limits(fulls=None, later=None), limits(fulls=2, later=None), b.unread("kernel_limits")):
        found(NEIGHBOURS, uncounted, b.log(line))


def test_neighbours_by_the_count_alone() -> None:
    assert found(NEIGHBOURS, limits(fulls=7, later=8)).status is Status.CRITICAL
    ruled_out(NEIGHBOURS, limits(fulls=70_000, later=70_000))  # since boot: over
    assert "not read" in undecided(NEIGHBOURS, limits(fulls=None, later=None)).because
    assert "not read" in undecided(NEIGHBOURS, b.unread("kernel_limits")).because


@pytest.mark.parametrize("line", [GLOBAL, OLD_GLOBAL])
def test_one_kill_for_the_machine_within_the_hour_counts(line: str) -> None:
    assert "the machine had no memory" in found(KILLS, b.log(said(line))).summary
    ruled_out(KILLS, b.log(said(line, 2 * HOUR)))


def test_kills_at_a_cgroups_limit_count_when_they_repeat() -> None:
    thrice = [said(OF_A_CGROUP, minutes * MINUTE) for minutes in (8, 5, 1)]
    finding = found(KILLS, b.log(*thrice))
    assert finding.status is Status.DEGRADED
    assert finding.suspects == ("worker",)
    assert "concerns that workload" in ruled_out(KILLS, b.log(*thrice[:2])).because
    ruled_out(KILLS, b.log(*(said(OF_A_CGROUP, hours * HOUR) for hours in (9, 6, 3))))
    # With memory.oom.group all workers go at once, and the first is told twice (own recording): that is one kill.
    at_once = [said(OF_A_CGROUP, 5 * MINUTE)] * 9
    ruled_out(KILLS, b.log(*at_once))
    assert "3 times" in found(KILLS, b.log(thrice[0], *at_once, thrice[2])).summary
    others = [said(OF_A_CGROUP.replace("worker", name)) for name in ("a", "b", "c")]
    ruled_out(KILLS, b.log(*others))
    assert "not read" in undecided(KILLS, b.unread("kernel_log")).because
