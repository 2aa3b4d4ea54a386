"""The simulated Slack workspace as a test's bed, and a small bot of Bolt's own in it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.demo.slack.server import SlackWorkspace


def now() -> datetime:
    """The real clock."""
    return datetime.now(UTC)


class SteppedClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.at = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at

    def move(self, by: timedelta) -> None:
        """Let time pass."""
        self.at += by


@asynccontextmanager
async def workspace(**settings: Any) -> AsyncIterator[SlackWorkspace]:
    """A workspace of its own for one test."""
    settings.setdefault("clock", now)
    async with SlackWorkspace.start(random_bytes=os.urandom, **settings) as slack:
        yield slack


def client(slack: SlackWorkspace, token: str | None = None) -> AsyncWebClient:
    """Return the real Web API client, pointed at the workspace and carrying the bot's token unless told otherwise."""
    return AsyncWebClient(token=slack.bot_token if token is None else token, base_url=slack.api_url)


@asynccontextmanager
async def bolt(slack: SlackWorkspace, connections: int = 1) -> AsyncIterator[AsyncApp]:
    """Bolt's own app, connected over Socket Mode."""
    app = AsyncApp(client=client(slack), ignoring_self_events_enabled=False)
    async with AsyncExitStack() as stack:
        for _ in range(connections):
            handler = AsyncSocketModeHandler(
                app, slack.app_token, web_client=client(slack, slack.app_token), ping_interval=0.2
            )
            stack.push_async_callback(handler.close_async)
            await handler.connect_async()  # type: ignore[no-untyped-call]
        await slack.until(lambda: slack.sockets.connections == connections, what="Bolt's connections")
        yield app
