"""The real OpenSSH server that other tests lean on keeps its own promises."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import missing
from tests.nodes.sshd import IS_ROOT, Sshd, is_alive
from tests.waiting import until

pytestmark = pytest.mark.real_sshd


def ssh(node: Sshd, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["ssh", *node.ssh_options, node.address, command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.skipif(not IS_ROOT, reason="only root can make a user of the test's own")
def test_login_is_unprivileged_until_sudo_is_allowed(sshd: Sshd) -> None:
    assert ssh(sshd, "id -u").stdout.strip() != "0"
    assert ssh(sshd, "sudo -n id -u").returncode != 0
    sshd.allow_sudo("/usr/bin/id -u")
    assert ssh(sshd, "sudo -n id -u").stdout == "0\n"
    assert ssh(sshd, "sudo -n id -g").returncode != 0


def test_what_outlived_its_connection_is_found_and_ended() -> None:
    with Sshd() as node:
        assert ssh(node, "setsid sleep 600 >/dev/null 2>&1 </dev/null & echo $!").returncode == 0
        sleeper = until(lambda: [pid for pid in node.processes() if _name(pid) == "sleep"], what="the sleeper")
        folder = node.folder
    assert not any(is_alive(pid) for pid in sleeper)
    assert not folder.exists()
    if IS_ROOT:
        assert node.user not in Path("/etc/passwd").read_text()


def test_missing_tool_skips_by_hand_and_fails_in_ci(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(os.environ, "CI", "")
    with pytest.raises(pytest.skip.Exception):
        missing("no such tool")
    monkeypatch.setitem(os.environ, "CI", "true")
    with pytest.raises(pytest.fail.Exception):
        missing("no such tool")


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
