"""The Web API over HTTP.

Defined in https://docs.slack.dev/apis/web-api
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aiohttp import web

from bot.demo.slack import methods_chat, methods_files, methods_history, methods_people, methods_views
from bot.demo.slack.access import WANTED, Access
from bot.demo.slack.arguments import Arguments, read_arguments
from bot.demo.slack.call import Call, Handler
from bot.demo.slack.faults import UPLOAD, Fault, Faults
from bot.demo.slack.rate_limits import RateLimits
from bot.demo.slack.refusal import SlackRefused
from bot.demo.slack.triggers import Triggers
from bot.demo.slack.uploads import Uploads
from bot.demo.slack.workspace import Workspace
from bot.domain.contracts import Clock

HANDLERS: Mapping[str, Handler] = {
    **methods_chat.HANDLERS,
    **methods_people.HANDLERS,
    **methods_history.HANDLERS,
    **methods_views.HANDLERS,
    **methods_files.HANDLERS,
}
MOST_REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call that was made. `error` is empty if the answer was `ok`."""

    method: str
    arguments: Mapping[str, Any]
    at: datetime
    status: int
    error: str


async def apply_fault(fault: Fault | None, request: web.Request, closing: asyncio.Event) -> web.Response | None:
    """Apply a fault that comes before the call's effect. None: the call goes on."""
    if fault is None or fault.is_after_effect:
        return None
    if fault.wait:
        with suppress(TimeoutError):
            await asyncio.wait_for(closing.wait(), fault.wait.total_seconds())
    if fault.is_silent:
        return drop_connection(request)
    if fault.status == 429:
        headers = {"Retry-After": str(fault.retry_after_seconds)}
        return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=headers)
    if fault.status != 200:
        return web.Response(text="<html>Something went wrong</html>", content_type="text/html", status=fault.status)
    if fault.error:
        return web.json_response({"ok": False, "error": fault.error})
    return None


def drop_connection(request: web.Request) -> web.Response:
    """Close the connection without an answer."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


class WebApi:
    """Answers `/api/METHOD` and receives uploads. `asked` are the calls so far."""

    def __init__(
        self,
        workspace: Workspace,
        access: Access,
        triggers: Triggers,
        uploads: Uploads,
        limits: RateLimits,
        faults: Faults,
        clock: Clock,
        connect: Callable[[], str],
    ) -> None:
        self.asked: deque[RecordedCall] = deque(maxlen=MOST_REMEMBERED)
        self.origin = ""
        self.closing = asyncio.Event()
        self._workspace = workspace
        self._access = access
        self._triggers = triggers
        self._uploads = uploads
        self._limits = limits
        self._faults = faults
        self._clock = clock
        self._connect = connect

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        return [
            web.route("*", "/api/{method}", self.answer),
            web.route("*", "/api/", self.answer),
            web.post("/upload/v1/{ticket}", self.receive_upload),
        ]

    async def answer(self, request: web.Request) -> web.Response:
        """Answer a call, with its faults and rate limits."""
        method = request.match_info.get("method", "")
        if method not in HANDLERS:
            return web.json_response({"ok": False, "error": "unknown_method", "req_method": method})
        fault = self._faults.take(method)
        body = await request.read()
        arguments: dict[str, Any] = {}
        suffered = await apply_fault(fault, request, self.closing)
        if suffered is None:
            response = self._answer(method, request, body, arguments)
            if fault is not None and fault.is_after_effect:
                response = drop_connection(request)
        else:
            response = suffered
            arguments.update(_readable(request, body))
        self._remember(method, arguments, response)
        self._workspace.changes.wake()
        return response

    def _answer(self, method: str, request: web.Request, body: bytes, arguments: dict[str, Any]) -> web.Response:
        headers: dict[str, str] = {}
        try:
            arguments.update(read_arguments(request.headers.get("Content-Type", ""), body, request.query))
            token = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
            kind = self._access.check(token or str(arguments.get("token", "")), method)
            headers["X-OAuth-Scopes"] = ",".join(sorted(self._access.granted(kind)))
            headers["X-Accepted-OAuth-Scopes"] = ",".join(WANTED[method])
            if wait_seconds := self._limits.wait_seconds(method, str(arguments.get("channel", ""))):
                headers["Retry-After"] = str(wait_seconds)
                return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=headers)
            call = Call(
                Arguments(arguments),
                self._workspace,
                self._access,
                self._triggers,
                self._uploads,
                self.origin,
                self._connect,
            )
            return web.json_response({"ok": True, **HANDLERS[method](call)}, headers=headers)
        except SlackRefused as refused:
            return web.json_response(refused.body(), headers=headers)

    def _remember(self, method: str, arguments: Mapping[str, Any], response: web.Response) -> None:
        error = ""
        if response.status != 200 or response.body is None:
            error = "ratelimited" if response.status == 429 else "lost"
        elif '"ok": false' in (text := response.text or ""):
            error = text.partition('"error": "')[2].partition('"')[0]
        known = {name: value for name, value in arguments.items() if name != "token"}
        self.asked.append(RecordedCall(method, known, self._clock(), response.status, error))

    async def receive_upload(self, request: web.Request) -> web.Response:
        """Receive a file's content, raw or as the only part of a form."""
        suffered = await apply_fault(self._faults.take(UPLOAD), request, self.closing)
        if suffered is not None:
            return suffered
        content = await request.read()
        if request.content_type == "multipart/form-data":
            parts = [part for part in (await request.post()).values() if isinstance(part, web.FileField)]
            content = parts[0].file.read() if parts else b""
        if not self._uploads.receive(request.match_info["ticket"], content):
            return web.Response(text="no such upload, or not of the announced length", status=400)
        return web.Response(text=f"OK - {len(content)}")


def _readable(request: web.Request, body: bytes) -> dict[str, Any]:
    try:
        return read_arguments(request.headers.get("Content-Type", ""), body, request.query)
    except SlackRefused:
        return {}
