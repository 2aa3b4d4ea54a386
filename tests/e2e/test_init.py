"""`zombie init` as it is typed: in a terminal, and with every answer given, against a real OpenSSH server."""

import asyncio
import contextlib
import io
import itertools
import json
import os
import pty
import pwd
import re
import shlex
import shutil
import stat
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

import jsonschema
import pytest
import yaml
from PIL import Image, ImageColor

from bot.app.extras import shipped
from bot.app.factories import sudoers
from bot.app.new_site import (
    SERVICES,
    Address,
    NewSite,
    node_script,
    parse_approver,
    parse_channel,
    parse_named_node,
    shipped_text,
)
from bot.app.policy_settings import policy_as_written
from bot.domain.errors import UsageError
from bot.inventory import Inventory
from bot.settings import Settings
from bot.surfaces.teams.settings import TeamsSettings
from bot.transport.ssh_host_key import ShownHostKey, fetch_host_key
from tests.conftest import missing
from tests.nodes.accounts import change_accounts
from tests.nodes.sshd import IS_ROOT, Sshd
from tests.program import zombie

ROOT = Path(__file__).parents[2]
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
    words = (f"--node=node-1={sshd.address}:{sshd.port}", f"--user={sshd.user}", f"--key={sshd.client_key}")
    done = init(tmp_path, *words)
    fingerprint = subprocess.run(
        ["ssh-keygen", "-lf", f"{sshd.host_key}.pub"], capture_output=True, text=True, check=True
    ).stdout.split()[1]
    assert fingerprint in done.stdout
    assert "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub" in done.stdout
    run = f"ssh -p {sshd.port} {sshd.address} sudo sh -s"
    assert f"  {run} <{tmp_path}/node-setup.sh\n" in done.stdout
    assert f"  {run} -- --remove <{tmp_path}/node-setup.sh\n" in done.stdout
    assert "Without sudo on the node the kernel's log stays unread: UNKNOWN." in done.stdout
    assert "To be asked again: zombie init" in done.stdout
    assert not (tmp_path / "known_hosts").exists()
    assert done.returncode in (2, 4)


def test_wrong_host_that_an_option_gave_is_named_as_what_to_correct_everywhere(tmp_path: Path) -> None:
    done = init(tmp_path, "--node=node-1=127.0.0.1:1")
    assert done.returncode in (2, 4)
    assert "no host key from 127.0.0.1, port 1: " in done.stdout
    assert "correct its `address` or `port` in inventory.toml" in done.stdout
    doctor, check = (run_in(tmp_path, *words) for words in (("doctor",), ("check", "node-1")))
    for said in (doctor, check):
        assert "`address` and `port` in the inventory" in " ".join((said.stdout + said.stderr).split()), said
    again = init(tmp_path, "--node=node-1=127.0.0.1:2")
    assert f"{tmp_path}/inventory.toml is there already, and differs" in again.stdout
    assert "to begin anew, move it away" in again.stdout


@pytest.mark.real_sshd
async def test_of_several_host_keys_the_one_is_shown_whose_file_is_named(tmp_path: Path) -> None:
    """What people compare has to be the key of the file that they were told to look at."""
    for kind in ("rsa", "ecdsa"):
        make = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(tmp_path / kind)]
        await asyncio.to_thread(subprocess.run, make, check=True, timeout=60)
    with Sshd(extra_config=f"HostKey {tmp_path}/rsa\nHostKey {tmp_path}/ecdsa\n") as server:
        shown = await fetch_host_key(server.address, server.port, timedelta(seconds=10))
        assert f"{shown.line}\n" == server.known_hosts_line()
    files = [ShownHostKey("", kind, "").file for kind in ("ssh-ed25519", "ecdsa-sha2-nistp384", "ssh-rsa")]
    assert files == [f"/etc/ssh/ssh_host_{kind}_key.pub" for kind in ("ed25519", "ecdsa", "rsa")]


@pytest.mark.real_sshd
def test_asked_in_a_terminal(sshd: Sshd, tmp_path: Path) -> None:
    answers = {
        r"Where do the nodes come from": "file",
        r"Nodes, as NAME": f"bad name here= node-1={sshd.address}:{sshd.port}",  # refused first
        r"is not a node.*\n.*Nodes, as NAME": "node-1=127.0.0.1:1",  # nobody answers there
        r"no SSH server answers at 127.0.0.1, port 1: .*\n.*Nodes, as NAME": "node-1=no-such-host.invalid",
        r"answers at no-such-host.invalid, port 22: .*\n.*Nodes, as NAME": f"node-1={sshd.address}:{sshd.port}",
        r"Which login": sshd.user,
        r"Its key": str(sshd.client_key),
        r"Where do people ask": "n",
        r"PagerDuty's alerts": "",
        r"Who may approve": "alice",
        r"What shall run it": "compose",
        r"Is this key right": "yes",
        r"Press Enter once that is done": "",
    }
    said, status = in_terminal([*PROGRAM, "init", "--directory", str(tmp_path)], environment(tmp_path), answers)
    assert status == 0, said
    assert 'terminal_approvers = ["alice"]' in (tmp_path / "zombie.toml").read_text()
    assert "Compare with what each node's own console says" in said
    assert "zombie serve wants other alerts" in said.partition("\nNext:")[2]


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
            assert node["status"] != "unknown", node["summary"]
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


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.real_sshd
@pytest.mark.skipif(not IS_ROOT, reason="only root makes logins")
def test_from_the_wheel_to_the_first_verdict_of_an_own_node_takes_less_than_five_minutes(tmp_path: Path) -> None:
    """With nothing but Python, ssh and the wheel: no checkout, no variable of ours, a home that is new."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, capture_output=True, timeout=120, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    site, venv, user = tmp_path / "site", tmp_path / "venv", f"zf-{os.getpid() % 10000}-{tmp_path.name[-1]}"
    site.mkdir()
    bare = {"HOME": str(site), "PATH": "/usr/bin:/bin", "TERM": "dumb", "LANG": "C.UTF-8"}
    own_keys = Sshd(extra_config="AuthorizedKeysFile .ssh/authorized_keys\n")
    with Sshd(login_as_root=True) as admin, own_keys as node:

        def run_the_script() -> str:
            ssh = shlex.join(["ssh", *admin.ssh_options, f"{admin.user}@{admin.address}", "sudo sh -s"])
            change_accounts(["sh", "-c", f"{ssh} <{shlex.quote(str(site / 'node-setup.sh'))}"])
            return ""

        answers: dict[str, str | Callable[[], str]] = {
            "Where do the nodes come from": "",
            "Nodes, as NAME": f"node-1={node.address}:{node.port}",
            "Which login": user,
            "Its key": "",
            "Where do people ask": "",
            "PagerDuty's alerts": "",
            "Who may approve": "",
            "What shall run it": "",
            "Is this key right": "yes",
            "Press Enter once that is done": run_the_script,
        }
        began = time.monotonic()
        subprocess.run([sys.executable, "-m", "venv", venv], check=True, timeout=120)
        pip = [str(venv / "bin/pip"), "install", "-q", "--only-binary", ":all:", str(wheel)]
        done = subprocess.run(pip, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            missing(f"what the wheel needs cannot be had here: {done.stderr.strip().splitlines()[-1]}")
        try:
            said, status = in_terminal([str(venv / "bin/zombie"), "init"], bare, answers, site)
        finally:
            change_accounts(["sh", str(site / "node-setup.sh"), "--remove"])
        took = time.monotonic() - began
    verdict = said.partition("$ zombie check node-1")[2]
    assert (status, bool(re.search(r"^node-1  (HEALTHY|DEGRADED|CRITICAL)", verdict, re.MULTILINE))) == (0, True), said
    assert f"{user} may run all" in " ".join(said.split()), "doctor finds nothing that is still to be done on the node"
    assert took < 300, f"{took:.0f} s"


def run_in(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    files = ("--inventory", str(folder / "inventory.toml"), "--config", str(folder / "zombie.toml"))
    return zombie(*words, *files, env=environment(folder))


def in_terminal(
    command: list[str],
    environ: Mapping[str, str],
    answers: Mapping[str, str | Callable[[], str]],
    folder: Path = Path(),
) -> tuple[str, int]:
    """Run a command in a terminal, answering each question once it is asked; return what it said and its status."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
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
            answer = left.pop(0)[1]
            os.write(terminal, f"{answer if isinstance(answer, str) else answer()}\n".encode())
    os.close(terminal)
    return said, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


SITES = [
    NewSite(nodes={"node-1": Address("10.0.0.1"), "b": Address("::1", 2222)}, people=("U012AB", "S012AB", "alice")),
    NewSite(nodes={"node-1": Address("10.0.0.1")}, chat="slack", alerts_channel="C012AB", pagerduty=True),
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


def test_values_of_the_chart_say_that_the_image_is_to_be_named() -> None:
    text = NewSite(service="kubernetes").files()["values.yaml"]
    assert "a placeholder: write where you keep the image" in text
    assert '# tag: ""' in text


def test_pages_take_the_login_away_by_the_script_that_made_it() -> None:
    remove = "ssh NODE sudo sh -s -- --remove <node-setup.sh"
    for page in ("README.md", "docs/serving.md", "docs/tutorial.md"):
        assert remove in " ".join((ROOT / page).read_text("utf-8").split()), page
    assert "/etc/sudoers.d/zombie-zombie" in (ROOT / "docs/serving.md").read_text("utf-8")
    assert "lines=/etc/sudoers.d/zombie-$user" in node_script("zombie", "", "")


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
    assert parse_named_node(text) == (name, at)


@pytest.mark.parametrize("text", ["", "=", "a=", "-oProxyCommand=x", "a=$(id)", "a=b c", "a=h:0", "a=h:99999", "a'b=h"])
def test_what_is_no_node(text: str) -> None:
    with pytest.raises(UsageError):
        parse_named_node(text)


APP, TENANT, PERSON = (f"{digit}a1b2c3d-0000-4000-8000-000000000000" for digit in "0a9")
TEAM = "19:abc_1@thread.tacv2"


@pytest.mark.parametrize("chat", ["", "slack", "teams"])
@pytest.mark.parametrize("text", ["", "#alerts", "@alice", "Alice Smith", "alice;id", TENANT])
def test_who_is_nobody(text: str, chat: str) -> None:
    with pytest.raises(UsageError):
        parse_approver(text, chat)


def test_people_of_another_chat_are_nobody_here() -> None:
    of_teams, of_slack = f"teams:{TENANT}/{PERSON}", "U012AB"
    assert parse_approver(PERSON.upper(), "teams", TENANT) == parse_approver(of_teams, "teams") == of_teams
    assert parse_approver(f"teams:{TEAM}", "teams") == f"teams:{TEAM}"
    assert parse_approver(of_slack, "slack") == of_slack
    assert {parse_approver("alice", chat) for chat in ("", "slack", "teams")} == {"alice"}
    for who, chat in ((of_slack, "teams"), (of_slack, ""), (of_teams, "slack"), (of_teams, "")):
        with pytest.raises(UsageError):
            parse_approver(who, chat)


def test_channel_is_an_id_or_nothing() -> None:
    assert parse_channel("") == parse_channel("", "teams") == ""
    assert parse_channel(TEAM, "teams") == TEAM
    for text, chat in (("#alerts", "slack"), (TEAM, "slack"), ("C012AB", "teams"), ("General", "teams")):
        with pytest.raises(UsageError):
            parse_channel(text, chat)


@pytest.mark.real_sshd
def test_teams_gets_its_manifest_its_settings_and_the_names_of_its_secrets(sshd: Sshd, tmp_path: Path) -> None:
    words = (f"--node=node-1={sshd.address}:{sshd.port}", f"--user={sshd.user}", f"--key={sshd.client_key}")
    more = ("--chat=teams", f"--teams-app={APP}", f"--teams-tenant={TENANT}", f"--alerts-channel={TEAM}")
    done = init(tmp_path, *words, *more, f"--approver={PERSON}", f"--approver=teams:{TEAM}", "--accept-host-keys")
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "teams-app/manifest.json").read_text())
    assert (manifest["id"], manifest["bots"][0]["botId"]) == (APP, APP)
    (command,) = re.findall(r"python3 (-m zipfile -c teams-app\.zip teams-app/\*)", done.stdout)
    subprocess.run(["sh", "-c", f"{shlex.quote(sys.executable)} {command}"], cwd=tmp_path, check=True, timeout=60)
    with zipfile.ZipFile(tmp_path / "teams-app.zip") as package:
        assert sorted(package.namelist()) == sorted(["manifest.json", *manifest["icons"].values()])
        color, outline = (Image.open(io.BytesIO(package.read(name))) for name in ("color.png", "outline.png"))
    assert (color.format, color.size, color.getpixel((0, 0))) == (
        "PNG",
        (192, 192),
        (*ImageColor.getrgb(manifest["accentColor"]), 255),
    )
    assert (outline.format, outline.size, outline.mode) == ("PNG", (32, 32), "RGBA")
    assert set(outline.convert("RGB").tobytes()) == {255}, "white alone, or the catalogue refuses it"
    assert {0, 255} < set(outline.getchannel("A").tobytes())
    assert (tmp_path / "zombie.env").read_text().splitlines()[3:] == [
        f"TEAMS_APP_ID={APP}",
        f"TEAMS_TENANT={TENANT}",
        "TEAMS_APP_SECRET=",
    ]
    given = {"TEAMS_APP_ID": APP, "TEAMS_TENANT": TENANT, "TEAMS_APP_SECRET": "of-nobody"}
    settings = Settings.load({}, given, tmp_path, None, shipped().settings)
    assert settings.of(TeamsSettings).checked().alerts_channel == TEAM
    policy = policy_as_written(settings)
    assert set(policy.approvers) == {f"teams:{PERSON}"}, "as the record names people: the object id, of the one tenant"
    assert set(policy.approver_groups) == {f"teams:{TEAM}"}
    assert "TEAMS_APP_SECRET" in done.stdout.partition("\nNext:")[2]


def test_services_file_names_what_the_sites_chat_and_alerts_need_and_nothing_of_another(tmp_path: Path) -> None:
    """What is named and lacks keeps the service from starting; what is not named never reaches it."""
    chats = {"": set[str](), "slack": {"SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"}, "teams": {"TEAMS_APP_SECRET"}}
    for (chat, secrets), pagerduty in itertools.product(chats.items(), (False, True)):
        secrets = secrets | ({"PAGERDUTY_API_TOKEN", "PAGERDUTY_WEBHOOK_SECRETS"} if pagerduty else set())
        plain = {"TEAMS_APP_ID": APP, "TEAMS_TENANT": TENANT} if chat == "teams" else {}
        plain |= {"PAGERDUTY_FROM": ""} if pagerduty else {}

        def file(service: str, chat: str = chat, pagerduty: bool = pagerduty) -> str:
            site = NewSite(chat=chat, teams_app=APP, teams_tenant=TENANT, pagerduty=pagerduty, service=service)
            return site.files()[SERVICES[service]]

        unit = file("systemd")
        named = re.findall(r"^LoadCredential=(\w+):/etc/zombie/secrets/(\w+)$", unit, re.MULTILINE)
        assert named == [(name, name) for name, _ in named]
        assert {name for name, _ in named} == {*secrets, "zombie_key"}
        assert dict(re.findall(r"^Environment=((?:TEAMS|PAGERDUTY)\w+)=(.*)$", unit, re.MULTILINE)) == plain
        assert not {f"#LoadCredential={name}" for name in secrets} & {
            line.partition(":")[0] for line in unit.splitlines()
        }

        compose = yaml.safe_load(file("compose"))
        bot = compose["services"]["zombie"]
        assert {*bot["secrets"]} == {*compose["secrets"]} == {*secrets, "ZOMBIE_DATABASE_PASSWORD"}
        assert {name: value for name, value in bot["environment"].items() if name in plain} == plain
        assert {*bot["environment"]} - {*plain} == {"CREDENTIALS_DIRECTORY", "ZOMBIE_DATABASE_URL"}

        values = yaml.safe_load(file("kubernetes"))
        jsonschema.validate(values, json.loads((ROOT / "deploy/chart/values.schema.json").read_text()))
        assert values.get("environment", {}) == plain
        assert ("tokens" in values, "create secret generic zombie-tokens" in file("kubernetes")) == (
            bool(secrets),
            bool(secrets),
        )
        assert set(re.findall(r"--from-file=([A-Z_]+)", file("kubernetes").partition("# Two bots")[0])) == secrets
        assert ("ingress" in values) == (chat == "teams")


@pytest.mark.real_sshd
@pytest.mark.skipif(not IS_ROOT, reason="only root gives a login lines of sudoers")
def test_openssh_configuration_gets_the_lines_for_its_login_and_a_first_verdict(sshd: Sshd, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        f"Host node-1\n  HostName {sshd.address}\n  Port {sshd.port}\n  User {sshd.user}\n"
        f"  IdentityFile {sshd.client_key}\n  UserKnownHostsFile {sshd.known_hosts}\n"
    )
    done = init(tmp_path, f"--ssh-config={config}")
    assert done.returncode == 0, done.stderr
    script = tmp_path / "node-setup.sh"
    assert f"gives {sshd.user} on a node the lines of sudoers" in done.stdout
    assert "key=''" in script.read_text()
    try:
        change_accounts(["sh", str(script)])
        node = json.loads(run_in(tmp_path, "check", "node-1", "--json").stdout)["nodes"][0]
        assert node["status"] != "unknown", node["summary"]
        assert "kernel_log" not in [each["probe"] for each in node["unread"]]
    finally:
        change_accounts(["sh", str(script), "--remove"])
    assert pwd.getpwnam(sshd.user).pw_name == sshd.user
    assert not Path(f"/etc/sudoers.d/zombie-{sshd.user}").exists()


def test_files_that_come_with_the_program_are_those_of_the_checkout() -> None:
    assert "DynamicUser=yes" in shipped_text("deploy/zombie.service")
    assert "image: zombie" in NewSite(service="compose").files()["compose.yaml"]
    assert "build:" not in NewSite(service="compose").files()["compose.yaml"]
