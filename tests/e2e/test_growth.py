"""Checks that are on record say how fast a leak grows: on the card, in the report, in a terminal."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from bot.demo.fleet_leaks import AUTO_RESTART
from bot.domain.fold import fold
from bot.domain.growth import CountSample
from bot.ledger import Database, Ledger, ReadingStore
from bot.settings import database_url
from bot.surfaces.document import SCHEMA_FILE
from bot.view.context import ViewContext
from bot.view.view import group_view
from tests.nodes.acting_fleet import Site, site
from tests.slack.drawn import incident_card

pytestmark = pytest.mark.slow
LEAK = "leaked-memory-cgroups"
NODE = "gpu-1"


def database(here: Site) -> Database:
    return Database.open(database_url(here.environ))


async def test_two_checks_have_a_rate_and_more_of_them_a_time_to_harm(tmp_path: Path) -> None:
    async with site(tmp_path, {NODE: (AUTO_RESTART, None)}) as here:
        first = (await here.opened(NODE))[NODE]
        with database(here) as opened:
            store = ReadingStore(opened)
            (look,) = store.looks.now(NODE, LEAK)
            incident = Ledger(opened).incident.now(first)
            assert incident is not None
            assert incident.triage is not None
            assert incident.triage.growth is None, "one look grows nowhere"
            store.keep.now(NODE, LEAK, CountSample(look.at - timedelta(hours=10), look.value - 1_000, look.boot))
        second = (await here.opened(NODE))[NODE]
        assert "looks: too few for an interval)." in card_of(here, second)
        with database(here) as opened:
            store = ReadingStore(opened)
            for hours in range(1, 9):
                store.keep.now(
                    NODE, LEAK, CountSample(look.at - timedelta(hours=hours), look.value - 100 * hours, look.boot)
                )
        third = (await here.opened(NODE))[NODE]
        said = card_of(here, third)
        assert "more dying memory cgroups an hour (" in said

        shown = await here.zombie("incidents", "show", third)
        assert "more dying memory cgroups an hour" in " ".join(shown.out.split())
        page = await here.zombie("report", third, "--out", str(tmp_path / "report.html"))
        assert page.status == 0, page.err
        assert "more dying memory cgroups an hour" in (tmp_path / "report.html").read_text()

        checked = await here.zombie("check", NODE, "--json", "--samples", "1")
        Draft202012Validator(json.loads(SCHEMA_FILE.read_text())).validate(json.loads(checked.out))
        said_now = json.loads(checked.out)["nodes"][0]["growth"]
        assert (said_now["cause"], said_now["looks"], said_now["grows"]) == (LEAK, 13, True), "this look counts too"
        low, high = said_now["interval"]
        assert low <= said_now["per_hour"] <= high
        assert said_now["per_hour"] == pytest.approx(100, rel=0.5)
        assert said_now["harm_at"] > 0
        with database(here) as opened:
            assert len(ReadingStore(opened).looks.now(NODE, LEAK)) == 12, "and is not stored"


def card_of(here: Site, incident_id: str) -> str:
    with database(here) as opened:
        incident = fold(Ledger(opened).read.now(incident_id))
    assert datetime.now(UTC) > incident.opened_at
    return json.dumps(incident_card(group_view((incident,), ViewContext())).blocks, ensure_ascii=False)
