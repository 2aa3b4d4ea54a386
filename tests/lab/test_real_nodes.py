"""A real kernel and a real systemd, made sick for real: what the bot says is held against what the kernel says.

The tests run in this order on one node a cgroup version; what the kernel's log keeps until a reboot comes last.
Under emulation everything takes longer, the node's own answers too, so no test here asserts how long anything took.
"""

import pytest

from bot.lab.lab import reboot
from tests.lab.bench import Bench, boot_id, dying

pytestmark = [pytest.mark.lab, pytest.mark.slow]


def test_healthy_node_is_healthy_and_every_probe_is_read(bench: Bench) -> None:
    verdict = bench.check()
    assert (verdict["status"], verdict["cause"], verdict["unread"]) == ("healthy", None, [])


@pytest.mark.parametrize(
    ("fault", "status"),
    [("failed-units", "degraded"), ("cfs-throttling", "degraded"), ("io-stall", "critical")],
)
def test_fault_is_named_while_it_is_there(bench: Bench, fault: str, status: str) -> None:
    bench.fault(fault)
    verdict = bench.check()
    bench.fault(fault, "--undo")
    assert (verdict["cause"], verdict["status"], verdict["confidence"]) == (fault, status, "confirmed")


def test_core_held_without_a_leak_earns_no_reboot(bench: Bench) -> None:
    bench.fault("held-core")
    verdict = bench.check()
    bench.fault("held-core", "--undo")
    assert verdict["cause"] != "leaked-memory-cgroups"
    assert verdict["plan"] is None or all(step["action"] != "reboot" for step in verdict["plan"]["steps"])


def test_the_founding_incident_from_leak_to_reboot(bench: Bench) -> None:
    node = bench.node()
    first_boot = boot_id(node)
    bench.fault("leaked-memory-cgroups")

    before = dying(node)
    verdict = bench.check()
    after = dying(node)
    assert (verdict["cause"], verdict["confidence"]) == ("leaked-memory-cgroups", "confirmed")
    assert verdict["suspects"] == ["ecs.service"]
    reading = verdict["readings"]["cgroups"]
    assert before <= reading["dying"] <= reading["dying_later"] <= after
    assert before > 1000

    # Disabled, the leak ends and what leaked stays: nothing but a reboot frees it.
    assert node.run("systemctl disable --now ecs.service").ok
    stopped = dying(node)
    again = bench.check()
    assert dying(node) == again["readings"]["cgroups"]["dying_later"] == stopped >= after

    # A real reboot: another boot_id, and the node's own journal counts one boot more.
    boots = len(node.run("journalctl --list-boots -q").stdout.splitlines())
    assert reboot(node, first_boot) == boot_id(node) != first_boot
    assert len(node.run("journalctl --list-boots -q").stdout.splitlines()) == boots + 1
    assert dying(node) < 100
    cured = bench.check()
    assert (cured["status"], cured["cause"]) == ("healthy", None)
    assert cured["readings"]["cgroups"]["dying"] < 100


def test_full_table_of_connections_is_named(bench: Bench) -> None:
    bench.fault("conntrack-full")
    verdict = bench.check()
    bench.fault("conntrack-full", "--undo")
    assert (verdict["cause"], verdict["status"], verdict["confidence"]) == ("conntrack-full", "critical", "confirmed")
