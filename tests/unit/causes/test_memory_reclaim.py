"""Memory that must be reclaimed, and kills for lack of it."""

from datetime import timedelta

import pytest

from bot.domain.verdict import Confidence, Status
from bot.probes.reclaim import ReclaimReading
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

RECLAIM = "memory-reclaim"


def test_direct_reclaim_with_little_memory_left_is_confirmed() -> None:
    short = b.memory(available=15 * b.GIB, rises={"allocstall_normal": 40, "pgscan_direct": 9_000})
    finding = found(RECLAIM, short)
    assert (finding.status, finding.confidence, finding.remedy) == (Status.DEGRADED, Confidence.CONFIRMED, ())
    assert "40 allocations stalled" in finding.summary
    assert "allocstall_normal 40" in finding.evidence[0].source


@pytest.mark.parametrize(
    ("rises", "pressure", "confidence"),
    [
        ({"allocstall_normal": 20}, 0.0, Confidence.LIKELY),
        ({"pgscan_direct": 5_000, "allocstall_normal": 1}, 0.0, Confidence.LIKELY),
        ({"pgscan_direct": 900_000}, 0.0, None),  # a NUMA node's own reclaim stalls nobody (vm.zone_reclaim_mode)
        ({"allocstall_normal": 20}, 10.0, Confidence.CONFIRMED),
        ({}, 10.0, Confidence.LIKELY),
        ({"allocstall_normal": 19, "pgscan_direct": 4_999, "pgscan_kswapd": 10**6}, 9.9, None),
    ],
)
def test_reclaim_is_direct_or_felt(rises: dict[str, int], pressure: float, confidence: Confidence | None) -> None:
    reading = b.memory(rises=rises, pressure={"memory full": pressure})
    if confidence is None:
        ruled_out(RECLAIM, reading)
    else:
        assert found(RECLAIM, reading).confidence is confidence


def test_reclaim_that_takes_nearly_half_of_all_time_is_critical() -> None:
    assert found(RECLAIM, b.memory(pressure={"memory full": 45.0})).status is Status.CRITICAL


def test_kill_for_want_of_memory_counts_for_an_hour_and_a_pods_own_limit_never() -> None:
    whole = "Out of memory: Killed process 4711 (python)"
    short = b.memory(available=15 * b.GIB)
    assert found(RECLAIM, short, b.log(b.event("oom-kill", whole))).confidence is Confidence.LIKELY
    ruled_out(RECLAIM, short, b.log(b.event("oom-kill", whole, timedelta(hours=2))))
    ruled_out(RECLAIM, short, b.log(b.event("oom-kill", "Memory cgroup out of memory: Killed process 4711")))


def test_kill_that_gave_the_memory_back_is_no_reclaim() -> None:
    alone = ruled_out(RECLAIM, b.log(b.event("oom-kill", "Out of memory: Killed process 4711 (python)")))
    assert alone.because.endswith("the kernel killed processes 3 minutes ago (oom-kills)")


def test_ring_that_could_not_be_refilled_is_want_of_memory() -> None:
    assert found(RECLAIM, b.log(b.event("nic-refill"))).confidence is Confidence.LIKELY
    ruled_out(RECLAIM, b.log(b.event("nic-refill", ago=timedelta(hours=7))))


def test_unread_memory_is_open() -> None:
    undecided(RECLAIM, b.unread("reclaim"))
    found(RECLAIM, b.unread("reclaim"), b.log(b.event("nic-refill")))


def test_reclaim_is_told_with_what_is_left_and_who_works() -> None:
    work = b.processes(b.process("kswapd0", sys=2.0), b.process("kcompactd0", sys=0.0), b.process("python", sys=1.0))
    short = b.memory(available=15 * b.GIB, rises={"allocstall_normal": 40, "compact_stall": 3})
    finding = found(RECLAIM, short, work, b.unread("cgroups"))
    assert [one.finding for one in finding.evidence] == ["direct-reclaim", "memory-short", "reclaim-threads"]
    assert "3 compaction stalls besides" in finding.evidence[0].says
    assert finding.evidence[1].says == "15.0 GiB of 384.0 GiB are left"
    assert finding.evidence[1].source == ("MemTotal: 402653184 kB", "MemAvailable: 15728640 kB")
    assert finding.evidence[2].says == "kswapd0 used 2.0 s of CPU"
    roomy = found(RECLAIM, b.memory(rises={"allocstall_normal": 40}), work)
    assert [one.finding for one in roomy.evidence] == ["direct-reclaim", "reclaim-threads"]


def test_kill_while_memory_is_short_is_critical() -> None:
    short = b.memory(available=15 * b.GIB, rises={"allocstall_normal": 40})
    kill = b.log(b.event("oom-kill", "Out of memory: Killed process 4711 (python)"))
    assert found(RECLAIM, short, kill).status is Status.CRITICAL
    assert found(RECLAIM, b.memory(available=15 * b.GIB), kill).status is Status.DEGRADED


def test_little_reclaim_is_ruled_out_with_its_figures() -> None:
    few = b.memory(rises={"allocstall_normal": 3})
    assert ruled_out(RECLAIM, few).because == (
        "hardly any direct reclaim (3 stalls) within the window; 78 % of the memory is available"
    )
    assert ruled_out(RECLAIM).because == "no direct reclaim within the window; 78 % of the memory is available"
    untold = ReclaimReading({"pgscan_direct": 4}, {"pgscan_direct": 4}, {})
    assert ruled_out(RECLAIM, untold).because == "no direct reclaim within the window"


def test_counters_of_one_look_alone_leave_reclaim_open() -> None:
    once = ReclaimReading({"pgscan_direct": 4}, {}, {"MemTotal": 8, "MemAvailable": 4})
    assert "only once" in undecided(RECLAIM, once).because
