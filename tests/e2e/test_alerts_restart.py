"""An alert that came before a restart, or while somebody else is at it, is seen to once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from aiohttp import ClientSession

from bot.domain.alert import BOT, Alert
from bot.domain.events import AlertReceived, Triaged
from bot.ledger import Database, Ledger
from bot.response.lifecycle import INTERRUPTED
from tests.e2e.test_alerts import ALERTS, SECRETS, TOML, AlertStage, alert_stage
from tests.slack.service import Readings, cards, eventually, serving
from tests.slack.workspace import workspace
from tests.unit.surfaces.verdicts import FOUNDING


async def test_next_run_goes_on_with_the_card_that_was_left_reading(tmp_path: Path) -> None:
    readings = Readings()
    readings.hold("node-2")
    async with workspace() as slack, ClientSession() as session:
        async with serving(slack, tmp_path, readings, toml=TOML, environment=SECRETS) as bot:
            edge = AlertStage(bot, slack, session)
            await edge.page("E1", title="node-1 and node-2: cores pinned")
            left = await edge.card("2 nodes", "1 still reading")
            await eventually(edge.states, {"triaged": 1, "opened": 1})
            readings.hold("node-2")
            await bot.service._bot.check_service.scheduler.cancel_running_reads()
        readings.let_go()
        async with serving(slack, tmp_path, readings, toml=TOML, environment=SECRETS) as bot:
            edge = AlertStage(bot, slack, session)
            card = await edge.card("2 nodes: 2 critical")
            await eventually(edge.states, {"triaged": 2})
            assert await edge.page("E1", title="node-1 and node-2: cores pinned") == 202
        assert (card.ts, len(cards(slack, ALERTS)), readings.asked["node-1"]) == (left.ts, 1, 1)


async def test_node_that_joins_while_others_are_read_is_read_too(tmp_path: Path) -> None:
    readings = Readings()
    readings.hold("node-1")
    async with alert_stage(tmp_path, readings) as edge:
        await edge.page("E1", title="node-1: core pinned")
        await edge.card("node-1: reading")
        await edge.page("E2", title="node-1 and node-2: cores pinned")
        await edge.card("2 nodes", "1 critical", "1 still reading")
        readings.let_go()
        await edge.card("2 nodes: 2 critical")
        await eventually(edge.states, {"triaged": 2})
        assert (len(cards(edge.slack, ALERTS)), dict(readings.asked)) == (1, {"node-1": 1, "node-2": 1})


async def test_ledger_of_an_older_program_goes_on_where_that_one_died_between_verdict_and_plan(tmp_path: Path) -> None:
    """What the present program writes in one transaction, an older one wrote in two."""
    readings = Readings()
    alert = Alert("pagerduty", "Q1", text="node-1 and node-2: cores pinned")
    verdict = replace(FOUNDING, node="node-1", snapshot=None)
    with Database.open(f"sqlite:///{tmp_path / 'zombie.db'}") as database:
        ledger = Ledger(database)
        for node in ("node-1", "node-2"):
            received = AlertReceived(alert, node, "g1", "node-health", channel=ALERTS)
            ledger.append.now(f"i-{node}", 0, received, BOT)
        ledger.append.now("i-node-1", 1, Triaged(verdict, "node-health", 1), BOT)
    async with (
        workspace() as slack,
        ClientSession() as session,
        serving(slack, tmp_path, readings, toml=TOML, environment=SECRETS) as bot,
    ):
        edge = AlertStage(bot, slack, session)
        await edge.card("2 nodes")
        await eventually(edge.states, {"triaged": 2})
        await eventually(edge.open, 0)
        withheld = {one.node: one.withheld.because for one in await edge.incidents() if one.withheld is not None}
    assert (withheld["node-1"], dict(readings.asked)) == (INTERRUPTED, {"node-2": 1})
