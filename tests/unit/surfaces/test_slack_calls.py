"""How a call of Slack failed is told without what aiohttp quotes: addresses and headers that let anybody in."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from bot.chat.service import Timing
from bot.surfaces.slack.calls import failure_reason, failure_words
from bot.surfaces.slack.socket_mode import SocketMode

TICKET = "8c1b2b2e-0000-4b4b-9d0e-1234567890ab"


async def test_refused_connection_is_logged_without_its_ticket(unused_tcp_port: int) -> None:
    lines, logged = list[Any](), asyncio.Event()

    async def refuses(request: web.Request) -> web.Response:
        return web.Response(status=503)

    async def address() -> str:
        return f"ws://127.0.0.1:{unused_tcp_port}/link/?ticket={TICKET}"

    async def bring(envelope: object) -> None:
        raise AssertionError(envelope)

    def log(event: str, **fields: object) -> None:
        lines.append((event, fields))
        logged.set()

    slack = web.Application()
    slack.router.add_get("/link/", refuses)
    runner = web.AppRunner(slack)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", unused_tcp_port).start()
    async with aiohttp.ClientSession() as session:
        lost = SocketMode(session, None, address, bring, Timing(), log)
        lost.start()
        await asyncio.wait_for(logged.wait(), timedelta(seconds=10).total_seconds())
        await lost.stop(1.0)
    await runner.cleanup()
    assert lines[0] == ("slack_line_failed", {"error": "WSServerHandshakeError http_503"})
    assert TICKET not in str(lines)


@pytest.mark.parametrize("said", [failure_words, failure_reason])
def test_address_that_cannot_be_used_is_not_quoted(said: Any) -> None:
    assert said(aiohttp.InvalidURL("ws:/slack.example/upload/v1/ABC123")) == "InvalidURL"


def test_key_that_is_quoted_is_cut_out_before_the_words_are() -> None:
    said = failure_reason(ValueError(f"{'x ' * 48}glpat-AbCdEfGhIjKlMnOpQrSt"))
    assert "glpat" not in said
