"""The quick kind of node: systemd and sshd up in seconds on this machine's own kernel, with what that cannot show."""

from pathlib import Path

import pytest

from bot.lab.container import unsupported_reason
from bot.lab.lab import reboot
from tests.lab.bench import Bench, boot_id

pytestmark = [pytest.mark.lab, pytest.mark.skipif(bool(unsupported_reason()), reason=unsupported_reason() or "-")]


def test_quick_node_is_judged_rebooted_and_gone(own: Bench) -> None:
    node = own.up("--kind", "nspawn")
    first = boot_id(node)
    own.fault("failed-units")
    verdict = own.check()
    # The kernel counts this machine's cgroups too, so that count is unread, and what is known is said all the same.
    assert (verdict["cause"], verdict["suspects"]) == ("failed-units", ["backup.service"])
    assert "cgroups" in [unread["probe"] for unread in verdict["unread"]]
    own.fault("failed-units", "--undo")

    own.fault("leaked-memory-cgroups")
    verdict = own.check()
    assert (verdict["cause"], verdict["suspects"]) == ("crash-looping-unit", ["ecs.service"])
    assert node.run("systemctl disable --now ecs.service").ok
    assert reboot(node, first) == boot_id(node) != first
    assert not node.run("systemctl is-active ecs.service").ok

    assert own.zombie("lab", "down").returncode == 0
    assert not Path("/sys/class/net/zlab0").exists()
    assert not Path("/sys/fs/cgroup/memory/zombie-lab").exists()
    assert list(own.folder.rglob("*")) == []
    assert str(own.folder) not in Path("/proc/self/mountinfo").read_text()
