"""The same four commands on the same nodes, by this program and by its peers, in one run: a ratio, not a time.

The peers are looked for in the folder that ZOMBIE_PEERS names (a virtual environment with ansible-core and
parallel-ssh); plain `ssh` is always there.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
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
COMMANDS = ("uname -r", "cat /proc/cgroups", "cat /proc/loadavg", "cat /proc/softirqs")


@pytest.fixture
def node() -> Iterator[Sshd]:
    if SSHD is None:
        missing("sshd is not installed (Debian: apt install openssh-server)")
    with Sshd(extra_config="MaxStartups 200\nMaxSessions 100") as node:
        yield node


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
    return lambda: (
        subprocess.run([peers / "bin" / "python", "-c", program], check=True, stdout=subprocess.DEVNULL, timeout=120),
        None,
    )[1]


@pytest.mark.benchmark
@pytest.mark.real_sshd
def test_four_commands_on_eight_nodes_beside_the_peers(
    node: Sshd, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    ways = {"zombie": _ours(node), "ssh": _ssh(node)}
    peers = Path(os.environ.get("ZOMBIE_PEERS", "/nowhere"))
    if (peers / "bin" / "ansible").exists():
        ways["ansible -m raw"] = _ansible(node, peers, tmp_path)
    if (peers / "lib").exists():
        ways["parallel-ssh"] = _pssh(node, peers)
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():  # in turn, so that a slow moment of the machine strikes all alike
            began = time.monotonic()
            way()
            took[name].append(time.monotonic() - began)
    best = {name: sorted(times)[len(times) // 2] for name, times in took.items()}
    ratios = {name: round(seconds / best["zombie"], 1) for name, seconds in best.items()}
    record_property("ratios", json.dumps(ratios))
    print(json.dumps({"seconds": {name: round(s, 2) for name, s in best.items()}, "ratios": ratios}), file=sys.stderr)
    assert ratios["ssh"] > 1
