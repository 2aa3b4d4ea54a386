"""Reading one line of a node, and what it must fail with when it fails."""

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.batch import Batch, Sampling
from bot.domain.command import Command, Completed
from bot.domain.errors import StoodStill, Unreachable, ZombieError
from bot.domain.node import Node
from bot.transport.ssh import SshTransport
from bot.transport.ssh_options import Keyring
from tests.contract.ways import nonce, promised
from tests.nodes.sshd import Sshd

DEADLINE = timedelta(seconds=3)
HELLO = Command("hello", ("echo", "hello"))


def node_of(sshd: Sshd, **more: object) -> Node:
    node = Node("node-1", sshd.address, sshd.port, sshd.user, sshd.client_key, sshd.known_hosts, None,
                timedelta(seconds=1))  # fmt: skip
    return replace(node, **more)  # type: ignore[arg-type]


async def read(node: Node, *commands: Command, agent: str | None = None) -> list[Completed]:
    transport = SshTransport(Keyring(Path("/nonexistent/known_hosts"), agent), nonce)
    batch = Batch.of([("p", command) for command in commands or (HELLO,)], Sampling(1))
    for _ in range(5):
        with suppress(StoodStill):  # this machine gave the test no processor, which says nothing of the node
            return [run async for run in transport.read(node, batch, DEADLINE)]
    raise AssertionError("no processor was left for this test")


@dataclass
class Failure:
    sentence: str = ""
    try_next: str = ""
    kind: str = ""


@contextmanager
def fails(with_class: type[ZombieError], sentence: str) -> Iterator[Failure]:
    """What is inside must fail with exactly this class and a sentence like this, in time."""
    failure, started = Failure(), time.monotonic()
    with pytest.raises(ZombieError) as caught:
        yield failure
    assert time.monotonic() - started < promised(DEADLINE.total_seconds())
    error = caught.value
    assert isinstance(error, with_class), repr(error)
    assert re.search(sentence, error.sentence), error.sentence
    assert error.sentence.endswith(".")
    assert "\n" not in error.sentence
    failure.sentence, failure.try_next = error.sentence, error.try_next
    failure.kind = error.kind if isinstance(error, Unreachable) else ""


def run(*argv: str, **environment: str) -> None:
    subprocess.run(argv, check=True, timeout=30, env=os.environ | environment, capture_output=True)


def keygen(path: Path, *more: str) -> Path:
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path), *more)
    return path
