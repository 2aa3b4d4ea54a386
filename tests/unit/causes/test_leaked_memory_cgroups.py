"""The founding case in its faces: present or leaking, by whom, and what may be done about it."""

from datetime import timedelta
from typing import Any

import pytest

from bot.domain.verdict import Confidence, Finding, Status
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, steps, undecided

LEAK = "leaked-memory-cgroups"
DYING = 68_440  # one every 14 s over 11.25 days

# Code 1: the container loops inside one unit that runs. Code 5 on Ubuntu: the unit itself loops. Code 5 on Amazon
# Linux: the unit failed, and only its log and its container tell of the loop.
HIDDEN = (b.units(b.unit()), b.churning(), b.agents(b.agent()))
LOOPING = (b.units(b.between_tries(restarts=68_000)),)
FAILED = (b.units(b.stopped()), b.agents(b.agent(active="failed", log_exits=40, log_last_at="2026-11-20T22:10:07Z")))


@pytest.mark.parametrize("face", [HIDDEN, LOOPING, FAILED], ids=["hidden", "looping", "failed"])
@pytest.mark.parametrize("mode", ["v1", "v2", "hybrid"])
@pytest.mark.parametrize("kernel", ["5.4.0-1084-aws", "6.1.0-18-cloud-amd64"])
def test_leak_without_harm_is_degraded_and_disabled_only(face: tuple[object, ...], mode: str, kernel: str) -> None:
    held = b.memory(percpu=b.GIB, slab=b.GIB * 6 // 10)
    finding = found(LEAK, b.cgroups(DYING, mode=mode), b.host(kernel), *face, held)
    assert (finding.status, finding.confidence) == (Status.DEGRADED, Confidence.CONFIRMED)
    assert finding.suspects == ("ecs.service",)
    assert steps(finding) == [("disable_unit", "ecs.service")]
    assert "A reboot would clear what is left (the kernel holds 1.6 GiB now)" in finding.summary
    assert "no harm seen on this kernel" in finding.summary


@pytest.mark.parametrize("face", [HIDDEN, LOOPING, FAILED], ids=["hidden", "looping", "failed"])
def test_leak_with_harm_is_critical_and_disabled_before_the_reboot(face: tuple[object, ...]) -> None:
    finding = found(LEAK, b.cgroups(DYING), *face, b.held(), b.processes(b.process()), b.log(*b.starved()))
    assert (finding.status, finding.confidence) == (Status.CRITICAL, Confidence.CONFIRMED)
    assert finding.suspects == ("ecs.service",)
    assert steps(finding) == [("disable_unit", "ecs.service"), ("reboot", "")]
    assert 3 <= len(finding.evidence) <= 6
    assert all(one.source for one in finding.evidence)


def test_evidence_carries_the_nodes_own_lines() -> None:
    finding = found(LEAK, b.cgroups(DYING), *HIDDEN, b.held(), b.processes(b.process()), b.log(*b.starved()))
    source = {one.finding: "\n".join(one.source) for one in finding.evidence}
    assert source["dying-cgroups"] == "memory\t3\t68680\t1"
    assert "bbbb amazon/amazon-ecs-agent:latest" in source["leaker"]
    assert "Id=ecs.service" in source["leaker"]
    assert "10:00:01 39 0.0 0.00 99.0" in source["core-held-by-walker"]
    assert "1723 (kubelet)" in source["core-held-by-walker"]
    assert "TX q 5 is paused for too long" in source["nic-starved"]
    says = {one.finding: one.says for one in finding.evidence}
    assert "kernel 5.4.0-1084-aws, cgroup v1: each read of memory.numa_stat walks every cgroup" in says["kernel"]


@pytest.mark.parametrize(("kernel", "is_said"), [("6.12.117", False), ("7.1.3", False), ("7.2.12+deb14", True)])
def test_kernel_whose_pages_keep_no_cgroup_is_said_to_be_one(kernel: str, is_said: bool) -> None:
    finding = found(LEAK, b.cgroups(DYING, mode="v2"), b.host(kernel), *LOOPING)
    says = {one.finding: one.says for one in finding.evidence}
    assert (
        says["kernel"].endswith("since 7.2 pages keep no removed cgroup: what keeps these is something else") is is_said
    )
    assert steps(finding) == [("disable_unit", "ecs.service")]


@pytest.mark.parametrize("dying", [0, 17, 47, 999])
def test_few_dying_cgroups_rule_the_leak_out_with_their_figures(dying: int) -> None:
    because = ruled_out(LEAK, b.cgroups(dying), *LOOPING, b.held(), b.processes(b.process())).because
    assert f"{dying:,} dying memory cgroup" in because
    assert "240 alive" in because


def test_newest_look_is_the_one_that_counts() -> None:
    assert "900 dying" in ruled_out(LEAK, b.cgroups(1_200, later=900)).because
    assert "1,200 dying" in found(LEAK, b.cgroups(900, later=1_200)).summary


def test_quiet_node_with_seventy_thousand_is_present_and_not_proven() -> None:
    finding = found(LEAK, b.cgroups(70_000))
    assert (finding.status, finding.confidence) == (Status.DEGRADED, Confidence.POSSIBLE)
    assert "present, not proven" in finding.summary
    assert "leaker was not found" in finding.summary
    assert (finding.suspects, finding.remedy) == ((), ())


def test_growth_with_one_unit_that_loops_names_it() -> None:
    finding = found(LEAK, b.cgroups(11_131, later=12_400, mode="v2"), b.units(b.unit("agent.service", 20, 23)))
    assert (finding.confidence, finding.suspects) == (Confidence.CONFIRMED, ("agent.service",))
    assert steps(finding) == [("disable_unit", "agent.service")]
    assert "+1,269 5 s later" in finding.evidence[0].says
    assert len(finding.evidence[0].source) == 2


def test_growth_without_a_leaker_is_likely_and_has_no_remedy() -> None:
    finding = found(LEAK, b.cgroups(11_131, later=12_400))
    assert (finding.status, finding.confidence) == (Status.DEGRADED, Confidence.LIKELY)
    assert "leaker was not found" in finding.summary
    assert finding.remedy == ()


def test_growth_of_a_few_blames_nobody() -> None:
    units = b.units(b.unit("agent.service", 25, 26))
    for later, confidence in ((3_004, Confidence.POSSIBLE), (3_006, Confidence.LIKELY), (3_049, Confidence.LIKELY)):
        finding = found(LEAK, b.cgroups(3_000, later=later), units)
        assert (finding.confidence, finding.remedy) == (confidence, ())
        assert "leaker was not found" in finding.summary


def test_growth_of_many_tells_what_a_start_leaves() -> None:
    def growing(restarts: int) -> Confidence | None:
        units = b.units(b.unit("agent.service", restarts - 1, restarts))
        return found(LEAK, b.cgroups(3_000, later=3_200), units).confidence

    assert growing(8) is Confidence.CONFIRMED  # 200 each: 1,600 of 3,200
    assert growing(7) is Confidence.LIKELY


@pytest.mark.parametrize(
    ("restarts", "confidence"),
    [
        (68_000, Confidence.CONFIRMED),
        (136_000, Confidence.CONFIRMED),  # half were freed again
        (1_000_000, Confidence.CONFIRMED),  # more starts never make it less of a suspect
        (23_000, Confidence.CONFIRMED),  # three cgroups a start
        (22_000, Confidence.POSSIBLE),
        (40, Confidence.POSSIBLE),
    ],
)
def test_slow_leak_is_proven_by_turns_in_proportion(restarts: int, confidence: Confidence) -> None:
    finding = found(LEAK, b.cgroups(DYING), b.units(b.between_tries(restarts=restarts)))
    assert finding.confidence is confidence
    assert bool(finding.remedy) == (confidence is Confidence.CONFIRMED)
    if not finding.remedy:
        assert "does not fit the count: ecs.service" in finding.summary


def test_journals_pace_is_never_scaled_beyond_the_time_that_it_covers() -> None:
    old_systemd: dict[str, Any] = {
        "restarts": None,
        "active": "activating",
        "sub": "auto-restart",
        "restarts_logged_over": timedelta(hours=1),
    }
    units = b.units(b.unit(restarts_logged=254, **old_systemd))  # 253 an hour would be 68,310 in 11.25 days
    finding = found(LEAK, b.cgroups(DYING), units)
    assert (finding.confidence, finding.remedy) == (Confidence.POSSIBLE, ())
    whole = b.units(b.unit(restarts_logged=30_000, **old_systemd))
    assert found(LEAK, b.cgroups(DYING), whole).confidence is Confidence.CONFIRMED


def test_agent_container_seconds_old_on_a_node_up_for_days_is_in_proportion_by_its_pace() -> None:
    same = b.containers(b.container("bbbb", 4), later=[b.container("bbbb", 9)])
    assert found(LEAK, b.cgroups(DYING), b.units(b.unit()), same, b.agents(b.agent())).remedy
    older = b.containers(b.container("bbbb", 4_000), later=[b.container("bbbb", 4_005)])
    finding = found(LEAK, b.cgroups(DYING), b.units(b.unit()), older, b.agents(b.agent()))
    assert (finding.confidence, finding.remedy) == (Confidence.POSSIBLE, ())


@pytest.mark.parametrize(("days", "proven"), [(3.0, False), (4.0, True), (47.0, True), (48.0, False)])
def test_pace_of_an_agent_is_five_to_sixty_seconds_a_turn(days: float, proven: bool) -> None:
    finding = found(LEAK, b.cgroups(DYING), *HIDDEN, b.host(days=days))
    assert (finding.confidence is Confidence.CONFIRMED) == proven


def test_container_that_merely_came_beside_others_of_its_image_is_no_leaker() -> None:
    first = b.container("pod1", 900_000, "shop/web:1")
    finding = found(LEAK, b.cgroups(DYING), b.containers(first, later=[first, b.container("pod2", 2, "shop/web:1")]))
    assert finding.confidence is Confidence.POSSIBLE


def test_image_without_a_unit_is_named_and_nothing_is_disabled() -> None:
    reading = b.containers(exits_by_image={"jobs/crasher:1": 69_660}, exits_over=timedelta(days=11))
    finding = found(LEAK, b.cgroups(DYING), reading, b.memory_gone())
    assert (finding.status, finding.suspects, finding.remedy) == (Status.CRITICAL, ("jobs/crasher:1",), ())
    assert "No unit is known that starts it" in finding.summary
    assert "reboot alone is not offered" in finding.summary


def test_of_several_that_loop_the_one_that_could_have_made_them_is_named_and_the_others_are_told() -> None:
    units = b.units(b.between_tries("backup.service", 900), b.between_tries("ecs.service", 68_000))
    finding = found(LEAK, b.cgroups(DYING, later=DYING + 9), units)
    assert finding.suspects == ("ecs.service",)
    assert "backup.service restarted too; their restarts do not fit the count" in finding.evidence[1].says


def test_two_that_could_both_have_made_them_are_both_named_and_neither_is_offered() -> None:
    finding = found(LEAK, b.cgroups(DYING), b.units(b.between_tries("foo.service", 50_000), b.unit()), *HIDDEN[1:])
    assert (finding.confidence, finding.remedy) == (Confidence.LIKELY, ())
    assert set(finding.suspects) == {"foo.service", "ecs.service"}
    assert "which of them did is not known" in finding.summary


def test_several_that_loop_out_of_proportion_while_it_grows_are_all_named_and_none_is_disabled() -> None:
    units = b.units(b.between_tries("a.service", 900), b.between_tries("b.service", 700))
    finding = found(LEAK, b.cgroups(DYING, later=DYING + 9), units)
    assert (finding.confidence, finding.suspects, finding.remedy) == (Confidence.LIKELY, ("a.service", "b.service"), ())
    assert "does not fit the count" in finding.summary


def test_stopped_leaker_is_still_the_leaker_and_says_since_when() -> None:
    unit = b.stopped(restarts=68_000)
    finding = found(LEAK, b.cgroups(DYING), b.units(unit), b.memory_gone())
    assert "stopped at 10.8 days after boot, 12 hours ago" in finding.summary
    assert steps(finding) == [("disable_unit", "ecs.service"), ("reboot", "")]


def test_agent_that_failed_and_whose_log_tells_is_named_only_where_there_was_time_for_it() -> None:
    agent = b.agents(b.agent(active="failed", log_exits=40))
    assert found(LEAK, b.cgroups(DYING), b.units(b.stopped()), agent).suspects == ("ecs.service",)
    young = found(LEAK, b.cgroups(DYING), b.units(b.stopped(after_days=0.5)), agent)
    assert young.confidence is Confidence.POSSIBLE
    when_unknown = found(LEAK, b.cgroups(2_000), b.units(b.stopped(after_days=None)), agent)
    assert when_unknown.suspects == ("ecs.service",)
    few = b.agents(b.agent(active="failed", log_exits=4))
    assert found(LEAK, b.cgroups(DYING), b.units(b.stopped()), few).confidence is Confidence.POSSIBLE


def test_agent_in_use_that_failed_in_the_past_and_runs_now_is_left_alone() -> None:
    in_use = b.agents(b.agent(used=True, log_exits=400))
    assert found(LEAK, b.cgroups(DYING), b.units(b.unit()), in_use).confidence is Confidence.POSSIBLE


def test_service_that_runs_steadily_again_is_named_and_not_stopped() -> None:
    well = b.unit("shop.service", 68_000, started_usec=86_400_000_000)  # since the first day
    finding = found(LEAK, b.cgroups(DYING), b.units(well), b.memory_gone())
    assert (finding.suspects, finding.remedy) == (("shop.service",), ())
    assert "runs steadily now" in finding.summary


@pytest.mark.parametrize("name", ["kubelet.service", "nvidia-persistenced.service", "hidden-alias.service"])
def test_protected_leaker_is_named_and_nothing_is_done(name: str) -> None:
    aliases = ("sshd.service",) if name == "hidden-alias.service" else ()
    units = b.units(b.between_tries(name, aliases=aliases))
    finding = found(LEAK, b.cgroups(DYING), units, b.memory_gone())
    assert (finding.status, finding.suspects, finding.remedy) == (Status.CRITICAL, (name,), ())
    assert f"{name} is protected" in finding.summary


def test_leaker_that_the_node_needs_wants_mending() -> None:
    needed = b.agents(b.agent(used=True))
    finding = found(LEAK, b.cgroups(DYING), b.units(b.unit()), b.churning(), needed)
    assert (finding.confidence, finding.remedy) == (Confidence.CONFIRMED, ())
    assert "needed here" in finding.summary


@pytest.mark.parametrize("state", ["static", "generated", "indirect"])
def test_unit_without_an_install_section_is_masked(state: str) -> None:
    finding = found(LEAK, b.cgroups(DYING), b.units(b.between_tries(enabled=state)))
    assert steps(finding) == [("mask_unit", "ecs.service")]


def test_stopped_leaker_that_is_disabled_already_needs_no_step_until_there_is_harm() -> None:
    units = b.units(b.stopped(restarts=68_000, enabled="disabled"))
    quiet = found(LEAK, b.cgroups(DYING), units)
    assert quiet.remedy == ()
    assert "It is disabled already." in quiet.summary
    assert steps(found(LEAK, b.cgroups(DYING), units, b.memory_gone()))[-1] == ("reboot", "")


def test_uncounted_live_cgroups_leave_the_dying_ones_open() -> None:
    said = undecided(LEAK, b.cgroups(DYING, alive=2_000, alive_is_at_least=True))
    assert "at least 2,000 memory cgroups are alive" in said.because
    sibling = b.cgroups(DYING, alive=2_400, alive_is_at_least=True, siblings={"pids": 2_400})
    assert found(LEAK, sibling).confidence is Confidence.POSSIBLE


@pytest.mark.parametrize(
    ("readings", "points"),
    [
        ((b.held(), b.processes(b.process())), "kubelet"),
        ((b.log(*b.starved()),), "poll was scheduled but did not run"),
        ((b.units(b.between_tries(restarts=4_000)),), "ecs.service was started 4,000 times"),
        (HIDDEN, "amazon/amazon-ecs-agent"),
    ],
)
def test_unread_cgroups_are_suspected_where_something_points_at_them(readings: tuple[object, ...], points: str) -> None:
    said = undecided(LEAK, b.unread("cgroups"), *readings)
    assert said.suspected
    assert points in said.because
    assert "permission denied" in said.because


def test_unread_cgroups_of_a_quiet_node_are_open_and_not_suspected() -> None:
    looped = b.units(b.between_tries("backup.service", 12))
    for readings in ((), (looped,), (b.held(), b.processes(b.process("python")))):
        assert not undecided(LEAK, b.unread("cgroups"), *readings).suspected


@pytest.mark.parametrize("probe", ["units", "containers"])
def test_leaker_that_could_not_be_asked_for_is_not_found_and_says_why(probe: str) -> None:
    finding = found(LEAK, b.cgroups(DYING), b.unread(probe))
    assert finding.confidence is Confidence.POSSIBLE
    assert f"{probe} were not read (permission denied)" in finding.summary


def test_unread_uptime_leaves_counts_in_force_and_pace_unknown() -> None:
    assert found(LEAK, b.cgroups(DYING), *LOOPING, b.unread("host")).confidence is Confidence.CONFIRMED
    assert found(LEAK, b.cgroups(DYING), *HIDDEN, b.unread("host")).confidence is Confidence.POSSIBLE


def test_every_answer_is_a_finding_of_this_cause() -> None:
    assert isinstance(found(LEAK, b.cgroups(DYING)), Finding)
    assert found(LEAK, b.cgroups(DYING)).cause == LEAK
