"""A check in Slack with a Prometheus beside it: its past stands in the card and on record; without it one line less."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.domain.errors import SettingsError
from tests.monitoring.prometheus import simulated
from tests.slack.service import CHANNEL, Readings, card_saying, eventually, serving
from tests.slack.workspace import SlackWorkspace, workspace

HELD = "before the alert: core 39 was in the kernel for 97% of two minutes"


@pytest.fixture
async def slack() -> AsyncIterator[SlackWorkspace]:
    async with workspace() as slack:
        yield slack


async def test_the_past_is_told_on_the_card_and_kept_on_record(slack: SlackWorkspace, tmp_path: Path) -> None:
    async with simulated() as prometheus:
        prometheus.holds("node_cpu_seconds_total", lambda _: 0.97, instance="node-1:9100", cpu="39")
        async with serving(slack, tmp_path, Readings(), environment={"PROMETHEUS_URL": prometheus.url}) as bot:
            await slack.say("alice", CHANNEL, "/zombie check node-1")
            card = await card_saying(slack, "node-1: CRITICAL, leaked-memory-cgroups (confirmed)")
            assert HELD in str(card.blocks)
            await slack.until(lambda: [one for one in slack.thread(card) if HELD in str(one.blocks)], what="details")
            await eventually(bot.incidents, {"node-1": "triaged"})
            (incident,) = [one.id for one in await bot.ledger.incidents()]
            assert HELD in str([entry.body for entry in await bot.ledger.read(incident)])


async def test_prometheus_that_is_down_costs_one_line(slack: SlackWorkspace, tmp_path: Path) -> None:
    async with serving(slack, tmp_path, Readings(), environment={"PROMETHEUS_URL": "http://127.0.0.1:1"}):
        await slack.say("alice", CHANNEL, "/zombie check node-1")
        card = await card_saying(slack, "node-1: CRITICAL, leaked-memory-cgroups (confirmed)")
        assert "Not read: containers, prometheus." in str(card.blocks)
        await slack.until(
            lambda: [one for one in slack.thread(card) if "Prometheus cannot be reached" in str(one.blocks)],
            what="the reason",
        )


@pytest.mark.parametrize("url", ["prometheus.example", "ftp://x", "http://", "http://[x", "http://x?query=1"])
async def test_address_that_is_none_is_said_at_the_start(slack: SlackWorkspace, tmp_path: Path, url: str) -> None:
    with pytest.raises(SettingsError, match="PROMETHEUS_URL is not an address"):
        async with serving(slack, tmp_path, Readings(), environment={"PROMETHEUS_URL": url}):
            pass
