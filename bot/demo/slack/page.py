"""The server side of the Slack page: its files, what people do on it, and a WebSocket with all that a person sees."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp import WSMsgType, web

from bot.demo.page_files import PageFiles
from bot.demo.slack import page_state
from bot.demo.slack.composer import Composer
from bot.demo.slack.guide import Guide
from bot.demo.slack.interactions import Interactions
from bot.demo.slack.page_guard import UPLOADED, PageGuard
from bot.demo.slack.socket_mode import send_json
from bot.demo.slack.view import View
from bot.demo.slack.workspace import Workspace

FOLDER = Path(__file__).parent / "page"
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
TOGETHER_SECONDS = 0.05  # what changes within it is sent at once

Act = Callable[[dict[str, Any]], Awaitable[Any]]


class Page:
    """Serves the page. Each request says which person acts, because a single browser plays them all.

    Shape: `guide`, if any, is shown at the beginning of its channel.
    """

    def __init__(self, workspace: Workspace, composer: Composer, hands: Interactions, guard: PageGuard) -> None:
        self.guide: Guide | None = None
        self._workspace = workspace
        self._composer = composer
        self._interactions = hands
        self._files = PageFiles(FOLDER, guard)
        self._sockets: set[web.WebSocketResponse] = set()

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        acts: dict[str, Act] = {
            "say": self._say,
            "click": self._click,
            "click-in-view": self._click_in_view,
            "submit": self._submit,
            "close": self._close,
            "home": self._home,
        }
        return [
            *self._files.routes(),
            web.get("/archives/{channel}/{message}", self._files.index),
            web.get("/page/live", self._stream_states),
            web.get("/page/files/{file}", self._file),
            *(web.post(f"/page/{name}", self._handler(act)) for name, act in acts.items()),
        ]

    # --- files

    async def _file(self, request: web.Request) -> web.Response:
        file = self._workspace.files.get(request.match_info["file"])
        if file is None:
            raise web.HTTPNotFound
        if file.content_type in PICTURES:
            return web.Response(body=file.content, content_type=file.content_type)
        if file.content_type == "text/html":  # a report: it is to be opened, and can do nothing here
            policy = {"Content-Security-Policy": UPLOADED}
            return web.Response(body=file.content, content_type="text/html", charset="utf-8", headers=policy)
        # Anything else could contain scripts, so it is served as plain text.
        return web.Response(body=file.content, content_type="text/plain", charset="utf-8")

    # --- the WebSocket

    def _user_id(self, name: str) -> str:
        try:
            return self._workspace.user(name).id
        except LookupError as error:
            raise web.HTTPNotFound(text=str(error)) from error

    async def _stream_states(self, request: web.Request) -> web.StreamResponse:
        user = self._user_id(request.query.get("as", ""))
        socket = web.WebSocketResponse(heartbeat=30)
        await socket.prepare(request)
        sending = asyncio.create_task(self._send_states(socket, user))
        self._sockets.add(socket)
        try:
            async for message in socket:
                if message.type is WSMsgType.ERROR:
                    break
        finally:
            self._sockets.discard(socket)
            sending.cancel()
        return socket

    async def _send_states(self, socket: web.WebSocketResponse, user: str) -> None:
        """Send all that this person sees, at once and whenever it has become something else."""
        changes = self._workspace.changes
        sent: dict[str, Any] = {}
        while True:
            happened = changes.happened
            seen = page_state.whole(self._workspace, user, self._composer.commands, self.guide)
            if seen != sent and not await send_json(socket, seen):
                return
            sent = seen
            await happened.wait()
            await asyncio.sleep(TOGETHER_SECONDS)

    async def close(self) -> None:
        """Close every page's WebSocket. An open page connects again by itself."""
        for socket in list(self._sockets):
            await socket.close()

    # --- what people do

    def _handler(self, act: Act) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            if request.content_type != "application/json":
                raise web.HTTPUnsupportedMediaType
            try:
                given = await request.json()
                return web.json_response({"ok": True, "came": await act(given)})
            except (KeyError, TypeError, json.JSONDecodeError) as error:
                raise web.HTTPBadRequest(text=f"not understood: {error!r}") from error
            except LookupError as error:
                return web.json_response({"ok": False, "says": str(error)})

        return handle

    async def _say(self, given: dict[str, Any]) -> Any:
        said = await self._composer.say(given["as"], given["channel"], given["text"], given.get("thread_ts"))
        return {"ts": said.message.ts if said.message else None}

    async def _click(self, given: dict[str, Any]) -> Any:
        message = self._workspace.find(given["channel"], given["ts"])
        if message is None:
            raise LookupError("that message is gone")
        delivered = await self._interactions.click(
            given["as"], message, given["action_id"], given.get("value"), given.get("block_id"), given.get("shown")
        )
        return {"failure": delivered.failure}

    def _view(self, given: dict[str, Any]) -> View:
        view = self._workspace.view(given["view"])
        if view is None or view.user != self._workspace.user(given["as"]).id:
            raise LookupError("that view is closed")
        return view

    async def _click_in_view(self, given: dict[str, Any]) -> Any:
        delivered = await self._interactions.click_in_view(
            given["as"], self._view(given), given["action_id"], given.get("value"), given.get("block_id")
        )
        return {"failure": delivered.failure}

    async def _submit(self, given: dict[str, Any]) -> Any:
        submitted = await self._interactions.submit(given["as"], self._view(given), given["values"])
        return {"is_open": submitted.view is not None}

    async def _close(self, given: dict[str, Any]) -> Any:
        await self._interactions.close(given["as"], self._view(given))
        return {}

    async def _home(self, given: dict[str, Any]) -> Any:
        delivered = await self._interactions.open_home(given["as"])
        return {"failure": delivered.failure}
