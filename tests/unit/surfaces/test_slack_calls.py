"""How a call of Slack failed is told without what aiohttp quotes: addresses and headers that let anybody in."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from slack_sdk.errors import SlackApiError

from bot.chat.service import MessageGone, NoAccess, Outcome, Rejected, RetryLater, Timing
from bot.surfaces.slack.calls import _refusal, failure_reason, failure_words
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


@pytest.mark.parametrize(
    ("status", "error", "meaning"),
    [
        (200, "invalid_blocks", Rejected("invalid_blocks")),
        (200, "msg_too_long", Rejected("msg_too_long")),
        (200, "msg_blocks_too_long", Rejected("msg_blocks_too_long")),
        (200, "message_not_found", MessageGone("message_not_found")),
        (200, "thread_not_found", MessageGone("thread_not_found")),
        (200, "channel_not_found", NoAccess("channel_not_found")),
        (200, "is_archived", NoAccess("is_archived")),
        (200, "restricted_action", NoAccess("restricted_action")),
        (200, "fatal_error", RetryLater("fatal_error")),
        (200, "whatever_comes_next_year", RetryLater("whatever_comes_next_year")),
        (503, "", RetryLater("http_503")),
        (429, "ratelimited", RetryLater("ratelimited", 7.0)),
    ],
)
def test_what_slack_says_is_final_or_tried_again(status: int, error: str, meaning: Outcome) -> None:
    answer = SimpleNamespace(data={"error": error}, status_code=status, headers={"Retry-After": "7"})
    error_of_slack: Any = SlackApiError
    assert _refusal(error_of_slack("", answer)) == meaning
