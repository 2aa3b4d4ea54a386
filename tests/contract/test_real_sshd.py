"""The real OpenSSH server that other tests lean on keeps its own promises."""

import os
import subprocess
from datetime import timedelta
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


def test_lets_its_key_in_as_its_user(sshd: Sshd) -> None:
    done = ssh(sshd, "id -un; exit 7")
    assert (done.stdout, done.returncode) == (f"{sshd.user}\n", 7)


@pytest.mark.skipif(not IS_ROOT, reason="only root can make a user of the test's own")
def test_login_is_unprivileged_until_sudo_is_allowed(sshd: Sshd) -> None:
    assert ssh(sshd, "id -u").stdout.strip() != "0"
    assert ssh(sshd, "sudo -n id -u").returncode != 0
    sshd.allow_sudo("/usr/bin/id -u")
    assert ssh(sshd, "sudo -n id -u").stdout == "0\n"
    assert ssh(sshd, "sudo -n id -g").returncode != 0


@pytest.mark.skipif(not IS_ROOT, reason="only root can give sudo rights")
def test_sudo_line_that_visudo_refuses_is_never_installed(sshd: Sshd) -> None:
    with pytest.raises(ValueError, match=r"expected a fully-qualified path|error"):
        sshd.allow_sudo("not/a/full/path (")
    assert ssh(sshd, "sudo -n id -u").returncode != 0


def test_replaced_host_key_is_refused_by_who_knew_the_old_one(sshd: Sshd) -> None:
    port = sshd.port
    sshd.replace_host_key()
    done = ssh(sshd, "true")
    assert done.returncode == 255
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in done.stderr
    assert sshd.port == port
    sshd.known_hosts.write_text(sshd.known_hosts_line())
    assert ssh(sshd, "true").returncode == 0


def test_what_outlived_its_connection_is_found_and_ended() -> None:
    with Sshd() as node:
        assert ssh(node, "setsid sleep 600 >/dev/null 2>&1 </dev/null & echo $!").returncode == 0
        sleeper = until(lambda: [pid for pid in node.processes() if _name(pid) == "sleep"], what="the sleeper")
        folder = node.folder
    assert not any(is_alive(pid) for pid in sleeper)
    assert not folder.exists()
    if IS_ROOT:
        assert node.user not in Path("/etc/passwd").read_text()


def test_cut_sessions_leave_the_server_listening(sshd: Sshd) -> None:
    with subprocess.Popen(
        ["ssh", *sshd.ssh_options, sshd.address, "echo here; sleep 600"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == b"here\n"
        sshd.kill_sessions()
        assert client.wait(timeout=10) == 255
    assert ssh(sshd, "true").returncode == 0


def test_waiting_says_what_it_waited_for() -> None:
    with pytest.raises(TimeoutError, match=r"0\.02 s for the moon; last answer: \[\]"):
        until(list, within=timedelta(seconds=0.02), what="the moon")


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
