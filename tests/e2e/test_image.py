"""The image, built by its own steps and run as a user whom it does not know, with a root that nobody can write to.

Needs root, mmdebstrap, and the network for the base and the packages; no container engine.
"""

import asyncio
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

from bot.app.version import version
from tests.conftest import missing
from tests.image import Build, Container, Stage, base_of
from tests.nodes.sshd import IS_ROOT, SSHD, Sshd
from tests.ports import free_port
from tests.slack.workspace import SlackWorkspace, workspace
from tests.waiting import until

pytestmark = [
    pytest.mark.long,
    pytest.mark.real_sshd,
    pytest.mark.slow,
    pytest.mark.skipif(not IS_ROOT, reason="only root can mount and chroot, which is how the image is run here"),
]
ROOT = Path(__file__).parents[2]
UID = 54321


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    for tool in ("mmdebstrap", "unshare"):
        if shutil.which(tool) is None:
            missing(f"{tool} is not installed (Debian: apt install mmdebstrap util-linux)")
    folder = tmp_path_factory.mktemp("image")
    folder.parent.chmod(0o755)
    folder.chmod(0o755)  # the image's user goes through it
    yield Build(ROOT, base_of(ROOT / "Dockerfile"), folder, {"VERSION": version()}).run()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def node() -> Iterator[Sshd]:
    if SSHD is None:
        missing("sshd is not installed (Debian: apt install openssh-server)")
    with Sshd() as node:
        yield node


@pytest.fixture
def container(built: Stage, node: Sshd, tmp_path: Path) -> Container:
    """The image with an inventory of one real node, mounted as its README says."""
    mounted = tmp_path / "inventory"
    mounted.mkdir()
    for name in ("client_key", "known_hosts"):
        shutil.copy(node.folder / name, mounted / name)
    for path in (mounted, mounted / "client_key"):
        os.chown(path, UID, UID)
    (mounted / "client_key").chmod(0o400)
    (mounted / "inventory.toml").write_text(
        f'[ssh]\nuser = "{node.user}"\nkey = "client_key"\nknown_hosts = "known_hosts"\n'
        f'[nodes.node-1]\naddress = "{node.address}"\nport = {node.port}\n'
    )
    return Container(built, tmp_path / "volumes", UID, mounted)


def run(container: Container, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        container.argv(*arguments),
        env=container.image.environment | more,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def inside(container: Container, *command: str) -> int:
    """Run a command in the container in place of the program, and return its exit status."""
    argv = container.argv(entrypoint=command)
    return subprocess.run(
        argv, env=container.image.environment, capture_output=True, timeout=60, check=False
    ).returncode


def test_user_is_unknown_and_writes_only_to_the_volume_and_tmp(container: Container) -> None:
    with pytest.raises(KeyError):
        pwd.getpwuid(UID)
    assert inside(container, "python", "-c", f"import pwd; pwd.getpwuid({UID})") == 1
    tried = {
        path: inside(container, "touch", f"{path}/x")
        for path in ("/var/lib/zombie", "/tmp", "/", "/etc", "/opt/zombie")
    }
    assert {path for path, code in tried.items() if code == 0} == {"/var/lib/zombie", "/tmp"}


def test_man_page_is_that_of_the_program_in_it(container: Container) -> None:
    page = (container.image.root / "opt/zombie/share/man/man1/zombie.1").read_text()
    assert page.startswith(".TH ZOMBIE 1")
    assert run(container, "manual").stdout == page


def test_checks_a_node_and_this_machine(container: Container) -> None:
    for arguments in (("--inventory", "inventory.toml", "node-1"), ("--local",)):
        done = run(container, "check", *arguments, "--json", "--samples", "1")
        assert done.stderr == ""
        (told,) = json.loads(done.stdout)["nodes"]
        assert done.returncode == {"healthy": 0, "degraded": 1, "critical": 1, "unknown": 3}[told["status"]]


def test_login_that_nobody_named_is_asked_for(container: Container) -> None:
    inventory = container.mounted / "inventory.toml"
    inventory.write_text(re.sub("^user.*\n", "", inventory.read_text(), flags=re.MULTILINE))
    done = run(container, "check", "node-1", "--samples", "1")
    assert done.returncode == 2
    assert "No user is named to log in to node-1 with" in done.stderr
    assert f"user {UID}, who runs this, has no name here" in done.stderr
    assert run(container, "check", "node-1", "--samples", "1", LOGNAME="nobody-here").returncode == 4


def test_doctor_logs_in_to_the_node_and_finds_the_record_and_what_is_not_set(container: Container) -> None:
    done = run(container, "doctor", "--json", "--inventory", "inventory.toml")
    marks = {told["name"]: told["mark"] for told in json.loads(done.stdout)["examined"]}
    assert marks["node node-1"] == "ok"
    assert marks["Slack"] == "not set"
    assert done.returncode == 0


def test_record_that_cannot_be_made_says_which_setting_names_its_folder(container: Container) -> None:
    tokens = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}
    done = run(container, "serve", "--inventory", "inventory.toml", ZOMBIE_STATE_DIR="/.local", **tokens)
    assert done.returncode == 2
    assert "The ledger at /.local/zombie.db cannot be used: Read-only file system." in done.stderr
    assert "ZOMBIE_STATE_DIR" in done.stderr


def test_user_without_an_environment_gets_a_sentence_too(container: Container) -> None:
    """As in a bare chroot: neither HOME nor a login name, and no settings of the image."""
    bare = ("env", "-i", "PATH=/usr/bin:/bin", "PYTHONPATH=/opt/zombie/app", "/opt/zombie/bin/zombie")
    argv = container.argv("check", "node-1", "--json", "--samples", "1", entrypoint=bare)
    done = subprocess.run(
        argv, env=container.image.environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert json.loads(done.stdout)["nodes"][0]["node"] == "node-1", done.stderr
    argv = container.argv("incidents", entrypoint=bare)
    done = subprocess.run(
        argv, env=container.image.environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


def test_program_without_arguments_teaches_itself(container: Container) -> None:
    assert run(container, *container.image.command["CMD"]).stdout.startswith("usage: zombie")


def test_demo_runs_until_it_is_stopped(container: Container) -> None:
    shown = container.volumes.parent / "shown"
    with shown.open("w") as out:
        process = subprocess.Popen(
            container.argv("demo", "--samples", "1"),
            env=container.image.environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        until(
            lambda: " --inventory " in shown.read_text() or process.poll() is not None,
            within=timedelta(seconds=120),
            what="the demo",
        )
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0, shown.read_text()
    finally:
        process.kill()
        process.wait()
    text = shown.read_text()
    assert "CRITICAL" in text
    assert re.search(r"\n  zombie check \S+ --inventory ", text)
    assert "./zombie" not in text


def answers(url: str) -> bool:
    try:
        with build_opener(ProxyHandler({})).open(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


async def test_serves_on_every_address_keeps_its_record_in_the_volume_and_is_found_alive(container: Container) -> None:
    async with workspace() as slack:
        await serves(container, slack)


async def serves(container: Container, slack: SlackWorkspace) -> None:
    image, port = container.image, free_port()
    image.environment["ZOMBIE_LISTEN"] = image.environment["ZOMBIE_LISTEN"].replace("8080", str(port))
    healthcheck = image.command["HEALTHCHECK"]
    assert await asyncio.to_thread(inside, container, *healthcheck) == 1
    log = container.volumes.parent / "log"
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            *container.argv("serve", "--inventory", "inventory.toml"),
            env=image.environment | slack.environment,
            stderr=out,
        )
    try:
        url = f"http://127.0.0.2:{port}/readyz"  # not the address of a bot that listens on 127.0.0.1 alone
        ready = await asyncio.to_thread(
            until,
            lambda: answers(url) or process.returncode is not None,
            within=timedelta(seconds=60),
            what="the bot to be ready",
        )
        assert ready, log.read_text()
        assert process.returncode is None, log.read_text()
        assert await asyncio.to_thread(inside, container, *healthcheck) == 0
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 30) == 0, log.read_text()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert [path.name for path in container.volumes.glob("*/zombie.db")] == ["zombie.db"]
    assert run(container, "incidents").returncode == 0
    assert "Traceback" not in log.read_text()
