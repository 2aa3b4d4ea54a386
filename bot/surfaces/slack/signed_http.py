"""Signed HTTP: Slack brings everything to an address of ours, signed with the app's secret.

The signature: https://docs.slack.dev/authentication/verifying-requests-from-slack
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bot.domain.contracts import Clock
from bot.domain.safe_text import one_line

WINDOW = timedelta(minutes=5)  # an older request may be a replay; a repeated one inside it is one wish all the same
READ_SECONDS = 10.0
_DIGITS = 12


class SignedHttp:
    """Takes what Slack posts, once it is proven to come from Slack."""

    def __init__(
        self, secret: str, now: Clock, dispatch: Callable[[AsyncBoltRequest], Awaitable[BoltResponse]]
    ) -> None:
        self._secret = secret.encode()
        self._now = now
        self._dispatch = dispatch

    async def receive(self, request: web.Request) -> web.Response:
        """Answer one request."""
        try:
            async with asyncio.timeout(READ_SECONDS):
                body = await request.read()
        except TimeoutError:
            return web.Response(status=408, text="the body did not come")
        stamp = request.headers.get("X-Slack-Request-Timestamp", "")
        if not self._is_signed(stamp, request.headers.get("X-Slack-Signature", ""), body):
            return web.Response(status=401, text="not signed by Slack")
        try:
            told = AsyncBoltRequest(body=body.decode(), query=request.query_string, headers=dict(request.headers))
        except (ValueError, AttributeError, TypeError) as error:  # no UTF-8, no JSON, or not of Slack's shape
            return web.Response(status=400, text=one_line(str(error)))
        if not _is_of_slacks_shape(told.body):  # Bolt would fail on it, and Slack bring it again
            return web.Response(status=400, text="a payload without what its type says")
        return await to_aiohttp_response(await self._dispatch(told))

    def _is_signed(self, stamp: str, signature: str, body: bytes) -> bool:
        if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= _DIGITS):
            return False
        if abs(self._now().timestamp() - int(stamp)) > WINDOW.total_seconds():
            return False
        digest = hmac.new(self._secret, b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(f"v0={digest}".encode(), signature.encode(errors="replace"))


def _is_of_slacks_shape(body: Mapping[str, Any]) -> bool:
    """True where a payload has what its type promises: https://docs.slack.dev/reference/interaction-payloads."""
    match body.get("type"):
        case "block_actions":
            actions = body.get("actions")
            first = actions[0] if isinstance(actions, list) and actions else None
            return isinstance(first, dict) and isinstance(first.get("action_id"), str)
        case "view_submission":
            view = body.get("view")
            return isinstance(view, dict) and isinstance(view.get("type"), str)
        case "event_callback":
            return isinstance(body.get("event"), dict)
    return True
