"""A bot that is started on a record of before carries every incident of it on to its end."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from pathlib import Path

from tests.slack.service import Readings, eventually, serving
from tests.slack.workspace import workspace

VERSION_6 = Path(__file__).parents[1] / "contract" / "ledger-v6.sql"


async def test_incidents_of_an_older_program_go_on(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "zombie.db", isolation_level=None)) as plain:
        plain.executescript(VERSION_6.read_text())
    async with workspace() as slack, serving(slack, tmp_path, Readings()) as bot:

        async def still_open() -> list[str]:
            return sorted(f"{line.node} {line.state}" for line in await bot.ledger.incidents(only_open=True))

        none: list[str] = []
        await eventually(still_open, none, within=30)
        ended = Counter(line.state.value for line in await bot.ledger.incidents())
        kinds = {line.node: line.state.value for line in await bot.ledger.incidents()}
    assert kinds["node-left"] == "triaged", "its verdict stood, and what became of its plan is said"
    assert {kinds[f"node-{source}"] for source in ("pagerduty", "alertmanager", "grafana")} == {"triaged"}
    assert kinds["node-proposed"] == "expired"
    assert ended.total() == 17
