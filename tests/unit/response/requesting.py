"""People on a stage: who they are, what they wish, and what stands on record then."""

from __future__ import annotations

from typing import Any

from bot.domain.events import Approved
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE
from bot.domain.incident import Incident
from bot.domain.policy import Approval
from tests.schedules.stage import Stage
from tests.unit.response.conftest import Quiet

ANN, BOB = Approval("terminal:ann", "it leaks"), Approval("terminal:bob", "it leaks")
ASKER, STRANGER = Approval("terminal:asker", "not now"), Approval("terminal:eve", "why not")


def do(stage: Stage, work: Any) -> Any:
    assert isinstance(stage.world, Quiet)
    return stage.world.do(work)


def incident(stage: Stage, name: str = "one") -> Incident:
    return fold(stage.ledger.read.now(name))


def refusals(stage: Stage) -> list[tuple[str, str]]:
    entries = [entry for entry in stage.ledger.read.now(HOUSE) if entry.kind == "WishRefused"]
    return [(str(entry.body["wish"]), str(entry.body["refusal"])) for entry in entries]


def approve(stage: Stage, name: str = "one", by: str = "terminal:ann") -> None:
    found = incident(stage, name)
    assert found.proposal is not None
    stage.ledger.append.now(name, found.seq, Approved(found.proposal.digest, "it leaks"), by)


def run(stage: Stage, name: str = "one") -> Incident:
    stage.run_by(name, "r")
    stage.world.run()
    return incident(stage, name)
