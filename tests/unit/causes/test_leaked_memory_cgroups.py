"""The founding case in its faces: present or leaking, by whom, and what may be done about it.

What else is said of it stands in `examples/leaked-memory-cgroups.yaml`.
"""

import pytest

from bot.domain.verdict import Confidence, Status
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, steps

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


def test_core_that_is_not_a_walkers_is_shown_with_its_seconds() -> None:
    finding = found(LEAK, b.cgroups(DYING), *LOOPING, b.held(), b.processes(b.process("python")))
    (held,) = [one for one in finding.evidence if one.finding == "core-held"]
    assert held.source == ("10:00:01 39 0.0 0.00 99.0 0.0 1.0",) * 3


@pytest.mark.parametrize("seconds", [1, 2])
def test_short_window_can_see_a_held_core_too(seconds: int) -> None:
    walker = b.processes(b.process(sys=0.9 * seconds))
    finding = found(LEAK, b.cgroups(DYING), *LOOPING, b.held(seconds=seconds, hot_for=seconds), walker)
    assert finding.status is Status.CRITICAL
    (said,) = [one.says for one in finding.evidence if one.finding == "core-held-by-walker"]
    assert ("all of a short window" in said) == (seconds == 1)
