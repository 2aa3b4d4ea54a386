"""The same four commands on the same nodes, by this program and by its peers, in one run: a ratio, not a time.

The peers stand in the virtual environment that ZOMBIE_PEERS names, or in one that is made for the test where pip can;
plain `ssh` is always there.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.batch import Batch, Sampling
from bot.domain.command import Command
from bot.domain.node import Node
from bot.transport.ssh import SshTransport
from bot.transport.ssh_options import Keyring
from tests.conftest import missing
from tests.nodes.sshd import SSHD, Sshd

NODES, ROUNDS = 8, 3
PEERS = ("ansible-core", "parallel-ssh", "pyinfra", "ClusterShell")
COMMANDS = ("uname -r", "cat /proc/cgroups", "cat /proc/loadavg", "cat /proc/softirqs")


@pytest.fixture
def node() -> Iterator[Sshd]:
    if SSHD is None:
        missing("sshd is not installed (Debian: apt install openssh-server)")
    with Sshd(extra_config="MaxStartups 200\nMaxSessions 100") as node:
        yield node


@pytest.fixture(scope="module")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with all peers."""
    if named := os.environ.get("ZOMBIE_PEERS"):
        return Path(named)
    folder = tmp_path_factory.mktemp("peers")
    venv.create(folder, with_pip=True)
    made = subprocess.run(
        [folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *PEERS],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if made.returncode != 0:
        missing(f"pip cannot install {', '.join(PEERS)}: {made.stderr.strip().splitlines()[-1:]}")
    return folder


def _ours(node: Sshd) -> Callable[[], None]:
    commands = [("probe", Command(f"c{at}", tuple(text.split()))) for at, text in enumerate(COMMANDS)]
    transport = SshTransport(Keyring(node.known_hosts), lambda: os.urandom(8).hex())
    where = Node("n", node.address, node.port, node.user, node.client_key, node.known_hosts)

    async def one() -> None:
        runs = [run async for run in transport.read(where, Batch.of(commands, Sampling(1)), timedelta(seconds=30))]
        assert len(runs) == len(COMMANDS), runs

    async def every() -> None:
        await asyncio.gather(*(one() for _ in range(NODES)))

    return lambda: asyncio.run(every())


def _ssh(node: Sshd) -> Callable[[], None]:
    def every() -> None:
        for text in COMMANDS:  # N at a time, as a shell loop with & does it
            running = [
                subprocess.Popen(["ssh", *node.ssh_options, node.address, text], stdout=subprocess.DEVNULL)
                for _ in range(NODES)
            ]
            assert [one.wait(60) for one in running] == [0] * NODES

    return every


def _ansible(node: Sshd, peers: Path, folder: Path) -> Callable[[], None]:
    hosts = "".join(
        f"n{at} ansible_host={node.address} ansible_port={node.port} ansible_user={node.user} "
        f"ansible_ssh_private_key_file={node.client_key} "
        f"ansible_ssh_common_args='-F none -o UserKnownHostsFile={node.known_hosts}'\n"
        for at in range(NODES)
    )
    (folder / "hosts").write_text(hosts)

    def every() -> None:
        for text in COMMANDS:
            subprocess.run(
                [peers / "bin" / "ansible", "all", "-i", folder / "hosts", "-f", str(NODES), "-m", "raw", "-a", text],
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=120,
            )

    return every


def _pssh(node: Sshd, peers: Path) -> Callable[[], None]:
    program = (
        "import sys, json\nfrom pssh.clients import ParallelSSHClient\n"
        f"client = ParallelSSHClient([{node.address!r}] * {NODES}, user={node.user!r}, port={node.port}, "
        f"pkey={str(node.client_key)!r}, pool_size={NODES})\n"
        f"for text in {COMMANDS!r}:\n"
        "    for out in client.run_command(text):\n        list(out.stdout)\n"
    )
    return _running([peers / "bin" / "python", "-c", program])


def _pyinfra(node: Sshd, peers: Path, folder: Path) -> Callable[[], None]:
    data = {
        "ssh_hostname": node.address,
        "ssh_port": node.port,
        "ssh_user": node.user,
        "ssh_key": str(node.client_key),
        "ssh_known_hosts_file": str(node.known_hosts),
    }
    (folder / "inventory.py").write_text(f"nodes = {[(f'n{at}', data) for at in range(NODES)]!r}\n")
    (folder / "deploy.py").write_text(
        "from pyinfra.operations import server\n"
        + "".join(f"server.shell(name={text!r}, commands=[{text!r}])\n" for text in COMMANDS)
    )
    return _running([peers / "bin" / "pyinfra", "-y", folder / "inventory.py", folder / "deploy.py"], folder)


def _clush(node: Sshd, peers: Path, folder: Path) -> Callable[[], None]:
    config = folder / "ssh_config"
    pairs = node.ssh_options[3::2]
    config.write_text("Host n*\n" + "".join(f"  {pair.replace('=', ' ', 1)}\n" for pair in pairs))
    with config.open("a") as file:
        file.write(f"  HostName {node.address}\n")
    clush: list[str | Path] = [
        peers / "bin" / "clush",
        "-w",
        f"n[0-{NODES - 1}]",
        "-f",
        str(NODES),
        "-S",
        "-o",
        f"-F {config}",
    ]
    every = [_running([*clush, text]) for text in COMMANDS]

    def run() -> None:
        for command in every:
            command()

    return run


def _running(argv: list[str | Path], folder: Path | None = None) -> Callable[[], None]:
    def run() -> None:
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, (argv, done.stdout[-1000:], done.stderr[-1000:])

    return run


def _ratios(ways: Mapping[str, Callable[[], None]]) -> dict[str, float]:
    """How many times as long as ours each takes: the median of the rounds."""
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():  # in turn, so that a slow moment of the machine strikes all alike
            began = time.monotonic()
            way()
            took[name].append(time.monotonic() - began)
    middle = {name: sorted(times)[len(times) // 2] for name, times in took.items()}
    ratios = {name: round(seconds / middle["zombie"], 1) for name, seconds in middle.items()}
    print(json.dumps({"seconds": {name: round(s, 2) for name, s in middle.items()}, "ratios": ratios}), file=sys.stderr)
    return ratios


@pytest.mark.benchmark
@pytest.mark.real_sshd
def test_four_commands_on_eight_nodes_beside_ssh(node: Sshd, record_property: Callable[[str, object], None]) -> None:
    ratios = _ratios({"zombie": _ours(node), "ssh": _ssh(node)})
    record_property("ratios", json.dumps(ratios))
    assert ratios["ssh"] > 1


@pytest.mark.benchmark
@pytest.mark.real_sshd
def test_four_commands_on_eight_nodes_beside_the_peers(
    node: Sshd, peers: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    ratios = _ratios(
        {
            "zombie": _ours(node),
            "ansible -m raw": _ansible(node, peers, tmp_path),
            "parallel-ssh": _pssh(node, peers),
            "pyinfra": _pyinfra(node, peers, tmp_path),
            "clush": _clush(node, peers, tmp_path),
        }
    )
    record_property("ratios", json.dumps(ratios))
    assert min(ratios.values()) >= 1, ratios
