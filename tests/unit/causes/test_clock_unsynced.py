"""Clocks that nobody keeps, that are far off or slow to read; and those that rightly count by another source."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.verdict import Confidence, Status
from bot.probes.clock import ClockReading
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

CLOCK = "clock-unsynced"
UNSTABLE = b.log(b.event("clocksource", "clocksource: Marking clocksource 'tsc' as unstable"))


def test_keeper_that_is_not_synchronised_is_degraded_once_the_node_is_up() -> None:
    lost = ClockReading("chrony", False, 0.001, "tsc", ("tsc",), ("Leap status     : Not synchronised",))
    assert found(CLOCK, lost).status is Status.DEGRADED
    assert "after its start" in undecided(CLOCK, lost, b.host(days=4 / 1440)).because


def test_keeper_that_is_started_again_and_again_is_not_waited_for() -> None:
    lost = ClockReading("chrony", False, 0.001, "tsc", ("tsc",), ("Leap status     : Not synchronised",))
    usec = round((b.DAYS * 86_400 - 30) * 1e6)
    by_hand, by_systemd = (b.units(b.unit("chronyd.service", often, started_usec=usec)) for often in (0, 40))
    assert "after its start" in undecided(CLOCK, lost, by_hand).because
    assert found(CLOCK, lost, by_systemd).status is Status.DEGRADED


def test_offset_counts_whatever_the_keeper_says() -> None:
    assert "1.2 s off" in found(CLOCK, ClockReading("chrony", True, 1.2, "tsc")).summary
    ruled_out(CLOCK, ClockReading("chrony", True, 0.2, "tsc"))


@pytest.mark.parametrize("source", ["hpet", "acpi_pm", "jiffies"])
def test_slow_clock_counts_after_the_kernel_gave_up_the_fast_one(source: str) -> None:
    assert "slow" in found(CLOCK, ClockReading("chrony", True, 0.0, source), UNSTABLE).summary
    ruled_out(CLOCK, ClockReading("chrony", True, 0.0, source))  # asked for on the kernel's command line


@pytest.mark.parametrize("source", ["xen", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "tsc"])
def test_clocks_of_virtual_machines_are_rightly_theirs(source: str) -> None:
    ruled_out(CLOCK, ClockReading("chrony", True, 0.0, source), UNSTABLE)


AT = datetime(2026, 11, 21, tzinfo=UTC)


def heard(hours: float, synced: bool = True, alone: bool = False) -> ClockReading:
    return ClockReading("chrony", synced, 0.0, "tsc", heard_at=AT - timedelta(hours=hours), alone=alone)


def test_keeper_that_heard_nobody_for_hours_is_not_believed() -> None:
    now = b.host(node_time_at=AT)
    assert "heard a time server 26 hours ago" in found(CLOCK, heard(26), now).summary
    ruled_out(CLOCK, heard(2.5), now)
    ruled_out(CLOCK, heard(-1), now)  # the clock was set back
    ruled_out(CLOCK, heard(26), b.host())  # the node's time is not known


def test_keeper_that_follows_its_own_clock_may_be_told_to() -> None:
    finding = found(CLOCK, heard(0, alone=True), b.host(node_time_at=AT))
    assert (finding.status, finding.confidence) == (Status.DEGRADED, Confidence.POSSIBLE)


def test_what_is_not_told_is_open() -> None:
    assert "not read" in undecided(CLOCK, b.unread("clock")).because
    assert "no known time service" in undecided(CLOCK, ClockReading("", None, None, "tsc")).because
    assert "does not say" in undecided(CLOCK, ClockReading("chrony", None, None, "tsc")).because
