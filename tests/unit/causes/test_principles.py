"""What holds for the verdict on every node, also on those that nobody here has seen: properties over made nodes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bot.actions import ACTIONS
from bot.causes import CAUSES
from bot.domain.conclude import conclude
from bot.domain.protected import is_protected
from bot.domain.verdict import Confidence, Finding, Status, Verdict
from bot.library.library import Library
from bot.probes import PROBES
from bot.probes.formats.systemctl import FailedUnit
from bot.probes.units import Unit
from tests.unit.causes import builders as b
from tests.unit.causes.test_promises import LEAKING, nodes

LIBRARY = Library.load([b.PLAYBOOKS], PROBES, CAUSES, ACTIONS)
HEALTHY, UNKNOWN, DEGRADED, CRITICAL = Status.HEALTHY, Status.UNKNOWN, Status.DEGRADED, Status.CRITICAL
LEAK = "leaked-memory-cgroups"
DYING = 68_440
FAILED = FailedUnit("certbot.service", "", "certbot.service loaded failed failed")


def judge(readings: dict[str, Any]) -> Verdict:
    return conclude(b.node(*readings.values()), LIBRARY.get("node-health"))


def findings(readings: dict[str, Any]) -> list[Finding]:
    """What every cause of the playbook finds, by itself."""
    snapshot, playbook = b.node(*readings.values()), LIBRARY.get("node-health")
    weighed = [used.cause.weigh(snapshot, used.tuning) for used in playbook.causes]
    return [weighing for weighing in weighed if isinstance(weighing, Finding)]


def steps(verdict: Verdict) -> set[tuple[str, str]]:
    return {(step.action, step.args.get("unit", "")) for step in verdict.remedy}


def leak(*readings: Any) -> Finding:
    return b.found(LEAK, *readings)


# --- plans


@settings(max_examples=300, deadline=None)
@given(readings=st.one_of(nodes, LEAKING))
def test_no_plan_stops_what_others_stand_on(readings: dict[str, Any]) -> None:
    verdict = judge(readings)
    stops = [unit for action, unit in steps(verdict) if unit and not ACTIONS[action].starts_a_unit]
    assert not any(map(is_protected, ((unit,) for unit in stops)))


@settings(max_examples=300, deadline=None)
@given(readings=st.one_of(nodes, LEAKING))
def test_no_reboot_without_a_verdict_that_is_critical_and_sure(readings: dict[str, Any]) -> None:
    verdict = judge(readings)
    if ("reboot", "") in steps(verdict):
        assert verdict.status is CRITICAL
        assert verdict.confidence is not None
        assert verdict.confidence.rank > 0


# --- readings that are missing


@settings(max_examples=400, deadline=None, derandomize=True)  # the same nodes each run; more by hand
@given(readings=st.one_of(nodes, LEAKING), probe=st.sampled_from(sorted(PROBES)))
def test_reading_less_never_makes_healthy_of_unknown_and_never_adds_a_plan(
    readings: dict[str, Any], probe: str
) -> None:
    whole = judge(readings)
    less = judge({**readings, probe: b.unread(probe)})
    if whole.status is UNKNOWN:
        assert less.status is not HEALTHY
    # A graver finding names the verdict and has its own plan or none; what stood behind it needs no reading less.
    behind = {
        (step.action, step.args.get("unit", ""))
        for finding in findings(readings)
        if finding.confidence is not Confidence.POSSIBLE and whole.status is not UNKNOWN
        for step in finding.remedy
    }
    assert steps(less) <= steps(whole) | behind, f"{probe} unread adds a step"


@settings(max_examples=200, deadline=None)
@given(readings=nodes)
def test_healthy_means_that_no_critical_cause_was_left_open_by_what_must_be_read(readings: dict[str, Any]) -> None:
    verdict = judge(readings)
    if verdict.status is HEALTHY:
        must = set(LIBRARY.get("node-health").must_read)
        assert not must & {reading.probe for reading in verdict.unread}


# --- one fault more


@settings(max_examples=300, deadline=None)
@given(readings=st.one_of(nodes, LEAKING))
def test_failed_unit_beside_it_never_hides_a_graver_finding(readings: dict[str, Any]) -> None:
    units = readings["units"]
    assume(not isinstance(units, type(b.unread("units"))))
    before = judge(readings)
    after = judge({**readings, "units": replace(units, failed_units=(*units.failed_units, FAILED))})
    if before.status is CRITICAL:
        assert (after.status, after.cause) == (before.status, before.cause)
        assert steps(after) == steps(before)
    if before.status is UNKNOWN:
        assert after.status is UNKNOWN


# --- more of the same


@given(starts=st.integers(1, 1_000_000), more=st.integers(0, 1_000_000))
def test_more_starts_never_drop_a_suspect(starts: int, more: int) -> None:
    few = leak(b.cgroups(DYING), b.units(b.between_tries("x.service", starts)))
    many = leak(b.cgroups(DYING), b.units(b.between_tries("x.service", starts + more)))
    assert set(few.suspects) <= set(many.suspects)


@given(
    held=st.integers(0, 6 * b.GIB),
    more=st.integers(0, 6 * b.GIB),
    looping=st.booleans(),
)
def test_more_memory_gone_never_lowers_the_status(held: int, more: int, looping: bool) -> None:
    units = b.units(b.between_tries(restarts=DYING)) if looping else b.units()

    def status(percpu: int) -> int:
        return leak(b.cgroups(DYING), units, b.memory(16 * b.GIB, 8 * b.GIB, percpu=percpu)).status.rank

    assert status(held) <= status(held + more)


@given(seconds=st.integers(0, 5), more=st.integers(0, 5))
def test_a_core_that_is_held_longer_never_lowers_the_status(seconds: int, more: int) -> None:
    units = b.units(b.between_tries(restarts=DYING))

    def status(held_for: int) -> int:
        return leak(b.cgroups(DYING), units, b.held(hot_for=held_for), b.processes(b.process())).status.rank

    assert status(seconds) <= status(min(5, seconds + more))


# --- the time that is covered


@given(logged=st.integers(1, 5_000), minutes=st.integers(1, 20_000), share=st.floats(0.01, 1.0))
def test_shorter_record_never_adds_blame(logged: int, minutes: int, share: float) -> None:
    def suspects(over: timedelta) -> set[str]:
        unit = b.unit(
            "x.service",
            None,
            active="activating",
            sub="auto-restart",
            restarts_logged=logged,
            restarts_logged_over=over,
        )
        return set(leak(b.cgroups(DYING), b.units(unit)).suspects)

    assert suspects(timedelta(minutes=minutes) * share) <= suspects(timedelta(minutes=minutes))


@given(exits=st.integers(1, 5_000), minutes=st.integers(1, 20_000), share=st.floats(0.01, 1.0))
def test_shorter_record_of_containers_never_adds_blame(exits: int, minutes: int, share: float) -> None:
    def suspects(over: timedelta) -> set[str]:
        return set(leak(b.cgroups(DYING), b.containers(exits_by_image={"x:1": exits}, exits_over=over)).suspects)

    assert suspects(timedelta(minutes=minutes) * share) <= suspects(timedelta(minutes=minutes))


# --- names


def renamed(unit: Unit, name: str) -> Unit:
    source = tuple(line.replace(unit.name, name) for line in unit.source)
    return replace(unit, name=name, source=source)


@pytest.mark.parametrize("name", ["shop.service", "a.service", "zz-worker@3.service", "nginx.service"])
@pytest.mark.parametrize("restarts", [40, 30_000, DYING])
@pytest.mark.parametrize("dying", [17, 3_006, DYING])
def test_other_names_change_nothing_but_names(name: str, restarts: int, dying: int) -> None:
    first = b.between_tries("first.service", restarts)

    def judged(unit: Unit) -> tuple[object, ...]:
        verdict = judge({"cgroups": b.cgroups(dying), "units": b.units(unit)})
        told = {step.replace(unit.name, "NAME") for step in (f"{action} {of}" for action, of in steps(verdict))}
        return verdict.status, verdict.cause, verdict.confidence, told, verdict.summary.replace(unit.name, "NAME")

    assert judged(first) == judged(renamed(first, name))
