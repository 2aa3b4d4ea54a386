"""An alert that came before a restart, or while somebody else is at it, is seen to once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiohttp import ClientSession

from tests.e2e.test_alerts import ALERTS, SECRETS, TOML, Outside, outside
from tests.slack import workspace
from tests.slack_service import Readings, cards, eventually, serving


async def test_next_run_goes_on_with_the_card_that_was_left_reading(tmp_path: Path) -> None:
    readings = Readings()
    readings.hold("node-2")
    async with workspace() as slack, ClientSession() as session:
        async with serving(slack, tmp_path, readings, toml=TOML, environment=SECRETS) as bot:
            it = Outside(bot, slack, session)
            await it.page("E1", title="node-1 and node-2: cores pinned")
            left = await it.card("2 nodes", "1 still reading")
            await eventually(it.states, {"triaged": 1, "opened": 1})
            readings.hold("node-2")
            await bot.service._scheduler.abandon()
        readings.let_go()
        async with serving(slack, tmp_path, readings, toml=TOML, environment=SECRETS) as bot:
            it = Outside(bot, slack, session)
            card = await it.card("2 nodes: 2 critical")
            await eventually(it.states, {"triaged": 2})
            assert await it.page("E1", title="node-1 and node-2: cores pinned") == 202
        assert (card.ts, len(cards(slack, ALERTS)), readings.asked["node-1"]) == (left.ts, 1, 1)


async def test_node_that_joins_while_others_are_read_is_read_too(tmp_path: Path) -> None:
    readings = Readings()
    readings.hold("node-1")
    async with outside(tmp_path, readings) as it:
        await it.page("E1", title="node-1: core pinned")
        await it.card("node-1: reading")
        await it.page("E2", title="node-1 and node-2: cores pinned")
        await it.card("2 nodes", "1 critical", "1 still reading")
        readings.let_go()
        await it.card("2 nodes: 2 critical")
        await eventually(it.states, {"triaged": 2})
        assert (len(cards(it.slack, ALERTS)), dict(readings.asked)) == (1, {"node-1": 1, "node-2": 1})


async def test_old_alert_says_on_its_card_why_nothing_is_offered(tmp_path: Path) -> None:
    async with outside(tmp_path) as it:
        await it.page("E1", title="node-1: core pinned", at=datetime.now(UTC) - timedelta(hours=1))
        await it.card("node-1: CRITICAL", "nothing is offered")
        await eventually(it.open, 0)
        (one,) = await it.incidents()
        assert one.withheld is not None
        assert "more than 15m before it was seen to" in one.withheld.because


async def test_verdict_is_written_down_once_the_ledger_is_back(tmp_path: Path) -> None:
    readings = Readings()
    readings.hold("node-1")
    async with outside(tmp_path, readings) as it:
        await it.page("E1", title="node-1: core pinned")
        await it.card("node-1: reading")
        it.bot.ledger.is_broken = True
        readings.let_go()
        await it.card("node-1: CRITICAL")
        await it.slack.until(lambda: it.bot.logged("record_failed"), what="the ledger to be missed")
        it.bot.ledger.is_broken = False
        await eventually(it.states, {"triaged": 1})
        assert readings.asked["node-1"] == 1
