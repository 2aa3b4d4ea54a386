"""A program that reads a node with commands that do not want to end, for tests that end it from outside.

`python -m tests.e2e.reader local MARK DEADLINE` or `… ADDRESS PORT USER KEY KNOWN_HOSTS MARK DEADLINE`
"""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from bot.domain.batch import Batch, Sampling
from bot.domain.command import Command, SampleTimes
from bot.domain.contracts import Transport
from bot.domain.node import Node
from bot.transport.local import LocalTransport
from bot.transport.ssh import SshTransport
from bot.transport.ssh_options import Keyring
from tests.contract.ways import nonce

LIMIT = timedelta(seconds=50)


def stubborn(mark: str) -> tuple[Command, ...]:
    """Commands that ignore signals, fork, double-fork, start each other anew, or have groups of their own."""
    deaf = "trap '' TERM HUP INT QUIT PIPE;"
    scripts = {
        "deaf": f"{deaf} while :; do sleep 0.{mark}; done",
        "forks": f"{deaf} sleep {mark} & sleep {mark} & sleep {mark}",
        "double-forks": f"(({deaf} sleep {mark}) &) ; ((sleep {mark} &) &); sleep {mark}",
        "inner-timeout": f"timeout {mark} sleep {mark}",
        "respawns": f"{deaf} while :; do ({deaf} sleep 0.{mark} & wait); done",
        "writes": f"{deaf} while :; do echo {mark}; sleep 0.{mark}; done",
    }
    commands = [Command(name, ("sh", "-c", script), lane=name, limit=LIMIT) for name, script in scripts.items()]
    quick = Command("quick", ("echo", "quick"), looks=SampleTimes.TWICE)
    return (quick, *commands, Command("group", ("sleep", mark), lane="group", limit=LIMIT))


async def read(transport: Transport, node: Node, mark: str, deadline: timedelta) -> None:
    """Read, and say each answer."""
    batch = Batch.of([("p", command) for command in stubborn(mark)], Sampling(1))
    async for run in transport.read(node, batch, deadline):
        print(run.name, flush=True)
    print("ended", flush=True)


def main(*where: str) -> None:
    *way, mark, seconds = where
    transport: Transport
    if way == ["local"]:
        transport, node = LocalTransport(nonce), Node("here", "localhost")
    else:
        address, port, user, key, known_hosts = way
        node = Node("there", address, int(port), user, Path(key))
        transport = SshTransport(Keyring(Path(known_hosts)), nonce)
    asyncio.run(read(transport, node, mark, timedelta(seconds=float(seconds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
