"""Cores that were stuck, and when a reboot may end it."""

from datetime import timedelta

import pytest

from bot.domain.verdict import Confidence, Status
from bot.probes.cpu import CpuReading
from bot.probes.formats.kernel_line import KernelEvent
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, steps, undecided

LOCKUP = "lockup"


def lockup(minutes: float | None) -> KernelEvent:
    ago = None if minutes is None else timedelta(minutes=minutes)
    return b.event("soft-lockup", "watchdog: BUG: soft lockup - CPU#7 stuck for 22s!", ago, core=7)


def test_lockup_that_goes_on_is_critical_and_may_be_ended_by_a_reboot() -> None:
    finding = found(LOCKUP, b.log(lockup(5), lockup(1)))
    assert (finding.status, finding.confidence) == (Status.CRITICAL, Confidence.CONFIRMED)
    assert steps(finding) == [("reboot", "")]


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ([lockup(1)], Status.CRITICAL),  # one stall is over when it is told
        ([lockup(40), lockup(1)], Status.CRITICAL),
        ([lockup(40), lockup(30)], Status.DEGRADED),
        ([lockup(None), lockup(None)], Status.DEGRADED),  # lines without a time may be from now, and may not
    ],
)
def test_lockup_that_may_be_over_earns_no_reboot(lines: list[KernelEvent], status: Status) -> None:
    finding = found(LOCKUP, b.log(*lines))
    assert (finding.status, finding.remedy) == (status, ())


def test_lines_within_one_stall_are_one_episode_and_earn_no_reboot() -> None:
    stall = [lockup(10.2), lockup(9.8), b.event("rcu-stall", ago=timedelta(minutes=9), core=7)]
    finding = found(LOCKUP, b.log(*stall))
    assert (finding.status, finding.remedy) == (Status.DEGRADED, ())
    assert "3 lockup lines" in finding.summary
    assert "in 1 episode" in finding.summary


def test_many_cores_in_one_instant_are_a_machine_that_was_paused() -> None:
    def at_once(minutes: float, cores: int) -> list[KernelEvent]:
        ago = timedelta(minutes=minutes)
        return [b.event("soft-lockup", ago=ago + timedelta(seconds=core / 10), core=core) for core in range(cores)]

    finding = found(LOCKUP, b.log(*at_once(5, 6), *at_once(1, 6)))
    assert (finding.status, finding.remedy) == (Status.DEGRADED, ())
    assert "6 cores at the same instant: the machine itself was paused" in finding.summary
    assert steps(found(LOCKUP, b.log(*at_once(5, 3), *at_once(1, 3)))) == [("reboot", "")]


def test_one_stall_whose_core_is_held_now_goes_on() -> None:
    assert steps(found(LOCKUP, b.log(lockup(2)), b.held(core=7))) == [("reboot", "")]
    assert found(LOCKUP, b.log(lockup(40)), b.held(core=7)).remedy == ()
    assert found(LOCKUP, b.log(lockup(2)), b.held(core=3)).remedy == (), "another core, and busy by right"
    assert found(LOCKUP, b.log(b.event("rcu-stall")), b.held(core=7)).remedy == (), "whose core it was is not told"


def test_stalls_that_ceased_earn_no_reboot_though_both_were_within_minutes() -> None:
    assert steps(found(LOCKUP, b.log(lockup(9.9), lockup(6)))) == [("reboot", "")]
    assert found(LOCKUP, b.log(lockup(9.9), lockup(6.7))).remedy == (), "3.2 minutes apart, and none for 6.7"


def test_all_cores_of_a_small_machine_in_one_instant_are_a_pause_and_rcu_may_complain_after_it() -> None:
    def woke(minutes: float, *late: float) -> list[KernelEvent]:
        ago = timedelta(minutes=minutes)
        lines = [b.event("soft-lockup", ago=ago - timedelta(milliseconds=core), core=core) for core in (0, 1)]
        return lines + [b.event("rcu-stall", ago=ago - timedelta(seconds=after), core=1) for after in late]

    two = b.cpu(cores=2)
    assert found(LOCKUP, b.log(*woke(5), *woke(1)), two).remedy == ()
    assert found(LOCKUP, b.log(*woke(5, 25), *woke(1, 25)), two).remedy == ()
    assert steps(found(LOCKUP, b.log(*woke(7, 61), *woke(2, 61)), two)) == [("reboot", "")], "RCU complains on"
    assert steps(found(LOCKUP, b.log(*woke(5), *woke(1)))) == [("reboot", "")], "two of eight"
    assert found(LOCKUP, b.log(lockup(5), lockup(1)), b.unread("cpu")).remedy == (), "how many there are is not known"


def test_cores_that_the_hypervisor_takes_away_earn_no_reboot() -> None:
    def stolen(steal: float) -> CpuReading:
        return b.cpu({core: {"steal": steal} for core in range(8)})

    assert steps(found(LOCKUP, b.log(lockup(5), lockup(1)), stolen(4.9))) == [("reboot", "")]
    finding = found(LOCKUP, b.log(lockup(5), lockup(1)), stolen(5.0))
    assert (finding.status, finding.remedy) == (Status.CRITICAL, ())
    assert "the hypervisor takes 5.0 % of all cores' time" in finding.summary
    assert found(LOCKUP, b.log(lockup(5), lockup(1)), b.cpu({3: {"steal": 30.0}})).remedy == ()


def test_lockup_without_the_nodes_uptime_counts_and_earns_no_reboot() -> None:
    assert found(LOCKUP, b.log(lockup(5), lockup(1)), b.unread("host")).remedy == ()


def test_lockup_of_days_ago_is_told_and_ruled_out() -> None:
    assert "the last was 3 days ago" in ruled_out(LOCKUP, b.log(lockup(3 * 1440))).because
    undecided(LOCKUP, b.unread("kernel_log"))


def test_lockup_in_the_cgroup_walk_is_the_cgroups_and_earns_no_reboot_alone() -> None:
    finding = found(LOCKUP, b.log(lockup(5), lockup(1), b.event("stack-memcg-walk")))
    assert finding.remedy == ()
    assert "walk over memory cgroups" in finding.summary


def test_lockup_is_told_with_its_core_its_process_and_the_core_held_now() -> None:
    line = b.event("soft-lockup", "BUG: soft lockup - CPU#7 stuck for 22s! [java:41]", core=7, process="java:41")
    finding = found(LOCKUP, b.log(line), b.held(core=7))
    assert finding.summary == "1 lockup line, the last on core 7 in java:41 3 minutes ago"
    assert [one.finding for one in finding.evidence] == ["lockup", "core-held"]
    assert found(LOCKUP, b.log(b.event("rcu-stall"))).summary == "1 lockup line, the last 3 minutes ago"
    assert len(found(LOCKUP, b.log(line), b.unread("cpu")).evidence) == 1
