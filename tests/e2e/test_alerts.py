"""An alert fires, and without anybody's doing there is a card with the verdict; before and after a restart too."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import ClientSession
from sqlalchemy import select

from bot.chat.service import Timing
from bot.demo.slack.message import Message
from bot.domain.alert import BOT, Alert
from bot.domain.events import AlertReceived, Triaged
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.ledger import Database, Ledger
from bot.ledger.tables import LEASES
from bot.response.lifecycle import INTERRUPTED
from tests.alerts.bodies import SECRET, group_alert, group_body, page_event, raw, signature
from tests.slack.service import QUICK, Bot, Readings, cards, eventually, serving
from tests.slack.workspace import SlackWorkspace, workspace
from tests.unit.surfaces.verdicts import FOUNDING

ALERTS = "alerts"
TOML = """
[slack]
alerts_channel = "C0ALERTS01"
"""
SECRETS = {"PAGERDUTY_WEBHOOK_SECRETS": f"an older one, {SECRET}", "ALERTMANAGER_TOKEN": SECRET}


class AlertStage:
    """Whoever brings alerts to a bot, and looks at Slack."""

    def __init__(self, bot: Bot, slack: SlackWorkspace, session: ClientSession) -> None:
        self.bot = bot
        self.slack = slack
        self._session = session

    async def page(self, event: str, page: str = "Q1", **more: Any) -> int:
        body = raw(page_event(event, page, **({"at": datetime.now(UTC)} | more)))
        return await self._post("pagerduty", body, {"X-PagerDuty-Signature": signature(body)})

    async def group(self, *alerts: dict[str, Any], truncated: int = 0) -> int:
        body = raw(group_body([replace_start(one) for one in alerts], truncated))
        return await self._post("alertmanager", body, {"Authorization": f"Bearer {SECRET}"})

    async def _post(self, path: str, body: bytes, headers: dict[str, str]) -> int:
        async with self._session.post(f"{self.bot.address}/{path}", data=body, headers=headers) as answer:
            return answer.status

    async def states(self) -> dict[str, int]:
        """How many incidents are in each state."""
        return Counter(one.state.value for one in await self.bot.ledger.incidents())

    async def incidents(self) -> list[Incident]:
        """Every incident, folded."""
        return [fold(await self.bot.ledger.read(one.id)) for one in await self.bot.ledger.incidents()]

    async def open(self) -> int:
        """How many incidents have not ended."""
        return len(await self.bot.ledger.incidents(only_open=True))

    async def leased(self) -> int:
        """How many groups of incidents belong to a bot."""
        with self.bot.ledger.database.reading() as connection:
            return len(connection.execute(select(LEASES).where(LEASES.c.group.not_like("storm-%"))).all())

    async def card(self, *words: str) -> Message:
        """Wait for the one card that says all of this."""

        def found() -> Message | None:
            return next((one for one in cards(self.slack, ALERTS) if all(word in one.text for word in words)), None)

        return await self.slack.until(found, what=f"a card saying {words}")


def replace_start(alert: dict[str, Any]) -> dict[str, Any]:
    return alert | {"startsAt": datetime.now(UTC).isoformat()}


@asynccontextmanager
async def alert_stage(
    folder: Path,
    readings: Readings | None = None,
    toml: str = TOML,
    timing: Timing = QUICK,
    known: SlackWorkspace | None = None,
) -> AsyncIterator[AlertStage]:
    async with (
        nullcontext(known) if known is not None else workspace() as slack,
        serving(slack, folder, readings or Readings(), toml=toml, environment=SECRETS, timing=timing) as bot,
        ClientSession() as session,
    ):
        yield AlertStage(bot, slack, session)


async def test_page_gives_a_card_with_the_verdict(tmp_path: Path) -> None:
    async with alert_stage(tmp_path) as edge:
        assert await edge.page("E1", title="node-3: core 39 pinned") == 202
        card = await edge.card("node-3", "CRITICAL", "leaked-memory-cgroups")
        assert "pagerduty Q1: node-3: core 39 pinned (Batch nodes)" in card.text
        await edge.slack.until(lambda: edge.slack.thread(card)[1:], what="the details")
        await eventually(edge.bot.incidents, {"node-3": "triaged"})
        assert len(cards(edge.slack, ALERTS)) == 1
        assert await edge.page("E2", "Q2", title="BMC login failed: node-4") == 202
        await edge.card("node-4", "CRITICAL")  # its name stands where a password might


async def test_many_nodes_of_one_alert_make_one_card_with_a_table(tmp_path: Path) -> None:
    async with alert_stage(tmp_path) as edge:
        assert await edge.group(*(group_alert(f"node-{number}:9100") for number in range(1, 13)), truncated=3) == 202
        card = await edge.card("12 nodes", "12 critical")
        assert "3 more alerts were left out by alertmanager" in card.text
        await eventually(edge.states, {"triaged": 12})
        assert len(cards(edge.slack, ALERTS)) == 1


async def test_second_page_joins_the_card_that_the_last_end_closes_and_a_return_reopens(tmp_path: Path) -> None:
    readings = Readings()
    async with alert_stage(tmp_path, readings) as edge:
        await edge.page("E1", title="node-3: core 39 pinned")
        first = await edge.card("CRITICAL")
        await eventually(edge.states, {"triaged": 1})
        await edge.page("E2", "Q2", title="node-3: core 12 pinned")
        await edge.card("pagerduty Q1", "pagerduty Q2")
        await edge.page("E3", kind="incident.resolved")
        await edge.page("E4", "Q2", kind="incident.resolved")
        card = await edge.card("Resolved: node-3")
        assert "leaked-memory-cgroups" in card.text
        assert (len(cards(edge.slack, ALERTS)), readings.asked["node-3"]) == (1, 1)

        await edge.page("E5", kind="incident.reopened", title="node-3: core 39 pinned")
        again = await edge.card("Reopened: node-3: CRITICAL")
        assert (again.ts, len(cards(edge.slack, ALERTS)), readings.asked["node-3"]) == (first.ts, 1, 2)

        def told() -> list[Message]:
            return [one for one in edge.slack.thread(again)[1:] if one.is_broadcast]

        (back,) = await edge.slack.until(told, what="the channel to be told that it is back")
        assert back.text.startswith("Reopened: node-3: CRITICAL")


async def test_card_asks_which_node_is_meant_and_reads_the_one_that_is_picked(tmp_path: Path) -> None:
    async with alert_stage(tmp_path) as edge:
        await edge.page("E1", title="something is slow")
        card = await edge.card("names no node of the inventory")
        assert "pick_node" in str(card.blocks)
        await edge.slack.click("alice", card, "pick_node", "node-7")
        await edge.card("node-7: CRITICAL")
        await eventually(edge.bot.incidents, {"node-7": "triaged"})
        assert len(cards(edge.slack, ALERTS)) == 1


async def test_storm_is_over_on_its_message_also_where_the_bot_was_restarted_meanwhile(tmp_path: Path) -> None:
    toml = TOML + '[storm]\nalerts = 3\nwindow = "7s"\n'
    async with workspace() as slack:
        async with alert_stage(tmp_path, toml=toml, known=slack) as edge:
            for number in range(1, 6):
                await edge.page(f"E{number}", f"Q{number}", title=f"node-{number}: core pinned")
            await edge.card("Alert storm: 2 alerts on 2 nodes")
            await eventually(edge.open, 0)
            await eventually(edge.leased, 0)  # the next bot shows none of their cards again
        async with alert_stage(tmp_path, toml=toml, known=slack) as edge:
            await edge.card("Alert storm: 2 alerts on 2 nodes, over")
        assert sum(one.text.startswith("Alert storm:") for one in cards(slack, ALERTS)) == 1


# --- before a restart, or while somebody else is at it: seen to once


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
