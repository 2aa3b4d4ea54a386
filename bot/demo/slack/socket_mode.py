"""Socket Mode: the app's WebSockets, their envelopes and acknowledgements.

Defined in https://docs.slack.dev/apis/events-api/using-socket-mode
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from aiohttp import WSMsgType, web

from bot.demo.slack.changes import Changes
from bot.demo.slack.delivery import NOBODY, TOO_LATE, Delivered, DeliveryKind, DeliveryTimeouts
from bot.demo.slack.ids import IdGenerator
from bot.demo.slack.people import APP_ID

MOST_CONNECTIONS = 10
HOST = "applink-demo"


@dataclass(eq=False, slots=True)
class _Connection:
    socket: web.WebSocketResponse
    transport: asyncio.Transport | None
    is_leaving: bool = False  # asked to disconnect; it gets no new envelopes


class SocketMode:
    """The app's connections. Each envelope goes to a single connection, round-robin."""

    def __init__(self, names: IdGenerator, changes: Changes, patience: DeliveryTimeouts, origin: str) -> None:
        self._origin = origin
        self.patience = patience
        self._names = names
        self._changes = changes
        self._tickets: set[str] = set()
        self._connections: list[_Connection] = []
        self._turn = 0
        self._pending: dict[str, asyncio.Future[dict[str, Any]]] = {}

    def ticket(self) -> str:
        """Return the address for a new connection. It works once."""
        ticket = self._names.secret()
        self._tickets.add(ticket)
        return f"{self._origin.replace('http', 'ws', 1)}/link/?ticket={ticket}&app_id={APP_ID}"

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Serve a connection of the app until it ends."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            raise web.HTTPForbidden(text="no such ticket")
        self._tickets.discard(ticket)
        socket = web.WebSocketResponse(heartbeat=30)
        await socket.prepare(request)
        connection = _Connection(socket, request.transport)
        if len(self._connections) >= MOST_CONNECTIONS:
            await send_json(socket, disconnection("too_many_websockets"))
            await socket.close()
            return socket
        self._connections.append(connection)
        try:
            hello = {
                "type": "hello",
                "num_connections": len(self._connections),
                "debug_info": {"host": HOST, "approximate_connection_time": 18060},
                "connection_info": {"app_id": APP_ID},
            }
            await send_json(socket, hello)
            self._changes.wake()
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    self._acknowledge(message.data)
        finally:
            self._connections.remove(connection)
            self._changes.wake()
        return socket

    def _acknowledge(self, text: str) -> None:
        try:
            given = json.loads(text)
        except ValueError:
            return
        if not isinstance(given, dict):
            return
        pending = self._pending.get(str(given.get("envelope_id")))
        if pending is not None and not pending.done():
            payload = given.get("payload")
            pending.set_result(payload if isinstance(payload, dict) else {})

    async def deliver(
        self, kind: DeliveryKind, payload: dict[str, Any], *, answerable: bool, attempt: int = 0, reason: str = ""
    ) -> Delivered:
        """Send an envelope and wait for its acknowledgement."""
        envelope: dict[str, Any] = {
            "envelope_id": self._names.envelope(),
            "type": kind,
            "payload": payload,
            "accepts_response_payload": answerable,
        }
        if kind == "events_api":
            envelope |= {"retry_attempt": attempt, "retry_reason": reason}
        name = envelope["envelope_id"]
        pending: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[name] = pending
        try:
            if not await self._send(envelope):
                return Delivered(kind, payload, NOBODY)
            answer = await asyncio.wait_for(pending, self.patience.acknowledgement.total_seconds())
        except TimeoutError:
            return Delivered(kind, payload, TOO_LATE)
        finally:
            del self._pending[name]
        return Delivered(kind, payload, answer=answer or None)

    async def _send(self, envelope: dict[str, Any]) -> bool:
        for _ in range(len(self._connections)):
            ready = [each for each in self._connections if not each.is_leaving and not each.socket.closed]
            if not ready:
                return False
            self._turn += 1
            if await send_json(ready[self._turn % len(ready)].socket, envelope):
                return True
        return False

    async def close(self) -> None:
        """Close every connection."""
        for connection in list(self._connections):
            await connection.socket.close()


def disconnection(reason: str) -> dict[str, Any]:
    """Return what Slack says before it ends a connection."""
    return {"type": "disconnect", "reason": reason, "debug_info": {"host": HOST}}


async def send_json(socket: web.WebSocketResponse, what: dict[str, Any]) -> bool:
    """Send something; False where the connection has ended meanwhile."""
    try:
        await socket.send_str(json.dumps(what))
    except (ConnectionError, RuntimeError):  # it has ended
        return False
    return True
