"""Uploads a file to Slack in three calls: ask where to send it, send it there, say that it is complete.

https://docs.slack.dev/messaging/working-with-files#upload. A file shared in no channel is visible where a block
of the bot shows it, and nowhere else: https://docs.slack.dev/reference/block-kit/blocks/image-block
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.safe_text import one_line
from bot.sources.addresses import is_guarded
from bot.surfaces.slack.calls import PASSING, Rejected, RetryLater, error_name, retry_after
from bot.surfaces.slack.message import clipped

ALT_TEXT = 1000  # Slack's limit, in characters


@dataclass(frozen=True, slots=True)
class Uploaded:
    """Slack has the file, under this id."""

    file: str


# Sends bytes to an address, and returns status and headers. Raises: OSError, aiohttp.ClientError.
SendBytes: TypeAlias = Callable[[str, bytes], Awaitable[tuple[int, Mapping[str, str]]]]
UploadOutcome: TypeAlias = Uploaded | RetryLater | Rejected


class Uploads:
    """Uploads files; the three calls together end within `limit_seconds`."""

    def __init__(self, client: AsyncWebClient, send: SendBytes, limit_seconds: float) -> None:
        self._client = client
        self._send = send
        self._limit = limit_seconds

    async def upload(
        self, name: str, content: bytes, alt_text: str, *, channel: str = "", thread_ts: str = ""
    ) -> UploadOutcome:
        """Upload a file and return the outcome; it is shared in that thread, or nowhere."""
        try:
            async with asyncio.timeout(self._limit):
                return await self._uploaded(name, content, alt_text, channel, thread_ts)
        except SlackApiError as error:
            word, status = error_name(error), getattr(error.response, "status_code", 200)
            if status == 429 or status >= 500 or word in PASSING:
                return RetryLater(word, retry_after(error))
            return Rejected(word)
        # KeyError and ValueError: a 200 that is not Slack's answer, from a proxy on the way.
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, KeyError) as error:
            return RetryLater(one_line(repr(error), 200))

    async def _uploaded(self, name: str, content: bytes, alt_text: str, channel: str, thread_ts: str) -> UploadOutcome:
        asked = await self._client.files_getUploadURLExternal(
            filename=name, length=len(content), alt_txt=clipped(alt_text, ALT_TEXT)
        )
        url, file = str(asked["upload_url"]), str(asked["file_id"])
        if not is_guarded(url):
            return Rejected("the upload's address is neither https nor on loopback")
        status, _ = await self._send(url, content)
        if status >= 300:
            return RetryLater(f"http_{status}") if status == 429 or status >= 500 else Rejected(f"http_{status}")
        await self._client.files_completeUploadExternal(
            files=[{"id": file, "title": name}], channel_id=channel or None, thread_ts=thread_ts or None
        )
        return Uploaded(file)
