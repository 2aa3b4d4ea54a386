"""Signed HTTP: Slack posts to the bot's address, and signs each request with the app's secret.

The signature: https://docs.slack.dev/authentication/verifying-requests-from-slack
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any, TypeAlias

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bot.domain.contracts import Clock
from bot.domain.safe_text import one_line
from bot.surfaces.web_limits import body_of

WINDOW = timedelta(minutes=5)  # an older request may be a replay; a repetition within it has a known key
_DIGITS = 12
Dispatch: TypeAlias = Callable[[AsyncBoltRequest], Awaitable[BoltResponse]]  # passes a request to its listener


class SignedHttp:
    """Accepts what Slack posts, once the signature is verified."""

    def __init__(self, secret: str, now: Clock, dispatch: Dispatch) -> None:
        self._secret = secret.encode()
        self._now = now
        self._dispatch = dispatch

    async def receive(self, request: web.Request) -> web.Response:
        """Answer a request."""
        body = await body_of(request)
        stamp = request.headers.get("X-Slack-Request-Timestamp", "")
        if not self._is_signed(stamp, request.headers.get("X-Slack-Signature", ""), body):
            return web.Response(status=401, text="not signed by Slack")
        try:
            received = AsyncBoltRequest(body=body.decode(), query=request.query_string, headers=dict(request.headers))
        except (ValueError, AttributeError, TypeError) as error:  # no UTF-8, no JSON, or not in Slack's form
            return web.Response(status=400, text=one_line(str(error)))
        if not _is_of_slacks_shape(received.body):  # Bolt would fail on it, and Slack would deliver it again
            return web.Response(status=400, text="a payload without the fields of its type")
        return await to_aiohttp_response(await self._dispatch(received))

    def _is_signed(self, stamp: str, signature: str, body: bytes) -> bool:
        if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= _DIGITS):
            return False
        if abs(self._now().timestamp() - int(stamp)) > WINDOW.total_seconds():
            return False
        digest = hmac.new(self._secret, b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(f"v0={digest}".encode(), signature.encode(errors="replace"))


def _is_of_slacks_shape(body: Mapping[str, Any]) -> bool:
    """True where a payload has the fields that its type promises: https://docs.slack.dev/reference/interaction-payloads."""
    match body.get("type"):
        case "block_actions":
            actions = body.get("actions")
            first = actions[0] if isinstance(actions, list) and actions else None
            return isinstance(first, dict) and isinstance(first.get("action_id"), str)
        case "block_suggestion":
            return isinstance(body.get("action_id"), str) and isinstance(body.get("block_id"), str)
        case "view_submission":
            view = body.get("view")
            return isinstance(view, dict) and isinstance(view.get("type"), str)
        case "event_callback":
            return isinstance(body.get("event"), dict)
    return True
