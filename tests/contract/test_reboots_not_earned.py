"""Whole nodes that ask for a reboot and do not earn one, each beside a sibling that does."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.contract.test_verdicts_once_wrong import CORE, harmed, judged, told
from tests.independent.cgroups import ecs_loops, kubelet_holds, starves
from tests.independent.facts import DAY, HOUR, NOW
from tests.independent.kinds import amazon2, founding, gpu_node, rocky8, small
from tests.independent.machine import Machine

LEAK, LIVE = "leaked-memory-cgroups", "too-many-live-cgroups"
SOFT = "watchdog: BUG: soft lockup - CPU#{} stuck for 22s! [{}:4411]"
RCU = "rcu: INFO: rcu_sched self-detected stall on CPU"
REFUSED = "cgroup: cgroup_mkdir: cannot make another, No space left on device"


def reboots(machine: Machine) -> bool:
    return "reboot" in told(machine)[2]


def walk(machine: Machine, ago: float, core: int = 7) -> Machine:
    """Let a call trace of that age be in the walk over memory cgroups."""
    machine.log((ago, f"CPU: {core} PID: 2114 Comm: kubelet Not tainted 5.4.0-1084-aws #91"))
    machine.log((ago - 0.01, "RIP: 0010:mem_cgroup_node_nr_lru_pages+0x6a/0xa0"))
    return machine.log((ago - 0.02, " memcg_numa_stat_show+0x16e/0x1f0"))


# --- stalls


@pytest.mark.parametrize(("busy", "earned"), [(5, True), (11, False)])
def test_core_that_is_busy_now_is_not_the_one_that_was_stuck(busy: int, earned: bool) -> None:
    machine = gpu_node().log((9 * 60, SOFT.format(5, "java"))).core(busy, sys=99)
    assert reboots(machine.process("tar", sys=445, core=busy, pid=812, state="R")) == earned


def paused(machine: Machine, *ago: float, cores: int, late: float = 25) -> Machine:
    """Let the hypervisor stop the machine: all cores tell of it as they wake, and RCU a while later."""
    for at in ago:
        machine.log(*((at - core / 1e4, SOFT.format(core, "swapper/0")) for core in range(cores)))
        machine.log((at - late, RCU), (at - late - 0.001, "rcu: \t1-....: (20999 ticks this GP) idle=3a4c/1/0x4"))
    return machine


def test_small_machine_that_was_paused_twice_for_its_backups_was_not_stuck() -> None:
    assert not reboots(paused(small(), 480, 190, cores=2))
    alone = small().log(*((ago, SOFT.format(1, "khugepaged")) for ago in (480, 190)))
    assert reboots(alone), "one core of two was stuck by itself"


def test_pause_after_which_rcu_complains_is_a_pause_and_one_after_which_a_core_is_stuck_is_none() -> None:
    assert not reboots(paused(gpu_node(), 480, 190, cores=6).core(3, sys=99))
    still = paused(gpu_node(), 480, 190, cores=6).log(*((ago, SOFT.format(3, "python")) for ago in (440, 150)))
    assert reboots(still)


@pytest.mark.parametrize(("steal", "earned"), [(1.0, True), (12.0, False)])
def test_cores_that_the_hypervisor_takes_away_are_not_stuck_in_this_kernel(steal: float, earned: bool) -> None:
    machine = small().all_cores(usr=30, steal=steal)
    machine.log(*((ago, SOFT.format(1, "nginx")) for ago in (500, 290, 80)))
    assert reboots(machine) == earned


@pytest.mark.parametrize(("last", "earned"), [(300, True), (400, False)])
def test_stalls_that_ceased_do_not_go_on(last: float, earned: bool) -> None:
    assert reboots(gpu_node().log(*((ago, SOFT.format(9, "khugepaged")) for ago in (590, last)))) == earned


# --- dying cgroups


@pytest.mark.parametrize(("dying", "earned"), [(1_100, False), (68_440, True)])
def test_trace_in_the_walk_over_a_thousand_is_no_harm_of_theirs(dying: int, earned: bool) -> None:
    machine = walk(founding().loops("push.service", dying - 50, 11).cgroups(240, dying), 700)
    assert reboots(machine) == earned


def test_cgroup_that_was_refused_is_no_harm_of_dying_ones_that_gave_their_ids_back() -> None:
    machine = gpu_node().loops("push.service", 68_300, 26).cgroups(240, 68_440)
    assert told(machine.log((600, REFUSED))) == ("degraded", LEAK, ["disable_unit push.service"])
    old = rocky8(up=60 * DAY).loops("push.service", 65_200, 79).cgroups(240, 65_240)
    old.facts.kernel = "4.4.0-210-generic"
    assert reboots(old.log((600, REFUSED)))
    late = rocky8(up=60 * DAY).loops("push.service", 65_200, 79).cgroups(240, 65_240).log((20 * HOUR, REFUSED))
    late.facts.kernel = "4.4.0-210-generic"
    assert not reboots(late), "twenty hours ago"


@pytest.mark.parametrize(("later", "earned"), [(68_440, True), (51_000, False)])
def test_what_is_being_freed_as_one_looks_needs_no_reboot(later: int, earned: bool) -> None:
    machine = ecs_loops(starves(kubelet_holds(founding(), CORE), CORE, 900, 5400, 12), 68_300, 11.2)
    status, cause, steps = told(machine.cgroups(240, 68_440, later))
    assert (status, cause, steps[:1]) == ("critical", LEAK, ["disable_unit ecs.service"])
    assert (steps[1:] == ["reboot"]) == earned


def test_rise_beside_containers_that_come_and_go_is_not_laid_to_a_unit_that_started_once() -> None:
    def host(*later: str) -> Machine:
        machine = harmed(founding()).loops("push.service", 1_200, 5.5).cgroups(240, 68_440, 68_560)
        rows = [f"{'a' * 64}|ci/build:7|build-1|2026-11-21 12:13:00 +0000 UTC|Up 1 minute"]
        return machine.docker(rows, later or rows)

    assert "push.service" in str(judged(host()).plan), "its one start left a hundred and twenty"
    other = f"{'b' * 64}|ci/build:7|build-2|2026-11-21 12:14:04 +0000 UTC|Up 1 second"
    assert judged(host(other)).plan is None


@pytest.mark.parametrize(("worked", "earned"), [(20 * 60, False), (11 * DAY - 120, True)])
def test_agent_that_worked_until_lately_did_not_loop_for_eleven_days(worked: float, earned: bool) -> None:
    rows = [
        [f"{n * 64}|amazon/amazon-ecs-agent:latest|ecs-agent|2026-11-21 12:13:5{at} +0000 UTC|Up 9 seconds"]
        for at, n in enumerate("ab")
    ]
    machine = harmed(amazon2(up=11 * DAY)).agent("ecs.service").docker(rows[0], rows[1])
    machine.service("ecs.service", Restart="on-failure", started_ago=11 * DAY - 60).ecs(None, exits=80, every=13.9)
    at = datetime.fromtimestamp(NOW - worked, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    line = f'level=info time={at} msg="Registered container instance with cluster!"'
    machine.facts.agent_files += f"==> /var/log/ecs/ecs-agent.log <==\n{line}\n"
    assert reboots(machine) == earned


# --- live cgroups


@pytest.mark.parametrize(
    ("alive", "ago", "earned"), [(15_000, 600, True), (15_000, 20 * HOUR, False), (12_400, 600, False)]
)
def test_live_cgroups_earn_a_reboot_only_where_a_walk_over_them_takes_seconds_and_is_of_now(
    alive: int, ago: float, earned: bool
) -> None:
    assert reboots(walk(Machine(kernel="5.4.0-1084-aws", v1=True).pods(8).cgroups(alive, 60), ago)) == earned


@pytest.mark.parametrize(
    ("alive", "ago", "earned"), [(64_800, 600, True), (64_800, 9 * HOUR, False), (9_000, 600, False)]
)
def test_refused_cgroup_earns_a_reboot_only_where_ids_are_spent_and_now(alive: int, ago: float, earned: bool) -> None:
    assert reboots(Machine().pods(8).cgroups(alive, 60).log((ago, REFUSED))) == earned


def test_live_cgroups_that_may_be_those_of_containers_earn_no_reboot() -> None:
    machine = walk(Machine(kernel="5.4.0-1084-aws", v1=True).pods(8).cgroups(15_000, 60), 600)
    assert not reboots(machine.without("containers"))
