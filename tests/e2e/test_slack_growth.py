"""How fast it grows stands on the card of a person's own check, also where no plan is offered."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.domain.growth import CountSample
from bot.domain.probe import Snapshot
from bot.domain.verdict import Verdict
from bot.ledger import Database, ReadingStore
from tests.slack.service import CHANNEL, Readings, card_saying, serving
from tests.slack.workspace import workspace
from tests.unit.causes import builders as b
from tests.unit.surfaces.verdicts import FOUNDING

LEAK = "leaked-memory-cgroups"


def verdict(name: str) -> Verdict:
    readings = {"host": b.host(), "cgroups": b.cgroups(dying=20_000)}
    read = Snapshot(name, datetime.now(UTC), timedelta(seconds=5), readings)
    return replace(FOUNDING, node=name, plan=None, remedy=(), snapshot=read)


async def test_card_of_a_persons_check_tells_how_fast_it_grows(tmp_path: Path) -> None:
    with Database.open(f"sqlite:///{tmp_path / 'zombie.db'}") as database:
        for hours in range(1, 7):
            at = datetime.now(UTC) - timedelta(hours=hours)
            ReadingStore(database).keep.now("node-1", LEAK, CountSample(at, 20_000.0 - 100 * hours))
    async with workspace() as slack, serving(slack, tmp_path, Readings(verdict)) as bot:
        await slack.say("alice", CHANNEL, "/zombie check node-1")
        card = await card_saying(slack, "more dying memory cgroups an hour")
        assert "node-1: CRITICAL" in card.text
        assert '"approve"' not in json.dumps(card.blocks)
        assert not bot.logged("show_failed")
