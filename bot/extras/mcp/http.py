"""MCP's Streamable HTTP on the web edge: who may call, and the bridge between aiohttp and the official package.

Each request stands alone: no session is kept, and every answer is a single JSON body. So a client leaves nothing
behind, and any replica can answer.

Defined in: https://modelcontextprotocol.io/specification (transports: Streamable HTTP, and its security warning about
the Origin header); https://asgi.readthedocs.io/en/latest/specs/www.html.
"""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from bot.extras.mcp.server import mcp_server
from bot.extras.mcp.tools import PATH, Toolbox
from bot.sources.body import is_bearer
from bot.surfaces.web import Handler
from bot.surfaces.web_limits import AGAIN_SECONDS, read_request_body

MOST_AT_ONCE = 16  # requests that are being answered; a check takes seconds
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class McpEndpoint:
    """Answers POST /mcp for whoever has the token, while the bot serves or alone."""

    def __init__(self, toolbox: Toolbox, token: str) -> None:
        """`token` is never empty: without a token there is no endpoint."""
        if not token:
            raise ValueError("an endpoint without a token would be open to everybody")
        self._token = token
        # Host and Origin are checked here, before anything is read.
        unguarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self._manager = StreamableHTTPSessionManager(
            mcp_server(toolbox), json_response=True, stateless=True, security_settings=unguarded
        )
        self._running: asyncio.Task[None] | None = None
        self._started, self._stop = asyncio.Event(), asyncio.Event()
        self._inside = 0

    @property
    def posts(self) -> Sequence[tuple[str, Handler]]:
        """Where it is served."""
        return ((PATH, self.answer),)

    async def start(self) -> None:
        """Be ready for requests."""
        self._running = asyncio.create_task(self._hold_task_group(), name="mcp")
        await self._started.wait()

    async def stop(self) -> None:
        """Cancel requests that are still being answered."""
        self._stop.set()
        if self._running is not None:
            await asyncio.gather(self._running, return_exceptions=True)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer a request: 403 for a foreign origin, 401 without the token, else as MCP defines."""
        if not _is_local_origin(request.headers.getall("Origin", [])):
            return web.Response(status=403, text="foreign origin")
        if not is_bearer(request.headers.get("Authorization", ""), self._token):
            return web.Response(status=401, text="bad credentials", headers={"WWW-Authenticate": "Bearer"})
        body = await read_request_body(request)
        if self._inside >= MOST_AT_ONCE or not self._started.is_set() or self._stop.is_set():
            return web.Response(status=503, text="busy", headers={"Retry-After": AGAIN_SECONDS})
        self._inside += 1
        try:
            return await self._pass_to_server(request, body)
        finally:
            self._inside -= 1

    async def _hold_task_group(self) -> None:
        """Hold the package's task group open: it has to be closed by the task that opened it."""
        async with self._manager.run():
            self._started.set()
            await self._stop.wait()

    async def _pass_to_server(self, request: web.Request, body: bytes) -> web.StreamResponse:
        messages = [{"type": "http.request", "body": body, "more_body": False}]
        status, headers, parts = 500, list[tuple[str, str]](), list[bytes]()

        async def receive() -> MutableMapping[str, Any]:
            if messages:
                return messages.pop()
            await self._stop.wait()  # a client that leaves is ignored: its check runs to the end
            return {"type": "http.disconnect"}

        async def send(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers.extend((name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"])
            else:
                parts.append(message.get("body", b""))

        await self._manager.handle_request(_asgi_scope(request), receive, send)
        kept = [(name, value) for name, value in headers if name.lower() != "content-length"]
        return web.Response(status=status, headers=kept, body=b"".join(parts))


def _asgi_scope(request: web.Request) -> MutableMapping[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.scheme,
        "path": PATH,
        "raw_path": PATH.encode(),
        "query_string": b"",
        "root_path": "",
        # The token is removed: the package needs none, and may log headers.
        "headers": [
            (name.lower(), value) for name, value in request.raw_headers if name.lower() not in (b"authorization",)
        ],
    }


def _is_local_origin(origins: list[str]) -> bool:
    """True without a browser's Origin, or for a page of this machine; every other page is foreign."""
    return all(_host(origin) in _LOOPBACK for origin in origins)


def _host(origin: str) -> str:
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""
