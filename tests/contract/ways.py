"""Every way that a batch can reach a node, for the tests that hold all of them to one contract."""

import asyncio
import getpass
import os
import re
import secrets
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.demo.faults import Fault
from bot.demo.machine.command import Answer
from bot.demo.ssh_server import ADDRESS, USER, NodeServer
from bot.domain.batch import Batch, Sampling
from bot.domain.command import Command, Completed
from bot.domain.contracts import Transport
from bot.domain.node import Node
from bot.transport.local import LocalTransport
from bot.transport.ssh import SshTransport
from bot.transport.ssh_options import Keyring
from tests.nodes.sshd import Sshd

DEADLINE = timedelta(seconds=15)


def busy() -> bool:
    """Whether this machine has more to do than it has cores; batches are niced, and come last then."""
    return os.getloadavg()[0] > (os.cpu_count() or 1)


def short() -> timedelta:
    """A deadline that is short, and long enough for something quick to be read."""
    return timedelta(seconds=8 if busy() else 2)


def promised(deadline: float | timedelta) -> float:
    """The promise is a deadline and one second; a busy machine gets half a minute more. In seconds."""
    seconds = deadline.total_seconds() if isinstance(deadline, timedelta) else deadline
    return seconds + (30 if busy() else 1)


def nonce() -> str:
    return secrets.token_hex(12)


@dataclass
class Way:
    """A transport and a node at its end."""

    transport: Transport
    node: Node
    user: str

    async def ask(
        self, *commands: Command, samples: int = 1, deadline: timedelta = DEADLINE
    ) -> dict[tuple[str, int], Completed]:
        """Return what every look of every command came to, by name and look; each at most once."""
        batch = Batch.of([("probe", command) for command in commands], Sampling(samples))
        runs: dict[tuple[str, int], Completed] = {}
        async for run in self.transport.read(self.node, batch, deadline):
            assert (run.name, run.look) not in runs
            runs[run.name, run.look] = run
        return runs

    async def ask_one(self, command: Command, **more: Any) -> Completed:
        return (await self.ask(command, **more))[command.name, 0]


def local() -> Way:
    return Way(LocalTransport(nonce), Node("this-machine", "localhost"), getpass.getuser())


def over_ssh(sshd: Sshd) -> Way:
    return Way(SshTransport(Keyring(sshd.known_hosts), nonce), sshd.node, sshd.user)


class RealMachine:
    """A simulated node's machine that is none: it runs what it is asked, so that all ways can be asked the same."""

    def uptime(self) -> float:
        return float(Path("/proc/uptime").read_text().split()[0])

    async def run(self, argv: Sequence[str]) -> Answer:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError:
            return Answer.error(f"timeout: failed to run command '{argv[0]}': No such file or directory", 127)
        try:
            stdout, stderr = await process.communicate()
        except asyncio.CancelledError:
            os.killpg(process.pid, signal.SIGKILL)
            await process.communicate()
            raise
        return Answer(stdout, stderr, process.returncode or 0)


class SimulatedNode:
    """A simulated node's SSH server with files as a real one has them."""

    def __init__(self, folder: Path, fault: Fault | None = None) -> None:
        import asyncssh

        key = asyncssh.generate_private_key("ssh-ed25519")
        self.server = NodeServer(RealMachine(), key, fault)
        self.folder = folder
        key.write_private_key(str(folder / "key"))
        (folder / "key").chmod(0o600)

    async def __aenter__(self) -> Way:
        await self.server.start()
        (self.folder / "known_hosts").write_text(self.server.known_hosts_line())
        node = Node("simulated", ADDRESS, self.server.port, USER, self.folder / "key")
        return Way(SshTransport(Keyring(self.folder / "known_hosts"), nonce), node, USER)

    async def __aexit__(self, *_: object) -> None:
        await self.server.stop()


ALL = ("local", "openssh", "simulated")
REAL_SHELL = ("local", "openssh")  # the batch's own script runs; a simulated node imitates it


def members(names: tuple[str, ...]) -> pytest.MarkDecorator:
    """Run a test with each of these ways as its `way` (tests/contract/conftest.py)."""
    params = [pytest.param(name, marks=[pytest.mark.real_sshd] * (name == "openssh")) for name in names]
    return pytest.mark.parametrize("way", params, indirect=True)


def sh(name: str, script: str, **more: Any) -> Command:
    return Command(name, ("sh", "-c", script), **more)


def octal(raw: bytes) -> str:
    """Bytes as printf(1) takes them."""
    return "".join(f"\\{byte:03o}" for byte in raw)


def files_of(user: str) -> set[Path]:
    """What of this user's lies where programs leave things."""
    places = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/var/crash", "/var/lib/systemd/coredump")
    find = ["find", *places, "-xdev", "-maxdepth", "3", "-user", user]
    looked = subprocess.run(find, capture_output=True, text=True, timeout=60, check=False)
    return {Path(line) for line in looked.stdout.splitlines()}


def reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def peak_kib() -> int:
    """The most memory this process held since the last reset (/proc/PID/clear_refs, proc(5))."""
    return int(re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[0])
