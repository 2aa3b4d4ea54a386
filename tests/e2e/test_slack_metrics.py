"""A check in Slack, as /metrics and the log tell of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.slack.service import CHANNEL, Bot, Readings, card_saying, eventually, serving
from tests.slack.workspace import SlackWorkspace, workspace


@pytest.fixture
async def slack() -> AsyncIterator[SlackWorkspace]:
    async with workspace() as slack:
        yield slack


async def lines(bot: Bot) -> list[str]:
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.get(f"{bot.address}/metrics")
    assert answer.status_code == 200
    return answer.text.splitlines()


async def test_a_check_is_counted_timed_and_told_with_its_incident(slack: SlackWorkspace, tmp_path: Path) -> None:
    async with serving(slack, tmp_path, Readings()) as bot:
        before = await lines(bot)
        assert 'zombie_checks_total{status="critical"} 0.0' in before
        assert "zombie_ready 1.0" in before
        assert "zombie_nodes 100.0" in before
        await slack.say("alice", CHANNEL, "/zombie check node-1")
        await card_saying(slack, "node-1: CRITICAL")

        async def judged() -> bool:
            return bool(bot.logged("judged"))

        await eventually(judged, True)
        after = await lines(bot)
        for line in (
            'zombie_checks_total{status="critical"} 1.0',
            "zombie_check_seconds_count 1.0",
            "zombie_verdict_seconds_count 1.0",
            'zombie_incidents{state="triaged"} 1.0',
            'zombie_incidents_by_cause{cause="leaked-memory-cgroups",state="triaged"} 1.0',
            "zombie_ledger_up 1.0",
            'zombie_webhooks_total{outcome="accepted",source="slack"} 1.0',
            "zombie_ack_seconds_count 1.0",
        ):
            assert line in after
        (incident,) = [one.id for one in await bot.ledger.incidents()]
        told = [line for line in bot.lines if line.get("incident") == incident]
        assert [line["event"] for line in told if line["event"] in ("incident", "judged")][-2:] == [
            "incident",
            "judged",
        ]
        assert {line["node"] for line in told} == {"node-1"}
        bot.outbox.is_broken = bot.ledger.is_broken = True
        assert "zombie_ready 0.0" in await lines(bot)
