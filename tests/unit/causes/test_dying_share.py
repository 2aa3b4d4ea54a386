"""The unit under which the kernel itself counts the dying cgroups is the leaker; no other place names one."""

from typing import Any

import pytest

from bot.causes import _leaker
from bot.domain.verdict import Confidence, Finding, Status
from bot.probes.cgroups import CgroupsReading
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, steps

LEAK = "leaked-memory-cgroups"
DYING = 7_612
ECS = "system.slice/ecs.service"
HARM = b.memory(total=2 * b.GIB, available=b.GIB, percpu=b.GIB // 4, slab=b.GIB // 4)  # 7,612 cost 270 MiB on 8 CPUs


def below(figures: dict[str, int], rose: int = 0, **more: Any) -> CgroupsReading:
    """A v2 node whose kernel counts below these; all that rose did so below each of them."""
    first = {path: figure - rose for path, figure in figures.items()}
    lines = {path: f"/sys/fs/cgroup/{path}/cgroup.stat: nr_dying_descendants {n}" for path, n in figures.items()}
    told = {"dying_below": first, "dying_below_later": figures, "source_below": lines, **more}
    return b.cgroups(DYING - rose, DYING, "v2", 36, **told)


def in_ecs(figure: int = 7_586, **more: Any) -> CgroupsReading:
    return below({"system.slice": DYING - 12, ECS: figure}, **more)


def who(finding: Finding) -> str:
    """What is said of the leaker, or of its not being found."""
    return finding.evidence[1].says


@pytest.mark.parametrize("rose", [0, 1_228])
def test_unit_that_systemd_calls_well_is_named_by_the_kernels_own_count(rose: int) -> None:
    finding = found(LEAK, in_ecs(rose=rose), b.units(b.unit()), b.agents(b.agent()))
    assert (finding.suspects, finding.confidence) == (("ecs.service",), Confidence.CONFIRMED)
    assert steps(finding) == [("disable_unit", "ecs.service")]
    assert "7,586 of the 7,612 dying are under ecs.service" in who(finding)
    assert ("(+1,228 between the looks)" in who(finding)) == bool(rose)
    assert finding.evidence[1].probe == "cgroups"
    assert finding.evidence[1].source[0] == (
        "/sys/fs/cgroup/system.slice/ecs.service/cgroup.stat: nr_dying_descendants 7586"
    )


def test_harm_adds_the_reboot_that_clears_what_is_left() -> None:
    finding = found(LEAK, in_ecs(rose=1_228), b.units(b.unit()), b.agents(b.agent()), HARM)
    assert (finding.status, finding.confidence) == (Status.CRITICAL, Confidence.CONFIRMED)
    assert steps(finding) == [("disable_unit", "ecs.service"), ("reboot", "")]


def test_unit_with_its_loop_is_named_once_and_with_both_arguments() -> None:
    finding = found(LEAK, in_ecs(rose=1_228), b.units(b.unit()), b.churning(), b.agents(b.agent()))
    assert finding.suspects == ("ecs.service",)
    assert "dying are under ecs.service" in who(finding)
    assert "its container was replaced between the looks" in who(finding)
    assert "started over too" not in who(finding)


def test_bulk_below_another_unit_than_the_one_that_loops_clears_the_one_that_loops() -> None:
    units = b.units(b.between_tries(restarts=7_500), b.unit("other.service"))
    finding = found(LEAK, below({"system.slice": DYING, "system.slice/other.service": 7_000}, 1_228), units)
    assert finding.suspects == ("other.service",)
    assert "ecs.service restarted too; the dying cgroups are not under them" in who(finding)
    assert all(unit != "ecs.service" for _, unit in steps(finding))


@pytest.mark.parametrize(("figure", "confidence"), [(3_806, Confidence.CONFIRMED), (3_805, Confidence.POSSIBLE)])
def test_share_just_below_the_threshold_names_nobody(figure: int, confidence: Confidence) -> None:
    finding = found(LEAK, in_ecs(figure), b.units(b.unit()), b.agents(b.agent()))
    assert finding.confidence is confidence
    assert bool(finding.suspects) == (confidence is Confidence.CONFIRMED)


def test_half_under_each_of_two_units_names_neither() -> None:
    halves = below({"system.slice": DYING, ECS: DYING // 2, "system.slice/other.service": DYING // 2}, 1_228)
    finding = found(LEAK, halves, b.units(b.unit(), b.unit("other.service")), b.agents(b.agent()))
    assert (finding.suspects, finding.remedy, finding.confidence) == ((), (), Confidence.LIKELY)


def test_cgroups_directly_under_a_slice_are_told_by_nobody_and_the_loop_decides() -> None:
    under_slice = below({"system.slice": DYING, ECS: 200}, 1_228)
    assert found(LEAK, under_slice, b.units(b.between_tries(restarts=30))).suspects == ("ecs.service",)
    finding = found(LEAK, under_slice, b.units(b.unit()), b.agents(b.agent()))
    assert finding.suspects == ()
    assert "the leaker was not found; 7,612 of the 7,612 dying are under system.slice" in finding.summary


def test_nothing_told_below_is_no_zero() -> None:
    looping = b.units(b.between_tries(restarts=7_500))
    assert found(LEAK, b.cgroups(DYING, mode="v2"), looping).suspects == ("ecs.service",)
    assert _leaker.largest_share(b.cgroups(DYING), DYING, 0.5) is None


@pytest.mark.parametrize("name", ["containerd.service", "docker.service", "kubelet.service"])
def test_protected_unit_is_named_and_never_planned_against(name: str) -> None:
    finding = found(LEAK, below({f"system.slice/{name}": 7_000}, 1_228), b.units(b.unit(name)), HARM)
    assert (finding.status, finding.suspects, finding.remedy) == (Status.CRITICAL, (name,), ())
    assert f"{name} is protected" in finding.summary


@pytest.mark.parametrize("readings", [(b.units(b.unit("shop.service")),), (b.unread("units"),), ()])
def test_unit_that_runs_and_may_be_needed_is_named_and_not_stopped(readings: tuple[Any, ...]) -> None:
    finding = found(LEAK, below({"system.slice/shop.service": 7_000}, 1_228), *readings, HARM)
    assert (finding.suspects, finding.confidence, finding.remedy) == (("shop.service",), Confidence.CONFIRMED, ())
    assert "shop.service leaks memory cgroups" in finding.summary
    assert "runs steadily now: disabling it would stop a working service" in finding.summary


@pytest.mark.parametrize(("rose", "verb"), [(1_228, "leaks memory cgroups"), (0, "leaked memory cgroups and runs")])
def test_agent_that_failed_in_the_past_and_runs_now_is_named_and_not_stopped(rose: int, verb: str) -> None:
    agent = b.agents(b.agent(used=None, log_exits=40, log_last_at="2026-11-20T22:10:07Z"))
    finding = found(LEAK, in_ecs(rose=rose), b.units(b.unit()), agent)
    assert (finding.suspects, finding.confidence, finding.remedy) == (("ecs.service",), Confidence.CONFIRMED, ())
    assert f"ecs.service {verb}" in finding.summary


def test_agent_in_use_is_named_and_wants_mending() -> None:
    finding = found(LEAK, in_ecs(rose=1_228), b.units(b.unit()), b.agents(b.agent(used=True)))
    assert (finding.suspects, finding.remedy) == (("ecs.service",), ())
    assert "needed here" in finding.summary


@pytest.mark.parametrize(
    "path",
    [
        "kubepods.slice/kubepods-burstable.slice",
        "kubepods/besteffort",
        "kubepods.slice",
        "system.slice/docker-0a1b.scope",
        "docker/0a1b",
        "system.slice/$(touch pwned).service",
    ],
)
def test_place_that_is_no_unit_is_told_and_no_unit_is_named_for_it(path: str) -> None:
    looping = (b.units(b.between_tries(restarts=7_500)), b.agents(b.agent()), HARM)
    finding = found(LEAK, below({path.partition("/")[0]: DYING, path: 7_000}, 1_228), *looping)
    assert (finding.suspects, finding.remedy) == ((), ())
    assert f"7,000 of the 7,612 dying are under {path}" in finding.summary
    assert "not a unit that could be disabled" in finding.summary
    assert finding.evidence[1].source[0].startswith(f"/sys/fs/cgroup/{path}/cgroup.stat")


def test_pods_image_that_ends_in_proportion_is_named_for_what_lies_below_the_pods() -> None:
    ended = b.containers(exits_by_image={"jobs/x:1": DYING}, exits_over=b.host().uptime)
    finding = found(LEAK, below({"kubepods.slice": DYING}), ended)
    assert (finding.suspects, finding.remedy) == (("jobs/x:1",), ())


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        (ECS, "ecs.service"),
        ("own.service", "own.service"),
        ("own.service/task", "own.service"),
        ("system.slice/_cpu.service", "cpu.service"),
        (r"system.slice/a\x2db@1.service", r"a\x2db@1.service"),
        ("system.slice/odd name.service", ""),
        ("lxc.payload.web/ecs.service", ""),
        ("machine.slice/web.scope", ""),
        ("kubepods.slice/odd.service", ""),
        (".service", ""),
        ("", ""),
    ],
)
def test_only_a_name_that_systemd_allows_below_slices_is_a_unit(path: str, unit: str) -> None:
    largest = _leaker.largest_share(below({path: DYING}), DYING, 0.5)
    assert largest is not None
    assert largest.unit == unit


def test_later_look_counts_and_one_look_gives_no_growth() -> None:
    moved = below({ECS: 7_000}, 500)
    largest = _leaker.largest_share(moved, DYING, 0.5)
    assert largest is not None
    assert (largest.dying, largest.growth) == (7_000, 500)
    gone = b.cgroups(DYING, mode="v2", dying_below={ECS: 7_000})
    assert _leaker.largest_share(gone, DYING, 0.5) is None
    once = CgroupsReading("v2", DYING, 36, "c", dying_below={ECS: 7_700})
    largest = _leaker.largest_share(once, DYING, 0.5)
    assert largest is not None
    assert (largest.dying, largest.of, largest.growth) == (7_700, 7_700, None)
