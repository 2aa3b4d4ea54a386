"""A real kernel and a real systemd, made sick for real: what the bot says is held against what the kernel says.

The tests run in this order on one node a cgroup version; what the kernel's log keeps until a reboot comes last.
Under emulation everything takes longer, the node's own answers too, so no test here asserts how long anything took.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bot.lab.trial import BY_FAULT, LEAK_LIMITS, TRIALS
from tests.lab.bench import Bench, leaks

pytestmark = [pytest.mark.lab, pytest.mark.slow]
OF_ONE = [trial for trial in TRIALS if not trial.plan or trial.fault == "essential-unit-stopped"]
FLOODS = ("memory-reclaim", "irq-affinity", "softirq-storm")
ON_BOTH = ("failed-units", "cfs-throttling")
# States leave no line in the kernel's log, so that without it the node is well at once.
STATES = [
    (trial.fault, trial.cause, trial.status[0])
    for trial in OF_ONE
    if not trial.lingers and trial.playbook == "node-health" and trial.fault not in (*FLOODS, *ON_BOTH)
]
# What leaves lines in the kernel's log is told as of minutes ago when it is over: never as critical, never with a plan.
LOGGED = [(trial.fault, trial.cause, trial.status[0]) for trial in OF_ONE if trial.lingers]
# Where the version of cgroups changes neither the fault nor what tells of it, one node is enough.
on_one_node = pytest.mark.parametrize("bench", ["v2"], indirect=True, scope="module")


@contextmanager
def sick(bench: Bench, fault: str) -> Iterator[None]:
    """Make a fault, and take it away whatever comes: the next test has the same node."""
    try:
        bench.fault(fault)
        yield
    finally:
        bench.fault(fault, "--undo")


def named(
    bench: Bench, fault: str, cause: str | None = None, over: Collection[str] = (), confidence: str = "confirmed"
) -> dict[str, Any]:
    """Return the verdict that names a fault, or its cause where that has another name.

    Until then no other cause may be named, but what is `over` and still in the log.

    A flood has gaps while this machine does not run the emulated core that is full of it, and kept waiting, a node may
    not tell all in time: then it is looked at anew, three times at most.
    """
    for _ in range(3):
        verdict = bench.check()
        if (verdict["cause"], verdict["confidence"]) == (cause or fault, confidence):
            bench.keep(f"debian-12-{bench.node().cgroups}--{fault}")
            return verdict
        assert verdict["cause"] in (None, cause or fault, *over), verdict["summary"]
    raise AssertionError(f"{fault} was not named in three looks")


def no_reboot(verdict: dict[str, Any]) -> bool:
    return verdict["plan"] is None or all(step["action"] != "reboot" for step in verdict["plan"]["steps"])


def test_healthy_node_is_healthy_and_every_probe_is_read(bench: Bench) -> None:
    verdict = bench.check()
    assert (verdict["status"], verdict["cause"], verdict["unread"]) == ("healthy", None, [])


@pytest.mark.parametrize("fault", ON_BOTH)
def test_fault_is_named_while_it_is_there(bench: Bench, fault: str) -> None:
    with sick(bench, fault):
        verdict = named(bench, fault)
    assert verdict["status"] == "degraded"
    assert no_reboot(verdict)


@on_one_node
@pytest.mark.parametrize("fault", FLOODS)
def test_flood_or_famine_is_named_while_it_is_there(bench: Bench, fault: str) -> None:
    with sick(bench, fault):
        verdict = named(bench, fault)
    # How much is lost, and how long everything waits, is the emulated machine's speed: critical where it is much.
    assert verdict["status"] in ("degraded", "critical")
    assert no_reboot(verdict)


@on_one_node
@pytest.mark.parametrize(("fault", "cause", "status"), STATES)
def test_state_is_named_while_it_is_there(bench: Bench, fault: str, cause: str, status: str) -> None:
    if fault == "essential-unit-stopped":  # nobody says so of a node that has only just booted
        bench.node().run("until [ $(cut -d. -f1 /proc/uptime) -gt 300 ]; do sleep 5; done", within_seconds=400)
    with sick(bench, fault):
        verdict = named(bench, fault, cause, confidence=BY_FAULT[fault].confidence)
    assert verdict["status"] == status
    assert no_reboot(verdict)


@on_one_node
def test_node_is_healthy_once_every_state_is_undone(bench: Bench) -> None:
    verdict = bench.check_all()
    assert (verdict["status"], verdict["cause"]) == ("healthy", None)


@on_one_node
def test_node_that_is_full_of_work_is_healthy(bench: Bench) -> None:
    with sick(bench, "busy"):
        verdict = bench.check_all()
        bench.keep(f"debian-12-{bench.node().cgroups}--busy")
    assert (verdict["status"], verdict["cause"]) == ("healthy", None)


def test_core_held_without_a_leak_earns_no_reboot(bench: Bench) -> None:
    with sick(bench, "held-core"):
        verdict = bench.check_all()
    assert verdict["cause"] != "leaked-memory-cgroups"
    assert no_reboot(verdict)


def test_leak_that_does_no_harm_is_confirmed_and_earns_no_reboot(bench: Bench) -> None:
    try:
        leaks(bench, 3_200)  # a few hundredths of this node's memory
        verdict = named(bench, "leak-without-harm", "leaked-memory-cgroups")
    finally:
        bench.node().run(f"rm -f {LEAK_LIMITS}")
        bench.fault("leaked-memory-cgroups", "--undo")
    assert (verdict["status"], verdict["suspects"]) == ("degraded", ["ecs.service"])
    assert "no harm seen" in verdict["summary"]
    assert [step["action"] for step in verdict["plan"]["steps"]] == ["disable_unit"]


def test_leak_inside_a_unit_that_systemd_calls_well_is_named_too(bench: Bench) -> None:
    with sick(bench, "leaked-memory-cgroups-in-one-unit"):
        state = bench.node().run("systemctl show -P ActiveState -P SubState -P NRestarts ecs.service").stdout.split()
        verdict = named(bench, "leak-in-one-unit", "leaked-memory-cgroups")
    assert set(state) == {"active", "running", "0"}, "nothing for systemd to see"
    assert verdict["suspects"] == ["ecs.service"]


@on_one_node
@pytest.mark.parametrize(("fault", "cause", "status"), LOGGED)
def test_fault_that_stays_in_the_kernels_log_is_named(bench: Bench, fault: str, cause: str, status: str) -> None:
    over = {other for _, other, _ in LOGGED}  # those before it are still in the log
    with sick(bench, fault):
        verdict = named(bench, fault, cause, over, BY_FAULT[fault].confidence)
    assert verdict["status"] == status
    assert fault != "oom-kills-of-the-machine" or "the machine had no memory left" in verdict["summary"]
    assert no_reboot(verdict)


@on_one_node
def test_what_the_log_still_tells_is_not_of_now(bench: Bench) -> None:
    verdict = bench.check_all()
    assert verdict["status"] in ("healthy", "degraded"), verdict["summary"]
    assert verdict["plan"] is None
    assert verdict["cause"] in (None, *(cause for _, cause, _ in LOGGED))
