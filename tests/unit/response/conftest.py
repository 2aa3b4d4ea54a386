"""A stage without chance, for what a person decides."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pytest

from bot.domain.errors import Refused
from bot.ledger import Database, Ledger
from tests.alerts.intake import Stage as IntakeStage
from tests.nodes.draining import DrainStage, drain_stage
from tests.schedules.stage import POLICY, Stage
from tests.schedules.world import World


class Quiet(World):
    """A world in which nothing goes wrong by itself."""

    def __init__(self) -> None:
        super().__init__(1, deadly=0)

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Drive one coroutine to its end, and return what it returned, or the refusal."""
        found: list[Any] = []

        async def kept() -> None:
            try:
                found.append(await work)
            except Refused as no:
                found.append(no)

        self.start("work", kept)
        self.run()
        return found[0]


@pytest.fixture
def stage(sqlite: Database) -> Stage:
    """One node that can be cured, and its incident `one`, proposed."""
    world = Quiet()
    stage = Stage.set(world, Ledger(sqlite, world.record), {"n1": "cured"}, POLICY, breaks=0)
    stage.propose("one", "n1")
    return stage


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[DrainStage]:
    """One node of a cluster, sick, and its incident `one`, which is to be proposed."""
    async with drain_stage(tmp_path) as stage:
        yield stage


@pytest.fixture
def intake(sqlite: Database) -> IntakeStage:
    """An intake over a database of its own."""
    return IntakeStage(sqlite)
