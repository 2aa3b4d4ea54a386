"""What the desk takes a click for: who else is asked, and who has to be asked before very many nodes are."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from bot.app.factories import library
from bot.domain.errors import UsageError
from bot.domain.node import Node
from bot.extras.fleet.ask import FleetAsk
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
        ("", "*"),
        ("control-plane,worker", "*"),  # as Kubernetes names several
        ("ml infra (gpu)", "*"),
        ("$(reboot)", "*"),
        ("<!channel>", "*"),
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
        async def select(self, ask: FleetAsk) -> tuple[Node, ...]:
            return ()

    read: Any = Read()
    playbooks: Any = SimpleNamespace(get=lambda name: None)
    means: Any = SimpleNamespace(facts=lambda *_: read)
    asked = Asked(NOBODY, playbooks, means, {}, asyncio.Semaphore(1))
    with pytest.raises(UsageError, match=says):
        await asked.compared(FleetAsk(("*",), ("disk-full",)))
