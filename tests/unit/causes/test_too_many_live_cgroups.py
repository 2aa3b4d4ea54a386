"""Directories that nobody removed."""

from datetime import timedelta

from bot.domain.verdict import Confidence, Status
from bot.probes.cgroups import CgroupsReading
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, steps, undecided

LIVE = "too-many-live-cgroups"


def test_many_live_cgroups_without_harm_are_possible() -> None:
    finding = found(LIVE, b.cgroups(17, alive=4_000))
    assert (finding.status, finding.confidence, finding.remedy) == (Status.DEGRADED, Confidence.POSSIBLE, ())
    ruled_out(LIVE, b.cgroups(70_000, alive=3_999))


def test_many_live_cgroups_that_hold_a_core_are_likely_and_a_trace_confirms_them() -> None:
    walked = (b.cgroups(17, alive=30_000), b.held(), b.processes(b.process()))
    finding = found(LIVE, *walked)
    assert (finding.status, finding.confidence, finding.remedy) == (Status.CRITICAL, Confidence.LIKELY, ())
    traced = found(LIVE, *walked, b.log(b.event("stack-memcg-walk")))
    assert (traced.confidence, steps(traced)) == (Confidence.CONFIRMED, [("reboot", "")])


def test_live_cgroups_that_were_not_counted_to_the_end_are_open() -> None:
    undecided(LIVE, b.unread("cgroups"))
    undecided(LIVE, b.cgroups(17, alive=2_000, alive_is_at_least=True))
    stood_in = b.cgroups(17, alive=2_400, alive_is_at_least=True, siblings={"pids": 2_400})
    assert "about 2,400" in ruled_out(LIVE, stood_in).because


def test_many_live_cgroups_are_told_as_far_as_they_were_counted() -> None:
    counted = b.cgroups(17, alive=5_000)
    assert found(LIVE, counted).summary == "5,000 memory cgroups are alive; no harm seen"
    assert found(LIVE, counted).evidence[0].source == counted.source_later
    capped = b.cgroups(17, alive=5_000, alive_is_at_least=True)
    assert found(LIVE, capped).summary == "At least 5,000 memory cgroups are alive; no harm seen"
    grew = CgroupsReading("v2", 17, 3_000, "nr_descendants", 17, 4_200)
    assert found(LIVE, grew).summary.startswith("4,200")


def test_live_cgroups_that_leave_no_room_for_another_are_confirmed() -> None:
    refused = b.event("cgroup-exhausted", "cgroup: mkdir failed: no space left on device")
    finding = found(LIVE, b.cgroups(17, alive=64_000), b.log(refused))
    assert (finding.status, finding.confidence, steps(finding)) == (
        Status.CRITICAL,
        Confidence.CONFIRMED,
        [("reboot", "")],
    )
    forks = b.event("cgroup-exhausted", "cgroup: fork rejected by pids controller in /kubepods/x")
    assert found(LIVE, b.cgroups(17, alive=64_000), b.log(forks)).confidence is Confidence.POSSIBLE


def test_live_cgroups_earn_a_reboot_only_by_what_is_of_now_and_possible() -> None:
    def steps_of(alive: int, *readings: object) -> list[tuple[str, str]]:
        return steps(found(LIVE, b.cgroups(17, alive=alive), *readings))

    walk, refused = "stack-memcg-walk", "cgroup-exhausted"
    enospc = "cgroup: mkdir failed: no space left on device"
    hour, late = timedelta(minutes=59), timedelta(minutes=61)
    assert steps_of(15_000, b.log(b.event(walk, ago=hour))) == [("reboot", "")]
    assert steps_of(15_000, b.log(b.event(walk, ago=late))) == []
    assert steps_of(15_000, b.log(b.event(walk, ago=None))) == [], "of an unknown time"
    assert steps_of(14_000, b.log(b.event(walk, ago=hour))) == [], "a walk over so many takes less than a second"
    assert steps_of(60_000, b.log(b.event(refused, enospc, hour))) == [("reboot", "")]
    assert steps_of(60_000, b.log(b.event(refused, enospc, late))) == []
    assert steps_of(59_000, b.log(b.event(refused, enospc, hour))) == [], "there are ids left"
    unlisted = found(LIVE, b.cgroups(17, alive=15_000), b.log(b.event(walk)), b.unread("containers"))
    assert (unlisted.status, unlisted.remedy) == (Status.CRITICAL, ()), "they may be those of containers that run"


def test_core_that_so_few_cannot_hold_is_told_and_not_laid_to_them() -> None:
    finding = found(LIVE, b.cgroups(17, alive=5_000), b.held(), b.processes(b.process()))
    assert (finding.status, finding.confidence) == (Status.DEGRADED, Confidence.POSSIBLE)
    assert "a walk over 5,000 is too short to hold a core" in finding.evidence[1].says
