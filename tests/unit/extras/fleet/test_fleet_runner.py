"""What the desk takes a click for: who else is asked, and who has to be asked before very many nodes are."""

from __future__ import annotations

import asyncio
import zlib
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from bot.app.factories import library
from bot.domain.errors import UsageError
from bot.domain.node import Node
from bot.extras.fleet.facts import Fact, packed
from bot.extras.fleet.fleet_request import FleetRequest
from bot.extras.fleet.runner import FleetRunner
from bot.extras.fleet.sweep import Found, NodeAnswer, NodeOutcome

NOBODY: Any = None


def desk(role: str | None) -> FleetRunner:
    class Nodes:
        def find(self, name: str, /) -> Node:
            return Node(name, "10.0.0.1", labels={} if role is None else {"role": role})

    known: Any = Nodes()
    playbooks: Any = library()
    return FleetRunner(known, playbooks, NOBODY, {}, asyncio.Semaphore(1))


@pytest.mark.parametrize(
    ("role", "asked"),
    [
        ("gpu", "role=gpu"),
        (None, "*"),
        ("control-plane,worker", "*"),  # as Kubernetes names several
        ("$(reboot)", "*"),
        ("a=b", "*"),
    ],
)
def test_who_else_asks_the_same_role_or_everybody_where_no_selector_says_it(role: str | None, asked: str) -> None:
    ask = desk(role).peers("gpu-1", "disk-full")
    assert (ask.words, ask.causes) == ((asked,), ("disk-full",))
    assert ask.checked() == ask


@pytest.mark.parametrize(
    ("having", "says"),
    [((), "No node has disk-full now"), (("gpu-1", "gpu-2"), "Every node that was asked has disk-full")],
)
async def test_nodes_are_compared_only_where_some_have_the_cause_and_others_do_not(
    having: tuple[str, ...], says: str
) -> None:
    found = (Found("disk-full", "critical", "confirmed", ""),)

    class Read:
        answers = tuple(
            NodeAnswer(name, NodeOutcome.ANSWERED, found=found if name in having else ()) for name in ("gpu-1", "gpu-2")
        )

        async def run(self) -> None:
            """Every node has answered already."""

    class Asked(FleetRunner):
        async def select(self, ask: FleetRequest) -> tuple[Node, ...]:
            return ()

    read: Any = Read()
    playbooks: Any = SimpleNamespace(get=lambda name: None)
    means: Any = SimpleNamespace(facts=lambda *_: read)
    asked = Asked(NOBODY, playbooks, means, {}, asyncio.Semaphore(1))
    with pytest.raises(UsageError, match=says):
        await asked.compared(FleetRequest(("*",), ("disk-full",)))


async def test_facts_of_whole_checks_are_stored_for_whoever_keeps_them_and_those_of_a_worker_are_checked() -> None:
    kept: list[tuple[str, bool, dict[str, Fact]]] = []

    class Keeper:
        async def keep(self, node: Node, is_healthy: bool, facts: Mapping[str, Fact]) -> None:
            kept.append((node.name, is_healthy, dict(facts)))

    def answer(name: str, status: str, said: bytes) -> NodeAnswer:
        return NodeAnswer(name, NodeOutcome.ANSWERED, status, figures=b64encode(said).decode())

    class Read:
        nodes = tuple(Node(name, "10.0.0.1") for name in "abcd")
        answers = (
            answer("a", "healthy", packed({"cpu": "read", "cpu.cores": 8.0})),
            answer("b", "critical", packed({"cpu": "read\x1b[1m"})),
            answer("c", "healthy", b"no facts"),
            answer("c", "healthy", zlib.compress(b"[" * 100_000)),
            answer("c", "healthy", packed(dict.fromkeys(map(str, range(7_000)), "x"))),
            NodeAnswer("d", NodeOutcome.ANSWERED, "healthy"),
        )

        async def run(self, heard: object) -> None:
            raise UsageError("The key of d is missing.")

    runner, run = replace(desk("gpu"), keeps=(Keeper(),)), Read()
    read: Any = run
    with pytest.raises(UsageError, match="key of d"):
        await runner.run(read, lambda answer: None)
    await asyncio.gather(*runner._storing)
    assert kept == [("a", True, {"cpu": "read", "cpu.cores": 8.0}), ("b", False, {"cpu": "read\\x1b[1m"})]


@pytest.mark.parametrize(("full", "keeps", "wants"), [(True, True, True), (True, False, False), (False, True, False)])
async def test_facts_are_asked_for_by_whole_checks_alone_and_where_somebody_keeps_them(
    full: bool, keeps: bool, wants: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def select(self: FleetRunner, ask: FleetRequest) -> tuple[Node, ...]:
        return (Node("a", "10.0.0.1"),)

    monkeypatch.setattr(FleetRunner, "select", select)
    means: Any = SimpleNamespace(sweep=lambda nodes, selected, sweep: sweep)
    keeper: Any = object()
    playbooks: Any = SimpleNamespace(get=lambda name: library().get(name or "node-health"))
    runner = replace(desk("gpu"), means=means, playbooks=playbooks, keeps=(keeper,) * keeps)
    sweep: Any = await runner.prepared(FleetRequest(("a",), full=full))
    assert (sweep.is_full, sweep.wants_facts) == (full, wants)
