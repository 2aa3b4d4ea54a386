"""What a reboot destroys, read from a real node over a real sshd, and from one that stops answering."""

from __future__ import annotations

import asyncio
import os
import signal
from datetime import timedelta
from typing import Any

import pytest

from bot.domain.case import Case
from bot.domain.fold import fold
from bot.domain.transitions import State
from bot.response.execution.before_reboot import PreRebootReader
from bot.transport.ssh import SshTransport
from tests.contract.ways import over_ssh
from tests.nodes.sshd import Sshd
from tests.record.incidents import BEGAN_AT, PROPOSED, WAYS, entries
from tests.unit.response.execution.test_before_reboot import LEFT, Cases

pytestmark = pytest.mark.real_sshd


async def words(sshd: Sshd, cases: Any, limit: timedelta, host_key: str = "") -> tuple[str, str, float]:
    """Keep the last words of a real node; return the hash, what was said of it, and the seconds that it took."""
    way = over_ssh(sshd)
    assert isinstance(way.transport, SshTransport)
    last = PreRebootReader(way.transport, cases, lambda: BEGAN_AT, "zombie 0.1.0", limit)
    incident = fold(entries(WAYS[State.APPROVED]))
    if host_key:
        bound = type(PROPOSED).of(PROPOSED.plan, {"host_key": host_key})
        incident = fold(entries((*WAYS[State.PROPOSED][:2], bound)))
    began = asyncio.get_running_loop().time()
    kept = await last.read_and_store(incident, way.node, LEFT)
    return kept.case, kept.says, asyncio.get_running_loop().time() - began


async def test_real_node_is_read_before_a_reboot_within_the_limit(sshd: Sshd) -> None:
    cases = Cases()
    digest, says, took = await words(sshd, cases, timedelta(seconds=8))
    kept: Case = cases.kept[0]
    assert digest == kept.digest
    said = {run.probe: run.stdout for run in kept.runs}
    assert "MemAvailable" in said["memory"]
    assert "-- end of look --" in said["memory cgroups"]
    assert said["processes"].endswith("end\n")
    assert took < 8
    assert " kB in " in says


async def test_node_whose_sshd_stands_still_holds_nothing_up_beyond_the_limit(sshd: Sshd) -> None:
    os.kill(sshd.pid, signal.SIGSTOP)
    try:
        digest, says, took = await words(sshd, Cases(), timedelta(seconds=1))
    finally:
        os.kill(sshd.pid, signal.SIGCONT)
    assert digest == ""
    assert says.startswith("nothing was kept: ")
    assert took < 4


async def test_other_machine_than_was_approved_is_not_asked(sshd: Sshd) -> None:
    cases = Cases()
    digest, says, _ = await words(sshd, cases, timedelta(seconds=8), "SHA256:" + "A" * 43)
    assert (digest, cases.kept) == ("", [])
    assert says.startswith("nothing was kept: ")
