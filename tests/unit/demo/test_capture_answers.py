"""A simulated node answers a capture over SSH as a real one does, and its profile says what it was made from."""

import asyncio
import itertools
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import asyncssh
import pytest

from bot.demo.fleet_leaks import AUTO_RESTART
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

HEAD = re.compile(r"^(\S+) \d+/\d+ \[(\d+)\] ", re.MULTILINE)


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


def test_the_founding_nodes_hot_core_walks_memory_cgroups(tmp_path: Path) -> None:
    captured, text = asyncio.run(profiled(AUTO_RESTART, tmp_path))
    assert text.startswith("# synthetic")
    assert not captured.incomplete
    counted = Counter(HEAD.findall(text))
    assert max(counted, key=lambda who: counted[who]) == ("kubelet", "039")
    of_the_core = [event for event in text.split("\n\n") if "[039]" in event.partition("\n")[0]]
    assert sum("\n\tffff" in event and "mem_cgroup_nr_lru_pages" in event.split("\n")[1] for event in of_the_core) > (
        0.9 * len(of_the_core)
    )
    assert captured.end.kernel_log is not None
    assert captured.end.kernel_log.error < 0.01


def test_it_lacks_what_its_state_lacks(tmp_path: Path) -> None:
    with pytest.raises(CannotRead, match="perf is missing"):
        asyncio.run(profiled(replace(AUTO_RESTART, perf=False), tmp_path))
    with pytest.raises(CannotRead, match="may not be run as root"):
        asyncio.run(profiled(replace(AUTO_RESTART, sudo=False), tmp_path))


def test_a_starved_node_is_left_alone_unless_it_is_wanted(tmp_path: Path) -> None:
    starved = replace(AUTO_RESTART, memory=replace(AUTO_RESTART.memory, available=90_000))
    with pytest.raises(CannotRead, match="88 MB of memory left") as no:
        asyncio.run(profiled(starved, tmp_path))
    assert "--anyway" in no.value.try_next
    captured, _ = asyncio.run(profiled(starved, tmp_path, anyway=True))
    assert not captured.incomplete
