"""Dying cgroups that are being freed while they are counted."""

import pytest

from bot.domain.verdict import Confidence
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out

LEAK = "leaked-memory-cgroups"


def test_count_that_falls_so_fast_that_few_are_left_at_once_is_no_leak() -> None:
    assert "450 fewer 5 s later: they are being freed" in ruled_out(LEAK, b.cgroups(2_600, later=2_150)).because
    assert found(LEAK, b.cgroups(2_600, later=2_590)).confidence is Confidence.POSSIBLE  # a dozen within a minute
    assert found(LEAK, b.cgroups(70_012, later=69_512)).confidence is Confidence.POSSIBLE
    looping = b.units(b.unit("agent.service", 1_300, 1_300))
    found(LEAK, b.cgroups(2_600, later=2_150), looping)


@pytest.mark.parametrize("probe", ["units", "containers", "reclaim"])
def test_what_could_not_be_asked_keeps_a_falling_count_in_sight(probe: str) -> None:
    found(LEAK, b.cgroups(2_600, later=2_150), b.unread(probe))
