"""Fifty say yes at once: one look at the node, one decision, and the rest hear who was first."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from bot.actions import ACTIONS
from bot.domain.errors import Refused
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.policy import Approval
from bot.response.decision.preflight import Preflight
from bot.response.decision.recheck import RecheckResult
from bot.response.decision.responder import Responder
from bot.response.execution.node_access import NodeAccess, NodeStatus
from bot.response.incident_record import IncidentRecord
from tests.known import known
from tests.schedules.stage import POLICY, Stage

PEOPLE = tuple(f"p{number}" for number in range(50))


@dataclass
class Counted:
    """A glance that takes a while, and counts."""

    stage: Stage
    looks_taken: Counter[str] = field(default_factory=Counter)

    async def read_in_stages(self, incident: Incident, node: Node) -> AsyncGenerator[RecheckResult, None]:
        self.looks_taken[incident.id] += 1
        await asyncio.sleep(0)
        machine = self.stage.nodes["n1"]
        seen = NodeStatus(machine.boot_id, machine.machine_id, "SHA256:as-ever")
        yield RecheckResult(self.stage.verdict("n1"), seen, ())


@asynccontextmanager
async def responders(stage: Stage, count: int) -> AsyncIterator[tuple[list[Responder], Counted]]:
    """As many programs at one ledger, each with a responder of its own."""
    stage.policy = replace(
        POLICY, approvers=frozenset(f"terminal:{name}" for name in PEOPLE), approval_expires=timedelta(hours=1)
    )
    stage.propose("many", "n1")
    counted = Counted(stage)
    ledger = stage.ledger
    preflight = Preflight(NodeAccess(stage.wire, ACTIONS), stage, counted)
    made = [
        replace(stage.responder(), record=IncidentRecord(ledger), ledger=ledger, preflight=preflight)
        for _ in range(count)
    ]
    for one in made:  # a program's own turns
        object.__setattr__(one, "_turns", type(one._turns)())
    yield made, counted


@pytest.mark.parametrize("programs", [1, 2])
async def test_each_program_looks_once_for_all_who_click_at_once_and_one_decides(stage: Stage, programs: int) -> None:
    async with responders(stage, programs) as (made, counted):
        told = await asyncio.gather(
            *(
                made[number % programs].decide("many", Approval(f"terminal:{who}", "it leaks"))
                for number, who in enumerate(PEOPLE)
            ),
            return_exceptions=True,
        )
    assert 1 <= counted.looks_taken["many"] <= programs
    assert counted.looks_taken.keys() == {"many"}
    _one_decided(stage, told)


def _one_decided(stage: Stage, told: list[Incident | BaseException]) -> None:
    first = known(fold(stage.ledger.read.now("many")).approval)
    refused = [one for one in told if isinstance(one, Refused)]
    assert Counter(one.name for one in refused) == {"AlreadyDecided": len(PEOPLE) - 1}
    assert all(one.sentence.startswith(f"{first.by} approved it at ") for one in refused)
    assert [entry.kind for entry in stage.ledger.read.now("many")].count("Approved") == 1
