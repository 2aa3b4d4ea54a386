"""The record's heads that the bot posted on closing cards and under each yes, read back from Slack.

Source: `conversations.history` and `conversations.replies`, https://docs.slack.dev/reference/methods. The bot itself
needs neither, so its manifest asks for no history; add the scope to compare.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.entry import NotedHead
from bot.domain.errors import UsageError
from bot.domain.safe_text import one_line
from bot.surfaces.slack.calls import error_name, short_client
from bot.surfaces.slack.drawing import record_heads

PAGE = 200  # messages per answer, as Slack recommends
CALL_SECONDS = 30
LIMITED = 20  # times in a row that Slack may ask to wait
_ADD = (
    "Add “- {0}” to oauth_config.scopes.bot in the app's manifest, install it again, and take it out afterwards: only "
    "this command needs it."
)


@dataclass(frozen=True, slots=True)
class PostedHeads:
    """What was found in Slack.

    Shape: `unread` are channels that are gone or without the bot, each with the reason; `unfit` are sentences about
    posted heads that prove nothing, such as those of earlier versions, which were too short.
    """

    heads: tuple[NotedHead, ...]
    unread: Mapping[str, str]
    unfit: tuple[str, ...] = ()


async def posted_heads(token: str, api_url: str, channels: Collection[str], since: datetime) -> PostedHeads:
    """Read the messages that the bot posted into these channels since then, and the threads under them.

    Raises: UsageError when Slack refuses, naming the missing scope, or cannot be reached.
    """
    heads: list[NotedHead] = []
    unfit: list[str] = []
    unread: dict[str, str] = {}
    try:
        async with short_client(token, api_url, CALL_SECONDS) as client:
            client.retry_handlers.append(AsyncRateLimitErrorRetryHandler(max_retry_count=LIMITED))
            us = await client.auth_test()
            for channel in sorted(channels):
                try:
                    async for message in _messages_and_replies(client, channel, since):
                        if us.get("user_id") == message.get("user"):
                            for text in record_heads(message.get("blocks") or ()):
                                where = f"in Slack, channel {channel}, message {message.get('ts')}"
                                try:
                                    heads.append(NotedHead.of(text, where))
                                except ValueError as no:
                                    unfit.append(f"{no} ({where})")
                except SlackApiError as error:
                    if (name := error_name(error)) not in ("not_in_channel", "channel_not_found"):
                        raise
                    unread[channel] = name
    except SlackApiError as error:
        if error_name(error) == "missing_scope":
            needed = str(error.response.get("needed") or "channels:history")  # a scope, or a list of which any will do
            scope = one_line(needed.partition(",")[0], 60)
            raise UsageError(f"The Slack app may not read messages: it lacks {scope}.", _ADD.format(scope)) from error
        raise UsageError(f"Slack refuses: {error_name(error)}.", "zombie doctor says what is wrong.") from error
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        why = one_line(str(error) or repr(error), 120)
        raise UsageError(f"Slack cannot be reached: {why}.", "zombie doctor says what is wrong.") from error
    return PostedHeads(tuple(heads), unread, tuple(unfit))


async def _messages_and_replies(
    client: AsyncWebClient, channel: str, since: datetime
) -> AsyncIterator[Mapping[str, Any]]:
    asked = await client.conversations_history(channel=channel, oldest=f"{since.timestamp():.6f}", limit=PAGE)
    async for page in asked:  # follows the cursor
        for message in page.get("messages") or ():
            yield message
            if message.get("reply_count"):
                async for reply in _replies(client, channel, str(message["ts"])):
                    yield reply


async def _replies(client: AsyncWebClient, channel: str, ts: str) -> AsyncIterator[Mapping[str, Any]]:
    async for page in await client.conversations_replies(channel=channel, ts=ts, limit=PAGE):
        for reply in page.get("messages") or ():
            if reply.get("ts") != ts:
                yield reply
