"""What dying cgroups do, and what only looks like their doing."""

from datetime import timedelta

import pytest

from bot.domain.probe import Unread
from bot.domain.verdict import Confidence, Finding, Status
from bot.probes.reclaim import ReclaimReading
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, steps

LEAK = "leaked-memory-cgroups"
DYING = 68_440
LEAKER = b.units(b.between_tries(restarts=68_000))
CURED = [("disable_unit", "ecs.service"), ("reboot", "")]
DISABLED = CURED[:1]
NEW = b.host("6.1.0-18-cloud-amd64")
WALKED = (b.held(), b.processes(b.process()))
STACK = b.event("stack-memcg-walk", " mem_cgroup_nr_lru_pages+0x31/0x60")


def leak(*readings: object, **changed: float) -> Finding:
    """A proven leak with these readings beside it."""
    return found(LEAK, b.cgroups(DYING), LEAKER, *readings, **changed)


def seen(finding: Finding) -> set[str]:
    return {one.finding for one in finding.evidence}


def test_core_held_by_a_statistics_walker_is_likely_harm() -> None:
    finding = leak(*WALKED)
    assert (finding.status, finding.confidence, steps(finding)) == (Status.CRITICAL, Confidence.LIKELY, CURED)
    assert "core 39 held in the kernel by kubelet, walking dying cgroups" in finding.summary
    assert finding.harm == "core 39 held in the kernel by kubelet, walking dying cgroups"
    assert finding.found == "ecs.service leaks memory cgroups: 68,440 dying, 240 alive. Only a reboot frees them."


def test_what_work_feels_is_told_apart_from_how_it_comes_about() -> None:
    finding = leak(*WALKED, b.log(*b.starved()))
    assert finding.harm == "traffic cut 1 time in 24 h by resets of the network card, starved of CPU"
    assert finding.found == (
        "ecs.service leaks memory cgroups: 68,440 dying, 240 alive; kubelet walks them and holds core 39. "
        "Only a reboot frees them."
    )
    both = f"{finding.harm}; core 39 held in the kernel by kubelet, walking dying cgroups"
    assert f"Harm: {both}. Only" in finding.summary, "and the summary says all of it"


@pytest.mark.parametrize("name", ["kubelet", "cadvisor", "dockerd", "containerd", "systemd-oomd"])
def test_every_statistics_walker_is_known(name: str) -> None:
    assert leak(b.held(), b.processes(b.process(name))).status is Status.CRITICAL


@pytest.mark.parametrize(
    "readings",
    [
        (b.held(), b.processes(b.process("python"))),  # somebody else's kernel time
        (b.held(), b.processes(b.process(on=(3,)), b.process("python", sys=4.0))),  # the walker worked elsewhere
        (b.held(), b.processes(b.process(sys=0.3))),  # it hardly worked at all
        (b.held(hot_for=1), b.processes(b.process())),  # one second out of five
        (b.cpu({39: {"usr": 96.0, "sys": 4.0, "soft": 0.0}}), b.processes(b.process())),  # busy by right
    ],
    ids=["other process", "other core", "little time", "one second", "user time"],
)
def test_held_core_that_is_not_a_walkers_is_no_harm(readings: tuple[object, ...]) -> None:
    finding = leak(*readings)
    assert (finding.status, steps(finding)) == (Status.DEGRADED, DISABLED)


@pytest.mark.parametrize("seconds", [1, 2])
def test_short_window_can_see_a_held_core_too(seconds: int) -> None:
    finding = leak(b.held(seconds=seconds, hot_for=seconds), b.processes(b.process(sys=0.9 * seconds)))
    assert finding.status is Status.CRITICAL
    said = next(one.says for one in finding.evidence if one.finding == "core-held-by-walker")
    assert ("all of a short window" in said) == (seconds == 1)


def test_threads_that_were_not_seen_there_leave_the_only_one_with_as_much_kernel_time() -> None:
    finding = leak(b.held(), b.processes(b.process(on=())))
    assert finding.status is Status.CRITICAL
    assert any("alone used that much kernel time" in one.says for one in finding.evidence)


@pytest.mark.parametrize(
    ("kernel", "mode"), [("6.1.0-18-cloud-amd64", "v1"), ("5.8.0-1", "hybrid"), ("5.10.0-28", "v1"), ("5.4.0-1", "v2")]
)
def test_where_the_walk_is_cheap_a_hot_kubelet_earns_no_reboot(kernel: str, mode: str) -> None:
    finding = found(LEAK, b.cgroups(DYING, mode=mode), LEAKER, *WALKED, b.log(*b.starved()), b.host(kernel))
    assert (finding.status, steps(finding)) == (Status.DEGRADED, DISABLED)
    said = {one.finding: one.says for one in finding.evidence}
    assert "not attributed to the dying cgroups" in said["core-held"]
    assert "not attributed to the dying cgroups" in said["nic-starved"]


@pytest.mark.parametrize("host", [b.host("5.4.0-1084-aws"), NEW, b.unread("host")])
def test_stack_in_the_walk_confirms_harm_on_every_kernel(host: object) -> None:
    finding = leak(host, *WALKED, b.log(STACK))
    known = not isinstance(host, Unread)  # without the node's uptime nobody knows whether the unit runs steadily
    cured = CURED if known else []
    assert (finding.status, finding.confidence, steps(finding)) == (Status.CRITICAL, Confidence.CONFIRMED, cured)
    assert "mem_cgroup_nr_lru_pages" in "".join(line for one in finding.evidence for line in one.source)


def test_stack_of_days_ago_confirms_nothing() -> None:
    old = b.event("stack-memcg-walk", ago=timedelta(days=3))
    assert leak(NEW, b.log(old)).status is Status.DEGRADED


def test_unknown_kernel_lays_no_held_core_to_the_cgroups() -> None:
    finding = leak(b.unread("host"), *WALKED)
    assert (finding.status, steps(finding)) == (Status.DEGRADED, [])
    assert "the kernel's version was not read" in "".join(one.says for one in finding.evidence)


def test_starvation_resets_confirm_harm_and_the_place_is_told() -> None:
    finding = leak(*WALKED, b.log(*b.starved(queue=5)), b.interrupts({5: {39: 4}}))
    assert (finding.confidence, steps(finding)) == (Confidence.CONFIRMED, CURED)
    said = next(one for one in finding.evidence if one.finding == "nic-starved")
    assert "core 39, held in the kernel, serves this queue (eth0-Tx-Rx-5)" in said.says
    assert "45: eth0-Tx-Rx-5" in said.source
    by_core = b.event("nic-starved", "usecs since napi 6596000. napi CPU: 39", core=39)
    named = leak(*WALKED, b.log(by_core), b.interrupts({2: {39: 4}}))
    assert "serves this queue (eth0-Tx-Rx-2)" in "".join(one.says for one in named.evidence)
    elsewhere = leak(*WALKED, b.log(*b.starved(queue=5)), b.interrupts({5: {7: 4}}))
    assert "serves this queue" not in "".join(one.says for one in elsewhere.evidence)


def test_starvation_resets_without_a_held_core_confirm_harm_too() -> None:
    finding = leak(b.log(*b.starved()))
    assert (finding.status, finding.confidence, steps(finding)) == (Status.CRITICAL, Confidence.CONFIRMED, CURED)


@pytest.mark.parametrize(
    ("ago", "harmed"), [(timedelta(minutes=59), True), (timedelta(minutes=61), False), (None, True)]
)
def test_starvation_is_harm_of_now_for_an_hour(ago: timedelta | None, harmed: bool) -> None:
    assert (leak(b.log(*b.starved(ago))).status is Status.CRITICAL) == harmed


def test_starvation_of_this_morning_is_told_and_earns_no_reboot() -> None:
    finding = leak(b.log(*b.starved(timedelta(hours=5))))
    assert (finding.status, steps(finding)) == (Status.DEGRADED, DISABLED)
    assert "too long ago, or at an unknown time, to be present harm" in "".join(
        evidence.says for evidence in finding.evidence
    )
    twice = leak(b.log(*b.starved(timedelta(hours=8)), *b.starved(timedelta(hours=5))))
    assert steps(twice) == DISABLED
    recurring = [event for hours in (11, 8, 5) for event in b.starved(timedelta(hours=hours))]
    assert steps(leak(b.log(*recurring))) == CURED, "every three hours, and the next is not overdue by two turns"
    ceased = [event for hours in (20, 18, 16) for event in b.starved(timedelta(hours=hours))]
    assert steps(leak(b.log(*ceased))) == DISABLED, "every two hours, and none for sixteen"
    held_now = leak(b.log(*b.starved(timedelta(hours=5))), *WALKED)
    assert (held_now.confidence, steps(held_now)) == (Confidence.CONFIRMED, CURED)
    among_others = leak(
        b.log(*b.starved(timedelta(hours=5))), b.held(), b.processes(b.process(on=(3,)), b.process("python", sys=4.0))
    )
    assert steps(among_others) == CURED, "a core is held, and the walker burns kernel time beside another"
    others = leak(b.log(*b.starved(timedelta(hours=5))), b.held(), b.processes(b.process("python")))
    assert steps(others) == DISABLED, "a core that somebody else holds is no sign of the walk"


def test_walk_over_a_thousand_is_too_short_to_hold_a_core() -> None:
    few = (b.cgroups(1_100), b.units(b.between_tries(restarts=1_100)))
    finding = found(LEAK, *few, *WALKED)
    assert (finding.status, steps(finding)) == (Status.DEGRADED, DISABLED)
    assert "takes about 0.08 s, too little to hold a core" in "".join(evidence.says for evidence in finding.evidence)


def test_slab_as_such_is_no_harm_of_theirs() -> None:
    few = (b.cgroups(1_200), b.units(b.between_tries(restarts=1_150)))
    small = b.memory(4 * b.GIB, available=3 * b.GIB, percpu=35 * MIB, slab=400 * MIB)
    finding = found(LEAK, *few, small)
    assert (finding.status, steps(finding)) == (Status.DEGRADED, DISABLED)


@pytest.mark.parametrize(
    ("dying", "days", "many"), [(1_562, 7, False), (4_500, 7, False), (4_600, 7, True), (68_440, 11, True)]
)
def test_kernels_before_5_3_gather_dying_cgroups_without_a_leak(dying: int, days: float, many: bool) -> None:
    old = (b.cgroups(dying), b.host("4.19.0-27-cloud-amd64", days=days), b.units(b.between_tries(restarts=dying)))
    result = b.evaluate(LEAK, *old)
    assert isinstance(result, Finding) == many
    assert isinstance(b.evaluate(LEAK, *old[::2], b.host("5.4.0-1")), Finding), "since then they do not"


def test_reset_whose_reason_was_starvation_is_enough() -> None:
    reset = b.event("nic-reset", reason="nic-starved")
    assert leak(b.log(reset)).confidence is Confidence.CONFIRMED
    other = b.event("nic-reset", reason="nic-keepalive")
    assert leak(b.log(other)).status is Status.DEGRADED


def test_counter_of_starvation_tells_when_it_rises_or_when_no_log_does() -> None:
    name = "suspected_poll_starvation"
    assert leak(b.nic({name: 40}, {name: 41})).confidence is Confidence.CONFIRMED
    assert leak(b.nic({name: 40})).status is Status.DEGRADED  # the log was read, and tells of none
    untimed = leak(b.nic({name: 40}), b.unread("kernel_log"))
    assert (untimed.status, steps(untimed)) == (Status.DEGRADED, DISABLED), "when it rose nobody knows"
    said = next(one for one in untimed.evidence if one.finding == "nic-starved-earlier")
    assert (said.probe, said.source) == ("nic", ("suspected_poll_starvation: 40",))
    assert "stands at 40 since the driver was loaded; no log shows when" in said.says


def test_lockup_in_another_program_leaves_the_resets_likely() -> None:
    other = b.event("soft-lockup", process="python3:4711", core=39)
    assert leak(b.log(other, *b.starved())).confidence is Confidence.LIKELY
    walker = b.event("soft-lockup", process="kubelet:1723", core=39)
    assert leak(b.log(walker, *b.starved())).confidence is Confidence.CONFIRMED


LAB = b.cgroups(20_674, later=21_300, mode="v2", alive=60)
MIB = 1024


def lab(total: int, available: int, percpu: int, slab: int) -> Finding:
    """A small machine with 8 CPUs and an agent that leaks hundreds a second, kernel 6.1: 21,300 cost 752 MiB."""
    agent = b.units(b.unit("ecs-agent.service", 60, 62))
    memory = b.memory(total * MIB, available * MIB, percpu * MIB, slab * MIB)
    return found(LEAK, LAB, NEW, b.host("6.1.0-18", days=0.01), agent, memory)


def test_memory_gone_on_a_small_machine_is_confirmed_harm_on_a_new_kernel() -> None:
    finding = lab(768, available=60, percpu=90, slab=330)
    assert (finding.status, finding.confidence) == (Status.CRITICAL, Confidence.CONFIRMED)
    assert steps(finding) == [("disable_unit", "ecs-agent.service"), ("reboot", "")]
    assert "MemAvailable: 61440 kB" in next(one.source for one in finding.evidence if one.finding == "memory-gone")


@pytest.mark.parametrize(
    ("available", "percpu", "slab", "gone"),
    [
        (600, 20, 56, False),  # 76 of 768: under a tenth
        (600, 20, 58, True),  # 78: above it
        (70, 20, 40, False),  # less than a tenth is left, and a job has the rest
        (50, 20, 40, True),  # they hold more than is left
    ],
)
def test_memory_is_gone_above_a_tenth_or_where_they_hold_more_than_is_left(
    available: int, percpu: int, slab: int, gone: bool
) -> None:
    assert (lab(768, available, percpu, slab).status is Status.CRITICAL) == gone


@pytest.mark.parametrize(("total", "gone"), [(7_400, True), (7_600, False)])
def test_memory_that_they_can_have_taken_is_what_so_many_cost_on_so_many_cpus(total: int, gone: bool) -> None:
    assert (lab(total, 4_000, 2_000, 1_000).status is Status.CRITICAL) == gone


def test_training_job_that_uses_nearly_all_memory_earns_no_reboot() -> None:
    finding = leak(NEW, b.memory(1152 * b.GIB, available=57 * b.GIB, percpu=6 * b.GIB, slab=8 * b.GIB))
    assert (finding.status, steps(finding)) == (Status.DEGRADED, DISABLED)


def test_memory_that_dying_cgroups_cannot_have_taken_is_not_laid_to_them() -> None:
    few = (b.cgroups(1_500), b.units(b.between_tries(restarts=1_500)))
    assert found(LEAK, *few, b.memory(slab=60 * b.GIB)).status is Status.DEGRADED  # 40 MiB each: a file system's


OLD = b.host("4.4.0-210-generic")
REFUSED = b.event("cgroup-exhausted", "cgroup: mkdir failed: no space left on device")


def test_ids_are_spent_by_dying_cgroups_only_on_old_kernels_and_where_one_was_refused_lately() -> None:
    assert found(LEAK, b.cgroups(65_400), b.units(b.between_tries(restarts=65_400))).status is Status.DEGRADED
    spent = leak(OLD, b.log(REFUSED))
    assert (spent.status, spent.confidence, steps(spent)) == (Status.CRITICAL, Confidence.LIKELY, CURED)
    assert "68,680 of 65,535 are in use" in "".join(one.says for one in spent.evidence)
    assert steps(leak(OLD)) == DISABLED, "a count near the limit is no harm"
    late = b.event("cgroup-exhausted", REFUSED.text, timedelta(hours=3))
    for log in (b.log(late), b.log(b.event("cgroup-exhausted", REFUSED.text, None))):
        assert steps(leak(OLD, log)) == DISABLED
    forks = b.event("cgroup-exhausted", "cgroup: fork rejected by pids controller in /kubepods/x")
    assert steps(leak(OLD, b.log(forks))) == DISABLED


def test_refused_cgroup_is_not_laid_to_dying_ones_that_gave_their_ids_back() -> None:
    for more in ((), (b.cgroups(DYING, alive=64_000),)):
        finding = leak(b.log(REFUSED), *more)
        assert (finding.status, steps(finding)) == (Status.DEGRADED, DISABLED)
        said = next(one.says for one in finding.evidence if one.finding == "cgroup-refused")
        assert said.endswith("not attributed to the dying cgroups: from 4.8 on they have given their ids back")


def test_harm_of_an_unknown_time_earns_no_reboot_and_a_trace_over_few_is_none() -> None:
    for untimed in (b.event("stack-memcg-walk", STACK.text, None), *b.starved(None)):
        finding = leak(b.log(untimed))
        if finding.status is Status.CRITICAL:
            assert steps(finding) == DISABLED
            assert "that the harm goes on, and by them alone, was not seen" in finding.summary
    untimed = b.event("stack-memcg-walk", STACK.text, None)
    assert steps(leak(NEW, *WALKED, b.log(untimed))) == DISABLED, "where the walk is cheap it may be of any day"
    assert leak(b.log(*b.starved(None))).status is Status.CRITICAL
    assert steps(leak(b.log(*b.starved(None)), *WALKED)) == CURED, "a core is held now"
    few = found(LEAK, b.cgroups(1_100), b.units(b.between_tries(restarts=1_100)), *WALKED, b.log(STACK))
    assert (few.status, steps(few)) == (Status.DEGRADED, DISABLED)
    assert "memcg-walk-of-few" in seen(few)


def test_harm_of_what_is_being_freed_earns_no_reboot() -> None:
    freed = found(LEAK, b.cgroups(DYING, later=60_000), LEAKER, *WALKED)
    assert (freed.status, steps(freed)) == (Status.CRITICAL, DISABLED)
    assert "is being freed now" in freed.summary
    assert steps(found(LEAK, b.cgroups(DYING, later=68_000), LEAKER, *WALKED)) == CURED


@pytest.mark.parametrize("harm", [WALKED, (b.log(*b.starved()),), (b.memory_gone(),)])
@pytest.mark.parametrize("growth", [0, 40])
def test_harm_without_a_leaker_is_critical_and_never_a_reboot(harm: tuple[object, ...], growth: int) -> None:
    finding = found(LEAK, b.cgroups(DYING, later=DYING + growth), *harm)
    assert (finding.status, finding.confidence, finding.remedy) == (Status.CRITICAL, Confidence.LIKELY, ())
    assert "leaker was not found" in finding.summary
    assert "No reboot is offered" in finding.summary


def test_harm_without_a_leaker_is_confirmed_by_a_stack_and_still_no_reboot() -> None:
    finding = found(LEAK, b.cgroups(DYING), b.log(STACK))
    assert (finding.status, finding.confidence, finding.remedy) == (Status.CRITICAL, Confidence.CONFIRMED, ())


@pytest.mark.parametrize("probe", ["cpu", "processes", "kernel_log", "reclaim"])
def test_unread_harm_is_said_and_not_taken_for_none(probe: str) -> None:
    finding = leak(b.unread(probe), b.nic({}))
    assert f"no harm seen as far as read (unread: {probe})" in finding.summary
    assert steps(finding) == DISABLED


def test_unread_processes_leave_open_who_holds_the_core() -> None:
    finding = leak(b.held(), b.unread("processes"))
    assert finding.status is Status.DEGRADED
    assert "who held it was not read (permission denied)" in "".join(one.says for one in finding.evidence)


def test_busy_gpu_node_has_nothing_of_it() -> None:
    busy = b.cpu({core: {"usr": 93.0, "sys": 6.0, "soft": 0.5} for core in range(96)}, cores=96)
    full = b.memory(1152 * b.GIB, available=92 * b.GIB, slab=20 * b.GIB)
    old = b.log(*b.starved(timedelta(days=6)))
    python = b.processes(b.process("python", sys=9.0, usr=400.0, on=range(96)))
    b.ruled_out(LEAK, b.cgroups(46), busy, full, old, python)


def test_held_core_that_is_not_a_walkers_says_who_used_the_kernel_most() -> None:
    finding = leak(b.held(), b.processes(b.process("python"), b.process("tar", sys=0.4)))
    said = next(one for one in finding.evidence if one.finding == "core-held")
    assert said.says == "core 39 spent 99 % of 3 s in the kernel; most kernel time went to python, tar"
    assert said.source == ("10:00:01 39 0.0 0.00 99.0 0.0 1.0",) * 3


def test_memory_gone_is_told_with_what_is_left_where_that_is_told() -> None:
    memory = b.memory_gone()
    said = next(one.says for one in leak(memory).evidence if one.finding == "memory-gone")
    assert said == (
        "68,440 dying cgroups hold about 2.4 GiB of 16.0 GiB (of Percpu + SUnreclaim), 10.0 GiB (62 %) are left"
    )
    old = ReclaimReading({}, {}, {name: kib for name, kib in memory.meminfo_kib.items() if name != "MemAvailable"})
    said = next(one.says for one in leak(old).evidence if one.finding == "memory-gone")
    assert said.endswith("hold about 2.4 GiB of 16.0 GiB (of Percpu + SUnreclaim)")


def test_starved_poll_is_told_with_its_device_its_number_and_its_age() -> None:
    said = next(one.says for one in leak(b.log(*b.starved())).evidence if one.finding == "nic-starved")
    assert said == (
        "eth0: the driver's poll was scheduled but did not run (2 lines, 1 reset besides, the last 3 minutes ago)"
    )
    bare = b.log(b.event("nic-starved", ago=None))
    said = next(one.says for one in leak(bare).evidence if one.finding == "nic-starved")
    assert said == "the driver's poll was scheduled but did not run (1 line, the last at an unknown time)"
