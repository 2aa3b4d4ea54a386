"""A profile that somebody asked for: it proves the walk, or shows that the held core does something else."""

from __future__ import annotations

import pytest

from bot.domain.verdict import Confidence, Finding, Status
from bot.probes.profile import ProfileReading
from bot.probes.softirq_waits import SoftirqWait, SoftirqWaitsReading
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, steps

LEAKER = b.units(b.between_tries(restarts=68_000))
WALKED = (b.held(), b.processes(b.process()))
CURED = [("disable_unit", "ecs.service"), ("reboot", "")]


def profiled(
    function: str = "mem_cgroup_nr_lru_pages", signature: str = "memcg-walk", **more: object
) -> ProfileReading:
    told = {
        "core": 39,
        "share_of_core": 0.97,
        "samples": 490,
        "seconds": 10.0,
        "process": "kubelet",
        "pid": 2317,
    } | more
    return ProfileReading(function=function, signature=signature, **told)  # type: ignore[arg-type]


def leak(*readings: object) -> Finding:
    return found("leaked-memory-cgroups", b.cgroups(68_440), LEAKER, *readings)


def seen(finding: Finding) -> set[str]:
    return {evidence.finding for evidence in finding.evidence}


def test_likely_becomes_confirmed_where_the_walk_was_seen() -> None:
    assert leak(*WALKED).confidence is Confidence.LIKELY
    finding = leak(*WALKED, profiled())
    assert (finding.status, finding.confidence, steps(finding)) == (Status.CRITICAL, Confidence.CONFIRMED, CURED)
    assert "memcg-walk-profile" in seen(finding)


def test_burst_outside_the_window_is_harm_too_where_a_profile_caught_it() -> None:
    assert leak().status is Status.DEGRADED
    assert (leak(profiled()).status, leak(profiled()).confidence) == (Status.CRITICAL, Confidence.CONFIRMED)


def test_walk_on_a_kernel_where_it_is_cheap_is_no_harm() -> None:
    finding = leak(b.host("6.1.0-18-cloud-amd64"), *WALKED, profiled())
    assert finding.status is Status.DEGRADED
    assert "memcg-walk-profile" not in seen(finding)


def test_held_core_that_does_something_else_is_not_laid_to_them() -> None:
    finding = leak(*WALKED, profiled("native_queued_spin_lock_slowpath", "lock-wait"))
    assert finding.status is Status.DEGRADED
    assert any("native_queued_spin_lock_slowpath" in evidence.says for evidence in finding.evidence)


@pytest.mark.parametrize(
    "reading",
    [
        profiled("cgroup_rstat_flush", "rstat-flush", core=7),  # another core than the held one
        profiled("cgroup_rstat_flush", "rstat-flush", share_of_core=0.2),  # hardly
        profiled("[kernel.kallsyms]", "", has_names=False),  # the kernel hides its names
        profiled(share_of_core=0.2),
    ],
    ids=["another core", "little of it", "no names", "little of the walk"],
)
def test_profile_that_says_little_changes_nothing(reading: ProfileReading) -> None:
    finding = leak(*WALKED, reading)
    assert (finding.status, finding.confidence) == (Status.CRITICAL, Confidence.LIKELY)


def test_who_waited_for_the_held_core_stands_beside_and_changes_nothing() -> None:
    waits = SoftirqWaitsReading((SoftirqWait(39, "NET_RX", 0, 2_900_000, ended=False),), {})
    plain, beside = (
        found("leaked-memory-cgroups", b.cgroups(68_440), LEAKER, *WALKED, *more) for more in ((), (waits,))
    )
    (said,) = [evidence for evidence in beside.evidence if evidence.finding == "packet-waits"]
    assert said.says == "a soft interrupt (NET_RX) waited 2,900 ms for core 39 and had not run when the look ended"
    assert (beside.status, beside.confidence, steps(beside)) == (plain.status, plain.confidence, steps(plain))
    assert set(beside.evidence) == {*plain.evidence, said}
