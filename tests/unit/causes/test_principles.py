"""What holds for the verdict on every node, also on those that nobody here has seen: properties over made nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bot.actions import ACTIONS
from bot.causes import CAUSES
from bot.domain.evaluation import evaluate_playbook
from bot.domain.known_agents import KNOWN_AGENTS
from bot.domain.probe import Unread
from bot.domain.protected import is_protected
from bot.domain.verdict import Confidence, Finding, Status, Verdict
from bot.library.library import Library
from bot.probes import PROBES
from bot.probes.clock import ClockReading
from bot.probes.conntrack import ConntrackReading
from bot.probes.dns import DnsReading, NameServer
from bot.probes.ebs import EbsReading, Volume
from bot.probes.filesystems import FilesystemsReading, Room
from bot.probes.formats.systemctl import FailedUnit
from bot.probes.kernel_limits import KernelLimitsReading, Limit
from bot.probes.memory_errors import MemoryController, MemoryErrorsReading
from bot.probes.throttling import ThrottledGroup, ThrottlingReading
from bot.surfaces.verdict_text import verdict_text
from tests.examples import up_to
from tests.known import known
from tests.unit.causes import builders as b
from tests.unit.causes.earned import why_unearned
from tests.unit.causes.made_nodes import HARMED, LEAKING, mostly_well, nodes

LIBRARY = Library.load([b.PLAYBOOKS], PROBES, CAUSES, ACTIONS)
HEALTHY, UNKNOWN, DEGRADED, CRITICAL = Status.HEALTHY, Status.UNKNOWN, Status.DEGRADED, Status.CRITICAL
LEAK = "leaked-memory-cgroups"
DYING = 68_440
FAILED = FailedUnit("certbot.service", "", "certbot.service loaded failed failed")


def judge(readings: dict[str, Any]) -> Verdict:
    return evaluate_playbook(b.node(*readings.values()), LIBRARY.get("node-health"))


def steps(verdict: Verdict) -> set[tuple[str, str]]:
    return {(step.action, step.args.get("unit", "")) for step in verdict.remedy}


def leak(*readings: Any) -> Finding:
    return b.found(LEAK, *readings)


# --- plans


@settings(max_examples=up_to(400), deadline=None)
@given(readings=HARMED | HARMED | nodes | LEAKING | mostly_well)
def test_no_plan_stops_what_others_stand_on_and_reboots_but_for_a_harm_of_now(readings: dict[str, Any]) -> None:
    verdict = judge(readings)
    stops = [unit for action, unit in steps(verdict) if unit and not ACTIONS[action].starts_a_unit]
    assert not any(map(is_protected, ((unit,) for unit in stops)))
    if ("reboot", "") in steps(verdict):
        assert verdict.status is CRITICAL
        assert known(verdict.confidence).rank > 0
        assert not (why := why_unearned(verdict.cause, known(verdict.snapshot))), why


# --- readings that are missing


@settings(max_examples=up_to(400), deadline=None, derandomize=True)  # the same nodes each run; more by hand
@given(data=st.data(), readings=st.one_of(nodes, LEAKING, mostly_well, HARMED))
def test_reading_less_never_makes_healthy_of_unknown_and_never_adds_a_plan(
    data: st.DataObject, readings: dict[str, Any]
) -> None:
    whole = judge(readings)
    probe = data.draw(st.sampled_from(sorted(readings)) | st.sampled_from(sorted(PROBES)))
    less = judge({**readings, probe: b.unread(probe)})
    if whole.status is UNKNOWN:
        assert less.status is not HEALTHY
    assert steps(less) <= steps(whole), f"{probe} unread adds a step"


@settings(max_examples=up_to(200), deadline=None)
@given(readings=mostly_well)
def test_healthy_means_that_no_critical_cause_was_left_open_by_what_must_be_read(readings: dict[str, Any]) -> None:
    verdict = judge(readings)
    if verdict.status is HEALTHY:
        missing = {reading.probe for reading in verdict.unread} & set(LIBRARY.get("node-health").must_read)
        left_open = [CAUSES[each.cause] for each in verdict.undecided if each.worst is CRITICAL]
        grave = {cause.name: cause.probes for cause in left_open if cause.worst is CRITICAL}
        assert not [name for name, probes in grave.items() if missing & set(probes)], missing


UNDECISIVE = sorted(set(PROBES) - set(LIBRARY.get("node-health").must_read))


@pytest.mark.parametrize("probe", UNDECISIVE)
@settings(max_examples=up_to(12), deadline=None)
@given(readings=mostly_well)
def test_healthy_node_is_called_so_and_what_is_not_decisive_stands_below(probe: str, readings: dict[str, Any]) -> None:
    verdict = judge({**readings, probe: b.unread(probe)})
    if verdict.status is HEALTHY and verdict.unread == (b.unread(probe),) and not verdict.half_read:
        assert verdict.summary == "Healthy"
    well = judge({probe: b.unread(probe)})
    assert (well.status, well.summary) == (HEALTHY, "Healthy")
    assert [each.probe for each in well.unread] == [probe]
    text = verdict_text(well)
    assert text.splitlines()[0] == f"{well.node}  HEALTHY"
    assert probe in text.partition("\n")[2]


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


@settings(max_examples=up_to(150), derandomize=True)  # the same nodes each run; more by hand
@given(readings=HARMED)
def test_lines_that_lose_their_time_never_earn_a_reboot(readings: dict[str, Any]) -> None:
    log = readings["kernel_log"]
    untimed = log if log == b.unread("kernel_log") else b.log(*(replace(line, since_boot=None) for line in log.events))
    verdict = judge({**readings, "kernel_log": untimed})
    # A GPU that is silent now needs no time; a stall of this minute may have stood before it.
    if ("reboot", "") in steps(verdict) and verdict.cause != "gpu-fault":
        assert ("reboot", "") in steps(judge(readings))


# --- one fault more


# What is wrong beside it, and less grave: by the probe that tells of it.
BESIDE: dict[str, Any] = {
    "clock": ClockReading("chrony", False, 0.0, "tsc"),
    "dns": DnsReading((NameServer("10.0.0.2", ()),)),
    "ebs": EbsReading((Volume("nvme1n1", 60.0, 0.0, 0.0, 0.0),)),
    "conntrack": ConntrackReading(True, 95_000, 100_000),
    "throttling": ThrottlingReading((ThrottledGroup("/p", 50, 40, timedelta(seconds=2)),)),
    "filesystems": replace(b.node().readings["filesystems"], rooms=(Room("/", 7.0, 90.0),)),
}


@settings(max_examples=up_to(400), deadline=None)
@given(readings=st.one_of(mostly_well, LEAKING, HARMED), probe=st.sampled_from(["units", *BESIDE]))
def test_lesser_fault_beside_it_never_hides_a_graver_finding(readings: dict[str, Any], probe: str) -> None:
    assume(probe in ("units", "conntrack") or probe not in readings)
    units = readings.get("units", b.units())
    assume(not isinstance(units, Unread) and not isinstance(readings.get(probe), Unread))
    before = judge(readings)
    more = replace(units, failed_units=(*units.failed_units, FAILED)) if probe == "units" else BESIDE[probe]
    after = judge({**readings, probe: more})
    if before.status is CRITICAL:
        assert (after.status, after.cause) == (before.status, before.cause)
        if probe == "dns":  # without name servers the runs of any service may end: what ends so is not disabled
            assert steps(after) <= steps(before)
        else:
            assert steps(after) == steps(before)
    if before.status is not HEALTHY:
        assert after.status is not HEALTHY
    if before.status is UNKNOWN and before.unread:
        assert after.status is UNKNOWN


# --- more of the same


@settings(max_examples=up_to(200), deadline=None)
@given(starts=st.integers(1, 200_000), more=st.integers(0, 200_000), others=st.integers(0, 200_000), readings=LEAKING)
def test_more_starts_never_drop_a_suspect(starts: int, more: int, others: int, readings: dict[str, Any]) -> None:
    def suspected(times: int) -> bool:
        beside = b.units(b.between_tries("x.service", times), b.between_tries("y.service", others))
        snapshot = {**readings, "cgroups": b.cgroups(DYING), "units": beside}
        return "x.service" in leak(*snapshot.values()).suspects

    assert suspected(starts) <= suspected(starts + more)


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
    finding = leak(*{**readings, "cgroups": b.cgroups(DYING), "units": b.units(*both)}.values())
    assert {"first.service", "second.service"} <= set(finding.suspects)
    assert (finding.confidence is Confidence.CONFIRMED) <= (finding.status is CRITICAL), "by the harm alone"
    assert finding.remedy == ()


PERCENT = st.sampled_from([0.0, 5.0, 10.0, 50.0, 95.0, 99.0, 100.0]) | st.floats(0, 100, allow_nan=False)
# A harm's own figure, from least to most, as the reading that tells of it.
FIGURES: dict[str, tuple[st.SearchStrategy[float], Callable[[float], Any]]] = {
    "room that is used up": (PERCENT, lambda x: FilesystemsReading((), (Room("/", 100 - x, 90.0),), True)),
    "inodes that are used up": (PERCENT, lambda x: FilesystemsReading((), (Room("/", 90.0, 100 - x),), True)),
    "threads": (st.integers(0, 40_000), lambda x: KernelLimitsReading((Limit("threads", int(x), 32_768),), 0, 0)),
    "refused neighbours": (
        st.integers(0, 900), lambda x: KernelLimitsReading((Limit("threads", 9, 32_768),), 7, 7 + int(x))
    ),
    "tracked connections": (st.integers(0, 65_536), lambda x: ConntrackReading(True, int(x), 65_536)),
    "stolen time": (PERCENT, lambda x: b.cpu({core: {"usr": 0.0, "steal": x} for core in range(8)})),
    "offset of the clock": (st.floats(0, 900), lambda x: ClockReading("chrony", True, x, "tsc")),
    "pressure of memory": (PERCENT, lambda x: b.memory(pressure={"memory full": x})),
    "direct reclaim": (st.integers(0, 10**6), lambda x: b.memory(available=b.GIB, rises={"pgscan_direct": int(x)})),
    "uncorrected errors": (
        st.integers(0, 90), lambda x: MemoryErrorsReading((MemoryController("mc0", int(x), 0, 9_000),))
    ),
    "corrected errors": (
        st.integers(0, 9_000), lambda x: MemoryErrorsReading((MemoryController("mc0", 0, int(x), 7_200),))
    ),
    "time above a limit of EBS": (PERCENT, lambda x: EbsReading((Volume("nvme1n1", x, 0.0, 0.0, 0.0),))),
    "questions without an answer": (
        st.integers(0, 3), lambda x: DnsReading((NameServer("10.0.0.2", ("NOERROR",) * (3 - int(x))),))
    ),
    "dropped packets": (st.integers(0, 9_000), lambda x: b.softirq(dropped=int(x))),
    "dying cgroups": (st.integers(0, 90_000), lambda x: b.cgroups(int(x))),
    "live cgroups": (st.integers(0, 66_000), lambda x: b.cgroups(17, alive=int(x))),
}  # fmt: skip


@pytest.mark.parametrize("figure", FIGURES)
@settings(max_examples=8, deadline=None)
@given(data=st.data(), readings=mostly_well)
def test_more_of_a_harm_never_lowers_the_status(figure: str, data: st.DataObject, readings: dict[str, Any]) -> None:
    amounts, reading = FIGURES[figure]
    rising = sorted(data.draw(st.lists(amounts, min_size=4, max_size=4)))
    told = [judge({**readings, reading(x).probe: reading(x)}).status for x in rising]
    ranks = [status.rank for status in told if status is not UNKNOWN]
    assert ranks == sorted(ranks), list(zip(rising, told, strict=True))


def of_memory(amount: int, units: Any) -> Finding:
    return leak(b.cgroups(DYING), units, b.memory(16 * b.GIB, 8 * b.GIB, percpu=amount * b.GIB // 2))


def of_seconds(amount: int, units: Any) -> Finding:
    return leak(b.cgroups(DYING), units, b.held(hot_for=min(5, amount)), b.processes(b.process()))


@pytest.mark.parametrize("harm", [of_memory, of_seconds])
@pytest.mark.parametrize("units", [b.units(b.between_tries(restarts=DYING)), b.units()], ids=["looping", "quiet"])
def test_more_memory_gone_and_a_core_held_longer_never_lower_the_status(
    harm: Callable[[int, Any], Finding], units: Any
) -> None:
    ranks = [harm(amount, units).status.rank for amount in range(13)]
    assert ranks == sorted(ranks)
    assert ranks[0] < ranks[-1]


# --- the time that is covered


def by_unit(times: int, over: timedelta) -> Any:
    told: dict[str, Any] = {
        "active": "activating",
        "sub": "auto-restart",
        "restarts_logged": times,
        "restarts_logged_over": over,
    }
    return b.units(b.unit("x.service", None, **told))


def by_containers(times: int, over: timedelta) -> Any:
    return b.containers(exits_by_image={"x:1": times}, exits_over=over)


@pytest.mark.parametrize("recorded", [by_unit, by_containers])
@given(times=st.integers(1, 5_000), minutes=st.integers(1, 20_000), share=st.floats(0.01, 1.0))
def test_shorter_record_never_adds_blame(
    recorded: Callable[[int, timedelta], Any], times: int, minutes: int, share: float
) -> None:
    whole = timedelta(minutes=minutes)
    shorter, longer = (set(leak(b.cgroups(DYING), recorded(times, over)).suspects) for over in (whole * share, whole))
    assert shorter <= longer


# --- names

KNOWN = {unit for agent in KNOWN_AGENTS for unit in agent.units}
free_names = (
    st.from_regex(r"[a-z][a-z0-9-]{2,14}(@[0-9a-z]{1,3})?\.service", fullmatch=True)
    .filter(lambda name: not is_protected((name,)) and name not in KNOWN)
)  # fmt: skip
restarts = st.sampled_from([3, 900, 30_000, 68_000])


@settings(max_examples=up_to(100), deadline=None)
@given(
    names=st.lists(free_names, min_size=4, max_size=4, unique=True),
    starts=st.tuples(restarts, restarts),
    dying=st.sampled_from([17, 3_006, DYING, DYING]),
    readings=mostly_well,
)
def test_other_names_change_nothing_but_names(
    names: list[str], starts: tuple[int, int], dying: int, readings: dict[str, Any]
) -> None:
    def judged(first: str, second: str) -> tuple[object, ...]:
        looping = (b.between_tries(first, starts[0]), b.unit(second, starts[1]))
        verdict = judge({**readings, "cgroups": b.cgroups(dying), "units": b.units(*looping)})

        def neutral(text: str) -> str:
            return text.replace(first, "FIRST").replace(second, "SECOND")

        told = {neutral(f"{action} {unit}") for action, unit in steps(verdict)}
        suspects = {neutral(name) for name in verdict.suspects}
        return verdict.status, verdict.cause, verdict.confidence, told, suspects

    assume(not any(one in other for one in names for other in names if one != other))
    assert judged(names[0], names[1]) == judged(names[2], names[3])
