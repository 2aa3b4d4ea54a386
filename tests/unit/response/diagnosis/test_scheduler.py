"""Readings are bounded and shared, one person's many do not hold up another's one, and each ends in a verdict."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from bot.domain.contracts import Listener, Progress, ReadingStarted, ReadingWaits
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.verdict import Status, Verdict
from bot.response.diagnosis.scheduler import CheckScheduler
from tests.known import known
from tests.unit.surfaces.verdicts import FOUNDING

PLAYBOOK: Any = type("Health", (), {"name": "node-health"})()  # only its name is asked for


class Nodes:
    """Nodes that are read until they are let go."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.gates: dict[str, asyncio.Future[Verdict]] = {}

    async def read(self, node: Node, playbook: Playbook, heard: Listener) -> Verdict:
        self.begun.append(node.name)
        heard(ReadingStarted(node.name, ("cpu",), timedelta(seconds=1)))
        self.gates[node.name] = asyncio.get_running_loop().create_future()
        return await self.gates[node.name]

    def end(self, name: str) -> None:
        self.gates[name].set_result(FOUNDING)


class Desk:
    """A desk over such nodes."""

    def __init__(self, at_once: int = 2, each: int = 1) -> None:
        self.nodes = Nodes()
        self.log: list[str] = []
        self.desk = CheckScheduler(self.nodes.read, lambda event, **_: self.log.append(event), at_once, each)

    def ask(self, person: str, node: str, heard: Listener = lambda _: None) -> asyncio.Task[Verdict | None]:
        return asyncio.create_task(self.desk.ask(person, Node(node, "10.0.0.1"), PLAYBOOK, heard))


async def rest() -> None:
    """Let everything happen that can."""
    for _ in range(8):
        await asyncio.sleep(0)


@pytest.fixture
async def at() -> Desk:
    return Desk()


async def test_one_persons_many_do_not_hold_up_anothers_one(at: Desk) -> None:
    many = [at.ask("alice", f"a{number}") for number in range(3)]
    one = at.ask("bob", "b0")
    await rest()
    assert at.nodes.begun == ["a0", "b0"]
    at.nodes.end("a0")
    await rest()
    assert at.nodes.begun == ["a0", "b0", "a1"]
    at.nodes.end("b0")
    assert await one == FOUNDING
    for task in many:
        task.cancel()
    at.desk.close()
    await at.desk.cancel_running_reads()
    assert at.desk.running == 0


async def test_who_waits_is_told_why(at: Desk) -> None:
    heard: list[Progress] = []
    tasks = [at.ask("alice", "a0"), at.ask("alice", "a1", heard=heard.append), at.ask("bob", "b0")]
    await rest()
    tasks.append(at.ask("carol", "c0", heard=heard.append))
    await rest()
    assert [event.because for event in heard if isinstance(event, ReadingWaits)] == [
        "1 of your nodes are being read, which is the limit for a person",
        "2 nodes are being read, which is the limit",
    ]
    at.desk.close()
    await at.desk.cancel_running_reads()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_second_asker_hears_the_reading_from_its_beginning_and_its_verdict(at: Desk) -> None:
    heard: list[Progress] = []
    first = at.ask("alice", "a0")
    await rest()
    second = at.ask("bob", "a0", heard=heard.append)
    await rest()
    assert isinstance(heard[0], ReadingStarted)
    at.nodes.end("a0")
    assert (await first, await second) == (FOUNDING, FOUNDING)
    assert at.nodes.begun == ["a0"]


async def test_node_that_waits_for_one_person_is_read_at_once_for_another(at: Desk) -> None:
    tasks = [at.ask("alice", "a0"), at.ask("alice", "a1")]
    await rest()
    tasks.append(at.ask("bob", "a1"))
    await rest()
    assert at.nodes.begun == ["a0", "a1"]
    at.nodes.end("a1")
    assert await tasks[1] == await tasks[2] == FOUNDING
    at.desk.close()
    await at.desk.cancel_running_reads()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_asker_who_leaves_takes_nobodys_reading_along(at: Desk) -> None:
    first, second = at.ask("alice", "a0"), at.ask("bob", "a0")
    await rest()
    first.cancel()
    await rest()
    at.nodes.end("a0")
    assert await second == FOUNDING


async def test_closed_desk_begins_nothing_and_ends_what_it_began(at: Desk) -> None:
    running, waiting = at.ask("alice", "a0"), at.ask("alice", "a1")
    await rest()
    at.desk.close()
    assert await waiting is None
    assert await at.ask("bob", "b0") is None
    at.nodes.end("a0")
    assert await running == FOUNDING
    assert at.nodes.begun == ["a0"]


async def test_fault_of_ours_is_a_verdict_and_frees_the_place(at: Desk) -> None:
    asked = at.ask("alice", "a0")
    await rest()
    at.nodes.gates["a0"].set_exception(ZeroDivisionError("a bug"))
    verdict = known(await asked)
    assert (verdict.status, at.desk.running, at.log) == (Status.UNKNOWN, 0, ["diagnosis_failed"])
    assert "a bug" in verdict.summary
