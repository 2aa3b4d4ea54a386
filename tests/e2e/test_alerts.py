"""An alert fires, and without anybody's doing there is a card with the verdict."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import ClientSession

from bot.demo.slack.message import Message
from bot.demo.slack.server import SlackWorkspace
from tests.alarms import SECRET, group_body, page_event, raw, signature
from tests.slack import workspace
from tests.slack_service import Bot, Readings, cards, eventually, serving

ALERTS = "alerts"
TOML = """
[slack]
alerts_channel = "C0ALERTS01"
"""
SECRETS = {"PAGERDUTY_WEBHOOK_SECRETS": f"an older one, {SECRET}", "ALERTMANAGER_TOKEN": SECRET}


class Outside:
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

    async def card(self, *words: str) -> Message:
        """Wait for the one card that says all of this."""

        def found() -> Message | None:
            return next((one for one in cards(self.slack, ALERTS) if all(word in one.text for word in words)), None)

        return await self.slack.until(found, what=f"a card saying {words}")


def replace_start(alert: dict[str, Any]) -> dict[str, Any]:
    return alert | {"startsAt": datetime.now(UTC).isoformat()}


@asynccontextmanager
async def outside(folder: Path, readings: Readings | None = None, toml: str = TOML) -> AsyncIterator[Outside]:
    async with (
        workspace() as slack,
        serving(slack, folder, readings or Readings(), toml=toml, environment=SECRETS) as bot,
        ClientSession() as session,
    ):
        yield Outside(bot, slack, session)


async def test_page_gives_a_card_with_the_verdict(tmp_path: Path) -> None:
    async with outside(tmp_path) as it:
        assert await it.page("E1", title="node-3: core 39 pinned") == 202
        card = await it.card("node-3", "CRITICAL", "leaked-memory-cgroups")
        assert "pagerduty Q1: node-3: core 39 pinned (Batch nodes)" in card.text
        await it.slack.until(lambda: it.slack.thread(card)[1:], what="the details")
        await eventually(it.bot.incidents, {"node-3": "triaged"})
        assert len(cards(it.slack, ALERTS)) == 1
