"""`zombie init` as it is typed: in a terminal, and with every answer given, against a real OpenSSH server."""

import contextlib
import json
import os
import pty
import pwd
import re
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.app.factories import sudoers
from bot.app.new_site import Address, NewSite, approver, channel, named_node, node_script, shipped_text
from bot.domain.errors import UsageError
from bot.inventory import Inventory
from bot.settings import Settings
from tests.nodes.accounts import change_accounts
from tests.nodes.sshd import IS_ROOT, Sshd
from tests.program import zombie

PROGRAM = [sys.executable, "-P", "-m", "bot"]


def environment(home: Path) -> Mapping[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("ZOMBIE_", "SLACK_", "PAGERDUTY_"))
    }
    return {**kept, "HOME": str(home), "ZOMBIE_STATE_DIR": str(home / "state")}


def init(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return zombie("init", "--directory", str(folder), *words, env=environment(folder))


@pytest.mark.real_sshd
def test_every_answer_given_ends_with_a_verdict(sshd: Sshd, tmp_path: Path) -> None:
    words = (f"--node=node-1={sshd.address}:{sshd.port}", f"--user={sshd.user}", f"--key={sshd.client_key}")
    more = ("--chat=slack", "--alerts-channel=C012AB", "--pagerduty=yes", "--approver=U012AB", "--service=systemd")
    done = init(tmp_path, *words, *more, "--accept-host-keys")
    assert done.returncode == 0, done.stderr
    assert "node-1" in done.stdout.partition("$ zombie check")[2]
    written = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert written == {
        *(
            "inventory.toml",
            "zombie.toml",
            "known_hosts",
            "zombie.env",
            "slack-manifest.yaml",
            "zombie.service",
            "node-setup.sh",
        )
    }
    assert stat.S_IMODE((tmp_path / "zombie.env").stat().st_mode) == 0o600
    assert (tmp_path / "known_hosts").read_text().split()[1:] == sshd.known_hosts.read_text().split()[1:3]
    before = {name: (tmp_path / name).read_text() for name in written}
    again = init(tmp_path, *words, "--user=other", "--chat=none", "--accept-host-keys")
    assert "inventory.toml is there already, and differs: it is left as it is" in again.stdout
    assert {name: (tmp_path / name).read_text() for name in written} == before


@pytest.mark.real_sshd
def test_host_key_that_nobody_confirmed_is_not_trusted(sshd: Sshd, tmp_path: Path) -> None:
    done = init(
        tmp_path, f"--node=node-1={sshd.address}:{sshd.port}", f"--user={sshd.user}", f"--key={sshd.client_key}"
    )
    fingerprint = subprocess.run(
        ["ssh-keygen", "-lf", f"{sshd.host_key}.pub"], capture_output=True, text=True, check=True
    ).stdout.split()[1]
    assert fingerprint in done.stdout
    assert not (tmp_path / "known_hosts").exists()
    assert done.returncode in (2, 4)


def test_login_that_no_script_could_make_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    done = init(tmp_path, "--node=node-1=10.0.0.7", "--user=first.last")
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "'first.last' is not a login name" in done.stderr


def test_nobody_to_ask_is_an_error_that_says_what_to_write(tmp_path: Path) -> None:
    done = init(tmp_path)
    assert done.returncode == 2
    assert "--node NAME=HOST" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.real_sshd
def test_asked_in_a_terminal(sshd: Sshd, tmp_path: Path) -> None:
    answers = {
        r"Where do the nodes come from": "file",
        r"Nodes, as NAME": f"bad name here= node-1={sshd.address}:{sshd.port}",  # refused first
        r"is not a node.*\n.*Nodes, as NAME": f"node-1={sshd.address}:{sshd.port}",
        r"Which login": sshd.user,
        r"Its key": str(sshd.client_key),
        r"Where do people ask": "n",
        r"PagerDuty's alerts": "",
        r"Who may approve": "alice",
        r"What shall run it": "",
        r"Are these 1 keys right": "yes",
        r"Press Enter once the login is there": "",
    }
    said, status = in_terminal([*PROGRAM, "init", "--directory", str(tmp_path)], environment(tmp_path), answers)
    assert status == 0, said
    assert 'terminal_approvers = ["alice"]' in (tmp_path / "zombie.toml").read_text()
    assert "Compare with what each node's own console says" in said


@pytest.mark.real_sshd
@pytest.mark.skipif(not IS_ROOT, reason="only root makes logins")
def test_login_that_the_script_makes_reads_all_that_only_root_may_and_is_taken_away_again(tmp_path: Path) -> None:
    user = f"zt-{tmp_path.parent.name[-8:]}{os.getpid() % 10000}".lower().replace("_", "")
    with Sshd(extra_config="AuthorizedKeysFile .ssh/authorized_keys\n") as sshd:
        done = init(tmp_path, f"--node=node-1={sshd.address}:{sshd.port}", f"--user={user}", "--accept-host-keys")
        assert done.returncode == 4, "there is no such login yet"
        try:
            for _ in range(2):  # a second run changes nothing
                change_accounts(["sh", str(tmp_path / "node-setup.sh")])
            assert stat.S_IMODE((tmp_path / "zombie_key").stat().st_mode) == 0o600
            verdict = run_in(tmp_path, "check", "node-1", "--json")
            node = json.loads(verdict.stdout)["nodes"][0]
            assert "kernel_log" not in [each["probe"] for each in node["unread"]], node["unread"]
            doctor = run_in(tmp_path, "doctor")
            assert f"{user} may run all" in " ".join(doctor.stdout.split()), doctor.stdout
            given = Path(f"/etc/sudoers.d/zombie-{user}").read_text().splitlines()
            asked = run_in(tmp_path, "sudoers", "--user", user, "--node", "node-1").stdout.splitlines()
            assert [line for line in asked if not line.startswith("#")] == given
        finally:
            change_accounts(["sh", str(tmp_path / "node-setup.sh"), "--remove"])
        with pytest.raises(KeyError):
            pwd.getpwnam(user)
        assert not Path(f"/etc/sudoers.d/zombie-{user}").exists()


@pytest.mark.skipif(not IS_ROOT, reason="only root makes logins")
def test_login_of_somebody_else_loses_the_key_and_the_lines_alone(tmp_path: Path) -> None:
    with Sshd() as sshd:
        (sshd.home / ".ssh").mkdir(mode=0o700)
        keys = sshd.home / ".ssh" / "authorized_keys"
        keys.write_text("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOther other@host\n")
        for path in (keys, keys.parent):
            shutil.chown(path, sshd.user)
        key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOurs zombie@host"
        (tmp_path / "setup.sh").write_text(node_script(sshd.user, key, sudoers(sshd.user)))
        change_accounts(["sh", str(tmp_path / "setup.sh")])
        assert key in keys.read_text()
        change_accounts(["sh", str(tmp_path / "setup.sh"), "--remove"])
        assert keys.read_text() == "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOther other@host\n"
        assert pwd.getpwnam(sshd.user).pw_name == sshd.user


@pytest.mark.skipif(not IS_ROOT, reason="only root makes logins")
@pytest.mark.parametrize("link", [".ssh", ".ssh/authorized_keys"])
def test_link_that_the_login_made_in_its_home_leads_the_script_nowhere(tmp_path: Path, link: str) -> None:
    with Sshd() as sshd:
        of_root = tmp_path / "of-root"
        of_root.mkdir()
        tmp_path.chmod(0o711)
        (of_root / "authorized_keys").write_text("ssh-ed25519 AAAA root@host\n")
        if link == ".ssh":
            (sshd.home / link).symlink_to(of_root)
        else:
            (sshd.home / ".ssh").mkdir(mode=0o700)
            (sshd.home / link).symlink_to(of_root / "authorized_keys")
        key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOurs zombie@host"
        (tmp_path / "setup.sh").write_text(node_script(sshd.user, key, sudoers(sshd.user)))
        for more in ([], ["--remove"]):
            with contextlib.suppress(subprocess.CalledProcessError):
                change_accounts(["sh", str(tmp_path / "setup.sh"), *more])
            assert (of_root / "authorized_keys").read_text() == "ssh-ed25519 AAAA root@host\n"
            assert (of_root / "authorized_keys").stat().st_uid == 0


@pytest.mark.parametrize(
    ("user", "key"),
    [
        ("zombie; id", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI name"),
        ("zombie", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI it's"),
        ("zombie", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI a\nb"),
        ("zombie", "-----BEGIN OPENSSH PRIVATE KEY-----"),
    ],
)
def test_script_takes_no_text_that_a_shell_would_read(user: str, key: str) -> None:
    with pytest.raises(UsageError):
        node_script(user, key, "")


def run_in(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    files = ("--inventory", str(folder / "inventory.toml"), "--config", str(folder / "zombie.toml"))
    return zombie(*words, *files, env=environment(folder))


def in_terminal(command: list[str], environ: Mapping[str, str], answers: Mapping[str, str]) -> tuple[str, int]:
    """Run a command in a terminal, answering each question once it is asked; return what it said and its status."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(command[0], command, dict(environ))
    said, asked_from, left, end = "", 0, list(answers.items()), time.monotonic() + 120
    while time.monotonic() < end:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        said += piece.decode("utf-8", "replace").replace("\r\n", "\n")
        if left and re.search(left[0][0] + r"[^\n]*[\].] \Z", said[asked_from:], re.DOTALL):
            asked_from = len(said)
            os.write(terminal, f"{left.pop(0)[1]}\n".encode())
    os.close(terminal)
    return said, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


SITES = [
    NewSite(nodes={"node-1": Address("10.0.0.1"), "b": Address("::1", 2222)}, people=("U012AB", "S012AB", "alice")),
    NewSite(nodes={"node-1": Address("10.0.0.1")}, slack=True, alerts_channel="C012AB", pagerduty=True),
    *(NewSite(nodes={"node-1": Address("h")}, service=name) for name in ("systemd", "compose", "kubernetes")),
]


@pytest.mark.parametrize("site", SITES)
def test_files_can_be_used_as_written(site: NewSite, tmp_path: Path) -> None:
    files = site.files()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    known = Inventory.load(tmp_path / "inventory.toml", home=tmp_path)
    assert {(node.name, node.address, node.port or 22) for node in known.nodes} == {
        (name, at.host, at.port) for name, at in site.nodes.items()
    }
    settings = Settings.load({}, {}, tmp_path)
    assert settings.slack.alerts_channel == site.alerts_channel
    assert settings.policy.approvers | settings.policy.approver_groups | set(settings.policy.terminal_approvers) == set(
        site.people
    )
    assert settings.act.units == frozenset()
    secrets = files.get("zombie.env", "")
    assert all(line.startswith("#") or line.endswith("=") for line in secrets.splitlines())


def test_sources_other_than_a_file(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("Host a b\n  User zombie\n")
    (tmp_path / "inventory.toml").write_text(NewSite(ssh_config=tmp_path / "config").files()["inventory.toml"])
    assert [node.name for node in Inventory.load(tmp_path / "inventory.toml", home=tmp_path).nodes] == ["a", "b"]
    assert (
        'regions = ["us-east-1", "eu-west-1"]' in NewSite(regions=("us-east-1", "eu-west-1")).files()["inventory.toml"]
    )
    assert 'context = "prod"' in NewSite(context="prod").files()["inventory.toml"]


@pytest.mark.parametrize(
    ("text", "name", "at"),
    [
        ("node-1=10.0.0.7", "node-1", Address("10.0.0.7")),
        ("node-1=h.example:2222", "node-1", Address("h.example", 2222)),
        ("node-1.example.com", "node-1", Address("node-1.example.com")),
        ("10.0.0.7", "10.0.0.7", Address("10.0.0.7")),
        ("n=[fe80::1]:22", "n", Address("fe80::1")),
    ],
)
def test_nodes_as_they_are_typed(text: str, name: str, at: Address) -> None:
    assert named_node(text) == (name, at)


@pytest.mark.parametrize("text", ["", "=", "a=", "-oProxyCommand=x", "a=$(id)", "a=b c", "a=h:0", "a=h:99999", "a'b=h"])
def test_what_is_no_node(text: str) -> None:
    with pytest.raises(UsageError):
        named_node(text)


@pytest.mark.parametrize("text", ["", "#alerts", "@alice", "Alice Smith", "alice;id"])
def test_who_is_nobody(text: str) -> None:
    with pytest.raises(UsageError):
        approver(text)


def test_channel_is_an_id_or_nothing() -> None:
    assert channel("") == ""
    with pytest.raises(UsageError):
        channel("#alerts")


def test_files_that_come_with_the_program_are_those_of_the_checkout() -> None:
    assert "DynamicUser=yes" in shipped_text("deploy/zombie.service")
    assert "image: zombie" in NewSite(service="compose").files()["compose.yaml"]
    assert "build:" not in NewSite(service="compose").files()["compose.yaml"]
