"""A simulated node answers a capture over SSH as a real one does (what it says: tests/e2e/test_profile_of_nodes.py)."""

import asyncio
import itertools
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import asyncssh
import pytest

from bot.demo.fleet import healthy_nodes
from bot.demo.machine.machine import Machine
from bot.demo.machine.state import State
from bot.demo.ssh_server import ADDRESS, USER, NodeServer
from bot.domain.errors import CannotRead
from bot.domain.node import Node
from bot.extras.profiles.perf_command import CaptureRequest
from bot.extras.profiles.profiler import Captured, Profiler
from bot.transport.ssh_options import Keyring
from bot.transport.ssh_script import SshScriptTransport
from tests.contract.ways import nonce


async def profiled(state: State, folder: Path, anyway: bool = False) -> tuple[Captured, str]:
    """Profile a simulated node whose seconds take a hundredth of one."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(str(folder / "key"))
    (folder / "key").chmod(0o600)
    ticks = itertools.count()
    server = NodeServer(Machine(state, datetime(2026, 11, 22, tzinfo=UTC), lambda: next(ticks) * 0.5), key)
    await server.start()
    try:
        (folder / "known_hosts").write_text(server.known_hosts_line())
        node = Node("simulated", ADDRESS, server.port, USER, folder / "key")
        text = bytearray()
        profiler = Profiler(SshScriptTransport(Keyring(folder / "known_hosts")), nonce)
        captured = await profiler.profile(node, CaptureRequest(49, 5), text.extend, anyway)
        return captured, text.decode()
    finally:
        await server.stop()


def test_a_starved_node_is_left_alone_unless_it_is_wanted(tmp_path: Path) -> None:
    (member,) = healthy_nodes(1)
    starved = replace(member.state, memory=replace(member.state.memory, available=90_000))
    with pytest.raises(CannotRead, match="88 MB of memory left") as no:
        asyncio.run(profiled(starved, tmp_path))
    assert "--anyway" in no.value.try_next
    captured, text = asyncio.run(profiled(starved, tmp_path, anyway=True))
    assert not captured.incomplete
    assert text.startswith("# synthetic")
