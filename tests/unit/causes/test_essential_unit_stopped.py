"""Units that a node stands on: stopped though they start at boot, and everything that only looks so."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.actions import ACTIONS
from bot.causes import CAUSES
from bot.domain.action import Step
from bot.domain.evaluation import evaluate_playbook
from bot.domain.verdict import Confidence, Status
from bot.library.library import Library
from bot.probes import PROBES
from bot.probes.certificates import CertificatesReading
from bot.probes.essential_units import EssentialUnit, EssentialUnitsReading, KubeletComplaint
from bot.probes.units import UnitsReading
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

STOPPED = "essential-unit-stopped"
RUNTIME = EssentialUnit("containerd.service", "runtime", active_later="active")


def units(*units: EssentialUnit, health: tuple[str, ...] = ("ok", "ok")) -> EssentialUnitsReading:
    return EssentialUnitsReading(True, units or (b.KUBELET, RUNTIME), health)


def stopped(unit: EssentialUnit = b.KUBELET, **more: object) -> EssentialUnit:
    told = {"active": "inactive", "sub": "dead", "active_later": "inactive", **more}
    return replace(unit, **told)  # type: ignore[arg-type]


@pytest.mark.parametrize("unit", [b.KUBELET, RUNTIME])
def test_enabled_unit_that_does_not_run_is_critical(unit: EssentialUnit) -> None:
    finding = found(STOPPED, units(stopped(unit)))
    assert (finding.status, finding.confidence) == (Status.CRITICAL, Confidence.CONFIRMED)
    assert finding.suspects == (unit.name,)
    assert f"systemctl start {unit.name}" in finding.lasting_fix
    assert finding.remedy == (Step("start_unit", {"unit": unit.name}),)


def test_several_are_started_each_after_what_it_stands_on() -> None:
    network = EssentialUnit("systemd-networkd.service", "network")
    finding = found(STOPPED, units(stopped(), stopped(RUNTIME), stopped(network)))
    assert [step.args["unit"] for step in finding.remedy] == [network.name, RUNTIME.name, b.KUBELET.name]


FAILED: dict[str, Any] = {"active": "failed", "active_later": "failed", "result": "exit-code"}


@pytest.mark.parametrize(
    ("unit", "more", "is_started"),
    [
        (stopped(**FAILED), b.units(), True),  # it never was started again
        (stopped(**FAILED), UnitsReading(True, (b.stopped("kubelet.service", 5),)), False),  # it would loop again
        (stopped(**FAILED), UnitsReading(True, (b.stopped("kubelet.service", restarts_logged=4),)), False),
        (stopped(**FAILED), UnitsReading(True, (b.unit("kubelet.service", None),)), False),  # nobody counts
        (stopped(**FAILED), UnitsReading(True, ()), False),
        (stopped(**FAILED), b.unread("units"), False),
        (stopped(), b.unread("units"), True),  # stopped in good order
        (stopped(active_later="failed"), b.unread("units"), False),
        (stopped(active_later=None), b.units(), False),  # one look is not enough to act upon
    ],
)
def test_what_would_only_fail_again_or_was_seen_once_is_not_started(
    unit: EssentialUnit, more: object, is_started: bool
) -> None:
    assert bool(found(STOPPED, units(unit), more).remedy) is is_started


def test_none_is_started_where_one_would_only_fail_again() -> None:
    assert found(STOPPED, units(stopped(), stopped(RUNTIME, **FAILED)), b.unread("units")).remedy == ()


def test_nothing_is_started_where_a_kubelet_that_runs_is_ill_or_the_boot_is_not_known() -> None:
    assert found(STOPPED, units(health=("500", "500"))).remedy == ()
    assert found(STOPPED, units(stopped()), b.unread("host")).remedy == ()


def test_failed_unit_says_since_when_and_how() -> None:
    hours_ago = int((b.DAYS * 86400 - 3 * 3600) * 1e6)
    failed = stopped(active="failed", active_later="failed", result="exit-code", changed_usec=hours_ago)
    assert "failed 3 hours ago, result exit-code" in found(STOPPED, units(failed)).summary


def test_network_unit_leaves_the_node_in_reach_and_is_degraded() -> None:
    network = EssentialUnit("systemd-networkd.service", "network")
    assert found(STOPPED, units(stopped(network))).status is Status.DEGRADED


@pytest.mark.parametrize(
    "unit",
    [
        stopped(enabled="disabled"),
        stopped(enabled="masked"),  # by hand, as for maintenance
        stopped(enabled="static"),
        stopped(condition_met=False),
        stopped(RUNTIME, sockets=("docker.socket",)),
        stopped(active_later="activating"),
        replace(b.KUBELET, active="activating", sub="auto-restart", active_later="activating"),  # loops: another cause
        replace(b.KUBELET, active="active", sub="exited", active_later="active"),
    ],
)
def test_what_only_looks_stopped_is_ruled_out(unit: EssentialUnit) -> None:
    ruled_out(STOPPED, units(unit))


def test_kubelet_that_calls_itself_ill_at_both_looks_is_critical() -> None:
    assert found(STOPPED, units(health=("500", "500"))).status is Status.CRITICAL
    assert "timeout" in found(STOPPED, units(health=("timeout", "500"))).summary
    assert "only one of the two looks" in undecided(STOPPED, units(health=("500", "ok"))).because
    ruled_out(STOPPED, units(health=("", "")))  # nobody answers there: it may be switched off


def test_node_that_just_booted_is_given_time() -> None:
    assert "booted" in undecided(STOPPED, units(stopped()), b.host(days=3 / 1440)).because
    assert found(STOPPED, units(stopped()), b.host(days=1)).status is Status.CRITICAL
    playbook = Library.load([b.PLAYBOOKS], PROBES, CAUSES, ACTIONS).get("node-health")
    verdict = evaluate_playbook(b.node(units(stopped()), b.host(days=3 / 1440)), playbook)
    assert verdict.status is Status.UNKNOWN, "it takes no work now, and may in a minute"
    assert "a later look" in next(open_.would_decide for open_ in verdict.undecided if open_.cause == STOPPED)


def test_what_was_not_read_is_open_and_no_systemd_is_an_answer() -> None:
    assert "not read" in undecided(STOPPED, b.unread("essential_units")).because
    none, here = CertificatesReading(datetime(2026, 11, 22, tzinfo=UTC)), EssentialUnitsReading(systemd=False)
    assert "no systemd" in ruled_out(STOPPED, here, none).because
    assert undecided(STOPPED, here).suspected, "a kubelet is installed, and none was seen at work"
    assert "k3s-agent is at work" in ruled_out(STOPPED, here, b.processes(b.process("k3s-agent", sys=0.1))).because
    assert not undecided(STOPPED, here, b.unread("processes")).suspected
    assert "containerd.service" in ruled_out(STOPPED, units()).because
    assert timedelta(0) < timedelta(minutes=b.thresholds(CAUSES[STOPPED])["boot_minutes"].value)


def silent(ago: float, host_seconds: float = b.DAYS * 86_400) -> EssentialUnitsReading:
    """Units that run, and a kubelet that said so many seconds ago that its runtime does not answer."""
    said = KubeletComplaint(timedelta(seconds=host_seconds - ago), '"Skipping pod synchronization" err="PLEG is …"')
    return replace(units(), complaints=(said,))


def test_kubelet_whose_runtime_does_not_answer_takes_no_work() -> None:
    finding = found(STOPPED, silent(4))
    assert (finding.status, finding.confidence, finding.remedy) == (Status.CRITICAL, Confidence.CONFIRMED, ())
    assert "4 s ago" in finding.summary
    assert "PLEG" in finding.evidence[0].source[0]
    assert "crictl ps" in finding.lasting_fix
    assert [step.args["unit"] for step in found(STOPPED, replace(silent(4), units=(stopped(RUNTIME),))).remedy] == [
        RUNTIME.name
    ]


def test_runtime_that_answers_again_is_told_and_no_fault() -> None:
    assert "2 minutes ago" in ruled_out(STOPPED, silent(120)).because
    assert "at an unknown time" in undecided(STOPPED, silent(4), b.unread("host")).because
