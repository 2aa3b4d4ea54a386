"""One call to Slack, and what its answer means for the message, as a value.

Errors: https://docs.slack.dev/reference/methods/chat.postMessage, …/chat.update, and
https://docs.slack.dev/interactivity/handling-user-interaction for a command's own address.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.post import Place
from bot.domain.safe_text import one_line
from bot.surfaces.slack.message import Message

# Wordings that Slack will never take, however often.
WORDING = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "no_text"})
# The message to edit, or the thread to post into, is not there any more, or not ours.
GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "thread_not_found"})
# We may not write in that channel.
NO_ENTRY = frozenset({"channel_not_found", "not_in_channel", "is_archived", "restricted_action", "no_permission"})


@dataclass(frozen=True, slots=True)
class Stands:
    """Slack has it; `place` is where, and None where it was said to one person alone."""

    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Later:
    """Slack could not be reached, or was not up to it: try again, not before `seconds` where Slack said so."""

    error: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Refused:
    """Slack will never take this wording."""

    error: str


@dataclass(frozen=True, slots=True)
class Gone:
    """What was to be edited or answered is not there any more."""

    error: str


@dataclass(frozen=True, slots=True)
class NoEntry:
    """The bot may not write there."""

    error: str


Outcome: TypeAlias = Stands | Later | Refused | Gone | NoEntry


class Web(Protocol):
    """Posts JSON to an address and returns the status and the headers."""

    async def __call__(self, url: str, body: Mapping[str, Any]) -> tuple[int, Mapping[str, str]]:
        """Post. Raises: OSError or aiohttp.ClientError when the address cannot be reached."""
        ...


class Calls:
    """The calls that put messages where they belong; each ends within `limit_seconds`."""

    def __init__(self, client: AsyncWebClient, web: Web, limit_seconds: float) -> None:
        self._client = client
        self._web = web
        self._limit = limit_seconds

    async def post(self, channel: str, thread_ts: str, message: Message) -> Outcome:
        """Put a new message into a channel, or into a thread of it."""
        body = _body(message) | ({"thread_ts": thread_ts} if thread_ts else {})
        body |= {"reply_broadcast": True} if thread_ts and message.broadcast else {}
        call = self._client.chat_postMessage(
            channel=channel, mrkdwn=False, link_names=False, unfurl_links=False, unfurl_media=False, **body
        )
        return await self._made(call)

    async def edit(self, place: Place, message: Message) -> Outcome:
        """Give a message that stands another wording."""
        body = {"blocks": [], **_body(message)}  # an empty list takes the blocks of the wording before away
        return await self._made(self._client.chat_update(channel=place.channel, ts=place.ts, link_names=False, **body))

    async def whisper(self, channel: str, user: str, thread_ts: str, message: Message) -> Outcome:
        """Say something to one person in a channel."""
        body = _body(message) | ({"thread_ts": thread_ts} if thread_ts else {})
        return await self._made(self._client.chat_postEphemeral(channel=channel, user=user, link_names=False, **body))

    async def answer(self, url: str, message: Message) -> Outcome:
        """Answer a slash command at its own address, which takes five answers within half an hour."""
        body = {"response_type": "ephemeral", "text": message.text, "blocks": list(message.blocks)}
        try:
            async with asyncio.timeout(self._limit):
                status, headers = await self._web(url, body)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return Later(one_line(repr(error)))
        if status < 300:
            return Stands()
        if status == 429 or status >= 500:
            return Later(f"http_{status}", _retry_after(headers))
        return Refused(f"http_{status}") if status == 400 else Gone(f"http_{status}")

    async def _made(self, call: Awaitable[Any]) -> Outcome:
        try:
            async with asyncio.timeout(self._limit):
                answer = await call
        except SlackApiError as error:
            return _refusal(error)
        # ValueError: an answer of 200 that is no JSON, from something that stands between us and Slack.
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            return Later(one_line(repr(error)))
        return Stands(Place(str(answer["channel"]), str(answer["ts"])) if answer.get("ts") else None)


def error_name(error: SlackApiError) -> str:
    """Return Slack's own word for an error, or the HTTP status where there is none."""
    body = getattr(error.response, "data", None)
    name = body.get("error") if isinstance(body, dict) else None
    return one_line(str(name), 80) if name else f"http_{getattr(error.response, 'status_code', 0)}"


def retry_after(error: SlackApiError) -> float:
    """Return how many seconds Slack asks to wait, 0 where it does not say."""
    return _retry_after(getattr(error.response, "headers", {}))


def _refusal(error: SlackApiError) -> Outcome:
    name = error_name(error)
    if getattr(error.response, "status_code", 200) == 429 or name in ("ratelimited", "rate_limited"):
        return Later(name, max(1.0, retry_after(error)))
    for names, meaning in ((WORDING, Refused), (GONE, Gone), (NO_ENTRY, NoEntry)):
        if name in names:
            return meaning(name)
    return Later(name)


def _body(message: Message) -> dict[str, Any]:
    body: dict[str, Any] = {"text": message.text, "parse": "none"}
    return body | ({"blocks": list(message.blocks)} if message.blocks else {})


def _retry_after(headers: Mapping[str, str]) -> float:
    try:
        return min(3600.0, float(headers.get("Retry-After") or headers.get("retry-after") or 0))
    except ValueError:
        return 1.0
