"""What doctor says of a node whose sudo is slow, or is not there."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta

import pytest

from bot.app.doctor import nodes
from bot.domain.batch import Batch
from bot.domain.command import Completed
from bot.domain.doctor_finding import DoctorFinding
from bot.domain.node import Node
from bot.probes.kernel_log import PROBE

NODE = Node("node-1", "10.0.0.7")


class Slow:
    """A node whose clock is right, and whose sudo answers with `status` after `seconds` each."""

    def __init__(self, status: int, seconds: int = 0, **said: str) -> None:
        self.said = said
        self.status, self.step, self.clock = status, timedelta(seconds=seconds), datetime(2026, 11, 28, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self.clock

    async def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        del node, deadline
        for asked in batch.questions:
            answers = {"who": "zombie", "time": str(int(self.clock.timestamp())), "there": "/"} | self.said
            said = answers.get(asked.probe)
            if said is None:
                self.clock += self.step
            status = 0 if said else self.status
            yield Completed(asked.probe, asked.command.name, asked.look, said or "", "", status)


async def examined(node: Slow, monkeypatch: pytest.MonkeyPatch) -> dict[str, DoctorFinding]:
    monkeypatch.setattr(nodes, "now", node.now)
    found = await nodes.NodeExamination(node, [PROBE], {}, ()).look(NODE)
    return {each.name: each for each in found}


async def test_clock_is_compared_when_its_answer_came(monkeypatch: pytest.MonkeyPatch) -> None:
    found = await examined(Slow(0, seconds=3), monkeypatch)
    assert found["clock of node-1"].seen == "0 s from this machine's"


async def test_node_without_sudo_is_said_to_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "files_needed", lambda argv: ())
    found = await examined(Slow(127), monkeypatch)
    assert found["sudo node-1"].seen == "sudo is not installed there"
    refused = await examined(Slow(1), monkeypatch)
    assert "may not run as root" in refused["sudo node-1"].seen


@pytest.mark.parametrize(
    ("virtual", "there", "is_said"),
    [
        ("none", "/", True),
        ("none", "/sys/devices/system/cpu/cpu0/thermal_throttle\n/", False),
        ("none", "", False),  # it does not say which files it has
        ("kvm", "/", False),
    ],
)
async def test_machine_that_counts_no_heat_is_named_where_it_is_no_virtual_one(
    virtual: str, there: str, is_said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await examined(Slow(0, virtual=virtual, there=there), monkeypatch)
    assert ("heat of node-1" in found) is is_said
