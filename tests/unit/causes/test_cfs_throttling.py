"""Cgroups held back by their own quota."""

from datetime import timedelta

from bot.domain.verdict import Confidence, Status
from bot.probes.throttling import ThrottledGroup, ThrottlingReading
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

QUOTA = "cfs-throttling"


def group(throttled: int, periods: int = 50) -> ThrottledGroup:
    path = "/kubepods/burstable/pod1/c1"
    return ThrottledGroup(path, periods, throttled, timedelta(seconds=3), (f"nr_throttled {throttled}",))


def test_cgroup_held_back_in_half_of_its_periods_is_degraded() -> None:
    finding = found(QUOTA, ThrottlingReading((group(3), group(25)), 80))
    assert (finding.status, finding.confidence, finding.remedy) == (Status.DEGRADED, Confidence.CONFIRMED, ())
    assert "50 % of periods; the node's cores are 76 % idle" in finding.summary
    assert finding.evidence[0].source == ("nr_throttled 25",)
    assert len(finding.evidence) == 1


def test_little_throttling_is_ruled_out_and_what_was_not_looked_at_is_open() -> None:
    assert "48 % of periods" in ruled_out(QUOTA, ThrottlingReading((group(24),), 80)).because
    ruled_out(QUOTA, ThrottlingReading((group(9, periods=9),), 80))
    undecided(QUOTA, ThrottlingReading((), 1500, capped=True))
    undecided(QUOTA, b.unread("throttling"))


def test_moments_at_the_end_of_each_period_are_ruled_out_with_the_time_that_they_cost() -> None:
    brief = ThrottledGroup("/kubepods/pod1", 50, 50, timedelta(milliseconds=60))
    assert "100 % of periods, 0.06 s altogether" in ruled_out(QUOTA, ThrottlingReading((brief,), 80)).because
