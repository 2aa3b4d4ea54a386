"""MCP beside a chat in one bot: asked by the official client, on record, and seen by nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from tests.slack.memory_chat import MemoryChat
from tests.slack.service import Bot, Readings, built, eventually, serving

if TYPE_CHECKING:
    from mcp import Client  # takes long to load, so it is loaded where it is used

TOKEN = "5eed" * 8
WITH_TOKEN: dict[str, Any] = {"environment": {"ZOMBIE_MCP_TOKEN": TOKEN}}


@asynccontextmanager
async def client_of(bot: Bot) -> AsyncIterator[Client]:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30) as http,
        Client(streamable_http_client(f"{bot.address}/mcp", http_client=http)) as client,
    ):
        yield client


async def test_check_is_read_once_stands_on_record_and_posts_nothing(chat: MemoryChat, tmp_path: Path) -> None:
    readings = Readings()
    async with serving(chat, tmp_path, readings, chat=chat, **WITH_TOKEN) as bot, client_of(bot) as client:
        told: Any = (await client.call_tool("check", {"nodes": ["node-1", "node-2"]})).structured_content
        assert [node["node"] for node in told["nodes"]] == ["node-1", "node-2"]
        await eventually(bot.incidents, {"node-1": "triaged", "node-2": "triaged"})
        assert await bot.owing() == ()
        (first, second) = [await bot.ledger.incident(node["incident"]) for node in told["nodes"]]
        assert (first.alert.kind, first.alert.asked_by) == ("mcp", "mcp:token")
        assert first.group == second.group
        assert first.ended
        assert first.proposal is None
        assert "asked through MCP" in first.withheld.because
        assert readings.asked == {"node-1": 1, "node-2": 1}
        why: Any = await client.call_tool("explain", {"id": told["nodes"][0]["incident"]})
        assert (why.is_error, "is not kept" in why.content[0].text) == (True, True), "these readings have no case"
        assert chat.posted == []


async def test_ledger_that_is_gone_keeps_no_verdict_back(chat: MemoryChat, tmp_path: Path) -> None:
    async with serving(chat, tmp_path, Readings(), chat=chat, **WITH_TOKEN) as bot, client_of(bot) as client:
        bot.ledger.is_gone = True
        result: Any = await client.call_tool("check", {"nodes": ["node-1"]})
        assert not result.is_error
        assert "incident" not in result.structured_content["nodes"][0]
        assert "This is not all on record: The database is locked." in result.content[0].text
        refused: Any = await client.call_tool("incidents", {})
        assert refused.is_error
        assert "The database is locked." in refused.content[0].text
        bot.ledger.is_back()


async def test_bot_that_stops_ends_a_call_that_waits_for_a_node(chat: MemoryChat, tmp_path: Path) -> None:
    readings = Readings()
    call: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    call["params"] = {"name": "check", "arguments": {"nodes": ["node-1"]}}
    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}

    async def asked() -> int:
        return readings.asked["node-1"]

    async with built(chat, tmp_path, readings, chat=chat, **WITH_TOKEN) as bot, httpx2.AsyncClient(timeout=90) as http:
        assert await bot.service.start()
        readings.hold()
        asking = asyncio.create_task(http.post(f"{bot.address}/mcp", json=call, headers=headers))
        await eventually(asked, 1)
        async with asyncio.timeout(60):
            await bot.service.stop()
            ended: Any
            (ended,) = await asyncio.gather(asking, return_exceptions=True)
        assert isinstance(ended, httpx2.HTTPError) or ended.status_code == 200
        assert bot.logged("task_failed") == []


async def test_without_a_token_there_is_no_such_page(chat: MemoryChat, tmp_path: Path) -> None:
    async with serving(chat, tmp_path, Readings(), chat=chat) as bot, httpx2.AsyncClient() as http:
        for headers in ({}, {"Authorization": "Bearer x"}, {"Origin": "https://evil.example"}):
            assert (await http.post(f"{bot.address}/mcp", json={}, headers=headers)).status_code == 404
        assert bot.logged("mcp_on") == []
