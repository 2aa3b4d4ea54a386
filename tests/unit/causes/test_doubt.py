"""What is not known earns no plan: no time, no look, no argument but a name, or two that could each have done it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.verdict import Confidence, Status
from bot.probes.gpu import Gpu, GpuReading
from tests.examples import up_to
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, steps, undecided
from tests.unit.causes.made_nodes import HARMED, LEAKING
from tests.unit.causes.test_principles import judge
from tests.unit.causes.test_principles import steps as planned

LEAK, LIVE, GPU, STALL = "leaked-memory-cgroups", "too-many-live-cgroups", "gpu-fault", "io-stall"
DYING = 68_440
XID = "NVRM: Xid (PCI:0000:3b:00): {}, pid=41, name=python3, words"


def gpus(answers: bool | None) -> GpuReading:
    card = Gpu("0000:3b:00.0", "nvidia", answers, lines=("0000:3b:00.0 0x030200 nvidia",))
    return GpuReading((card,), "answered")


# --- a time that is not known


@settings(max_examples=up_to(150), derandomize=True)  # the same nodes each run; more by hand
@given(readings=HARMED)
def test_lines_that_lose_their_time_never_earn_a_reboot(readings: dict[str, Any]) -> None:
    log = readings["kernel_log"]
    untimed = log if log == b.unread("kernel_log") else b.log(*(replace(line, since_boot=None) for line in log.events))
    verdict = judge({**readings, "kernel_log": untimed})
    # A GPU that is silent now needs no time; a stall of this minute may have stood before it.
    if ("reboot", "") in planned(verdict) and verdict.cause != GPU:
        assert ("reboot", "") in planned(judge(readings))


def test_fault_of_an_unknown_time_is_not_one_of_now() -> None:
    told = b.event("gpu-error", XID.format(48), None, device="0000:3b:00")
    finding = found(GPU, gpus(None), b.log(told))
    assert (finding.status, finding.confidence, finding.remedy) == (Status.DEGRADED, Confidence.LIKELY, ())
    now = found(GPU, gpus(None), b.log(replace(told, since_boot=b.event("gpu-error", "").since_boot)))
    assert (now.status, steps(now)) == (Status.CRITICAL, [("cordon", "")])


@pytest.mark.parametrize(("ago", "status"), [(None, Status.DEGRADED), (timedelta(minutes=1), Status.CRITICAL)])
def test_disk_error_of_an_unknown_time_beside_a_task_that_waits_is_no_stall_of_now(
    ago: timedelta | None, status: Status
) -> None:
    error = b.event("disk-error", "blk_update_request: I/O error, dev nvme0n1, sector 8", ago, device="nvme0n1")
    assert found(STALL, b.log(error), b.processes(waiting=["python"])).status is status


# --- what nobody looked at


@settings(max_examples=up_to(150))
@given(readings=LEAKING)
def test_nothing_is_disabled_for_a_leak_while_containers_that_may_have_left_it_were_not_seen(
    readings: dict[str, Any],
) -> None:
    refused = b.containers(refused={"docker": "permission denied"})
    for unseen in (b.unread("containers"), refused):
        verdict = judge({**readings, "containers": unseen})
        counted = any(line.finding == "leaker" and line.probe == "cgroups" for line in verdict.evidence)
        if verdict.cause == LEAK and not counted:
            assert not verdict.remedy, verdict.summary


def test_leaker_by_its_starts_is_not_disabled_while_the_containers_were_not_read() -> None:
    looping = b.units(b.between_tries(restarts=68_000))
    assert steps(found(LEAK, b.cgroups(DYING), looping)) == [("disable_unit", "ecs.service")]
    unseen = found(LEAK, b.cgroups(DYING), looping, b.unread("containers"))
    assert (unseen.suspects, unseen.remedy) == (("ecs.service",), ())
    assert "whether something else left them is not known" in unseen.summary


def test_live_cgroups_whose_containers_were_not_listed_are_open() -> None:
    left_open = undecided(LIVE, b.cgroups(17, alive=5_000), b.unread("containers"))
    assert left_open.suspected, "as many may be those of containers that run, or of nobody"


def test_live_cgroups_earn_no_reboot_where_only_some_containers_were_listed() -> None:
    walk = b.log(b.event("stack-memcg-walk"))
    assert steps(found(LIVE, b.cgroups(17, alive=15_000), walk)) == [("reboot", "")]
    some = replace(b.containers(), count_is_at_least=True)
    assert found(LIVE, b.cgroups(17, alive=15_000), walk, some).remedy == ()


def test_memory_that_many_cpus_would_make_of_them_is_not_assumed_where_cpus_were_not_read() -> None:
    """68,440 cost 1.6 GiB on two CPUs, and 13 GiB on 96."""
    looping, memory = b.units(b.between_tries(restarts=68_000)), b.memory(32 * b.GIB, 20 * b.GIB, percpu=6 * b.GIB)
    finding = found(LEAK, b.cgroups(DYING), looping, memory, b.unread("cpu"))
    assert (finding.status, steps(finding)) == (Status.DEGRADED, [("disable_unit", "ecs.service")])
    assert found(LEAK, b.cgroups(DYING), looping, memory, b.cpu(cores=96)).status is Status.CRITICAL


# --- a name is no argument


def test_agent_is_not_blamed_by_its_name_where_nothing_of_it_fails_now() -> None:
    """Thirty of its containers ended in ten days, and it runs: the pace of a loop that nobody saw proves nothing."""
    steady = b.containers(
        b.container("bbbb", 900_000), exits_by_image={b.AGENT_IMAGE: 30}, exits_over=timedelta(days=10)
    )
    finding = found(LEAK, b.cgroups(DYING), b.units(b.unit()), steady, b.agents(b.agent()))
    assert (finding.confidence, finding.remedy) == (Confidence.POSSIBLE, ())
    assert "the leaker was not found" in finding.summary


def test_unit_that_the_node_needs_under_another_name_is_not_disabled() -> None:
    alias = b.between_tries("agent.service", 68_000, aliases=("sshd.service",))
    for name in (LEAK, "crash-looping-unit"):
        finding = found(name, b.cgroups(DYING), b.units(alias))
        assert (finding.suspects, finding.remedy) == (("agent.service",), ())
        assert "agent.service is protected" in finding.summary


def test_silent_gpu_with_an_applications_own_error_earns_no_reboot() -> None:
    own = b.log(b.event("gpu-error", XID.format(31), device="0000:3b:00"))
    assert steps(found(GPU, gpus(False), own)) == [("cordon", "")], "it may have been taken out"
    fell = b.log(b.event("gpu-error", XID.format(79), device="0000:3b:00"))
    assert steps(found(GPU, gpus(False), fell)) == [("cordon", "")], "a power cycle is no reboot"
    link = b.log(b.event("gpu-error", XID.format(74), device="0000:3b:00"))
    assert steps(found(GPU, gpus(False), link)) == [("reboot", "")]


# --- two that could both


@settings(max_examples=up_to(150))
@given(
    starts=st.tuples(st.integers(45_000, 90_000), st.integers(45_000, 90_000)),
    states=st.tuples(st.booleans(), st.booleans()),
    readings=LEAKING,
)
def test_of_two_units_that_could_both_have_left_them_none_is_named_as_sure(
    starts: tuple[int, int], states: tuple[bool, bool], readings: dict[str, Any]
) -> None:
    both = [
        (b.between_tries if looping else b.stopped)(f"{name}.service", many)
        for name, many, looping in zip(("first", "second"), starts, states, strict=True)
    ]
    finding = found(LEAK, *{**readings, "cgroups": b.cgroups(DYING), "units": b.units(*both)}.values())
    assert {"first.service", "second.service"} <= set(finding.suspects)
    assert (finding.confidence is Confidence.CONFIRMED) <= (finding.status is Status.CRITICAL), "by the harm alone"
    assert finding.remedy == ()


def test_better_fit_and_a_loop_that_goes_on_decide_nothing_between_two() -> None:
    for close, far in (
        (b.between_tries("close.service", 68_000), b.between_tries("far.service", 46_000)),
        (b.between_tries("close.service", 60_000), b.stopped("far.service", 68_000)),
    ):
        finding = found(LEAK, b.cgroups(DYING), b.units(close, far))
        assert set(finding.suspects) == {"close.service", "far.service"}
        assert (finding.confidence, finding.remedy) == (Confidence.LIKELY, ())


def test_rise_of_a_few_is_laid_to_nobody() -> None:
    """Forty-nine after one start may be pods' and sessions' too: what such a start leaves is not known."""
    loop = b.unit("push.service", 15_000, 15_001, active="activating", sub="auto-restart")
    few = found(LEAK, b.cgroups(DYING, later=DYING + 49), b.units(loop))
    assert (few.confidence, few.remedy) == (Confidence.LIKELY, ())
    assert "the leaker was not found" in few.summary
    assert steps(found(LEAK, b.cgroups(DYING, later=DYING + 50), b.units(loop))) == [("disable_unit", "push.service")]
