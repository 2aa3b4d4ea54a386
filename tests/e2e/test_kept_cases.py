"""What a node said is kept with its incident while the bot serves, so that the incident can be proved elsewhere."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from sqlalchemy import text

from bot.__main__ import main
from bot.app.acting import acting
from bot.app.version import program_name
from bot.domain.node import Node
from bot.inventory import Inventory
from bot.settings import Settings
from bot.sources import settings_of
from tests.e2e.test_alerts import alert_stage
from tests.record.exporting import NODE, bundle_of, judged, looked_at, record_of, verdict_of
from tests.slack.service import Readings, eventually


async def test_incident_of_a_page_can_be_exported_and_holds(tmp_path: Path) -> None:
    verdict = await verdict_of(Node("node-3", "10.0.0.7"))
    async with alert_stage(tmp_path, Readings(lambda name: verdict)) as edge:
        assert await edge.page("E1", title="node-3: core 39 pinned") == 202
        await edge.card("node-3", "CRITICAL", "leaked-memory-cgroups")
        await eventually(edge.states, {"triaged": 1})
        (incident,) = await edge.incidents()
    with record_of(tmp_path) as database:
        bundle = bundle_of(database, incident.id)
    assert bundle.case is not None
    assert bundle.entries[-1].kind == "PlanWithheld"
    told = await asyncio.to_thread(looked_at, bundle)
    assert (told.broken, told.unproven) == ([], [])


def test_bot_that_serves_has_its_readings_keep_their_cases(tmp_path: Path) -> None:
    (tmp_path / "inventory.toml").write_text('[nodes.n1]\naddress = "127.0.0.1"\n')
    settings = Settings.load({}, {}, tmp_path, tmp_path, settings_of())
    known = Inventory.load(tmp_path / "inventory.toml", home=tmp_path)
    parts = acting(settings, known, None, {"HOME": str(tmp_path)})  # type: ignore[arg-type]
    assert parts.triage.program == program_name()


def test_why_is_said_of_an_incident(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZOMBIE_DATABASE_URL", f"sqlite:///{tmp_path / 'zombie.db'}")
    with record_of(tmp_path) as database:
        incident_id = judged(database)
    assert main(["why", incident_id[:6], "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["node"], document["verdict"]["cause"]) == (NODE.name, "leaked-memory-cgroups")
    assert document["changes"]
    assert main(["why", incident_id]) == 0
    assert "zombie replay" not in capsys.readouterr().out
    with record_of(tmp_path) as database, database.writing() as connection:
        connection.execute(text("DELETE FROM kept_cases"))
    assert main(["why", incident_id]) == 2
    assert "no incident of that id has a stored case" in capsys.readouterr().err
