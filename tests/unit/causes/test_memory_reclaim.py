"""Memory that must be won back, and kills for want of it."""

from datetime import timedelta

import pytest

from bot.domain.readings.kernel_log import KernelEventKind as Kind
from bot.domain.verdict import Confidence, Status
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
        ({"pgscan_direct": 5_000}, 0.0, Confidence.LIKELY),
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
    assert found(RECLAIM, b.log(b.event(Kind.OOM_KILL, whole))).confidence is Confidence.LIKELY
    ruled_out(RECLAIM, b.log(b.event(Kind.OOM_KILL, whole, timedelta(hours=2))))
    ruled_out(RECLAIM, b.log(b.event(Kind.OOM_KILL, "Memory cgroup out of memory: Killed process 4711")))


def test_ring_that_could_not_be_refilled_is_want_of_memory() -> None:
    assert found(RECLAIM, b.log(b.event(Kind.NIC_REFILL))).confidence is Confidence.LIKELY


def test_unread_memory_is_open() -> None:
    undecided(RECLAIM, b.unread("reclaim"))
    found(RECLAIM, b.unread("reclaim"), b.log(b.event(Kind.NIC_REFILL)))
