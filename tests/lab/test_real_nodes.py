"""A real kernel and a real systemd, made sick for real: what the bot says is held against what the kernel says.

The tests run in this order on one node a cgroup version; what the kernel's log keeps until a reboot comes last.
Under emulation everything takes longer, the node's own answers too, so no test here asserts how long anything took.
"""

import pytest

from tests.lab.bench import Bench

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


def test_full_table_of_connections_is_named(bench: Bench) -> None:
    bench.fault("conntrack-full")
    verdict = bench.check()
    bench.fault("conntrack-full", "--undo")
    assert (verdict["cause"], verdict["status"], verdict["confidence"]) == ("conntrack-full", "critical", "confirmed")
