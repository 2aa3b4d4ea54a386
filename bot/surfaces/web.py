"""The web edge: health, readiness, and everything that others call by HTTP."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from aiohttp import web
from aiohttp.http import HttpProcessingError

from bot.domain.contracts import Log, Seconds
from bot.domain.errors import SettingsError
from bot.domain.listen_address import host_and_port
from bot.surfaces.web_limits import BODIES, Bodies, ConnectionLimits, Connections, peer_of

BODY_LIMIT_BYTES = 256 * 1024
BACKLOG = 128
LINGER_SECONDS = 2.0  # to take in the rest of a body after its answer, so that the sender reads the answer
SHUTDOWN_SECONDS = 2.0  # for requests still being answered when the bot stops

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


class WebEdge:
    """An HTTP port. `ready` returns why the bot takes no work, or nothing when it does.

    Shape: `unauthorized` counts what is answered 401, and `log` says so once a minute for each peer. The rest replaces
    the usual limits in tests.
    """

    def __init__(
        self,
        listen: str,
        ready: Callable[[], Awaitable[str]],
        posts: Iterable[tuple[str, Handler]] = (),
        gets: Iterable[tuple[str, Handler]] = (),
        *,
        log: Log,
        unauthorized: CountUnauthorized | None = None,
        bodies: Bodies | None = None,
        connections: ConnectionLimits | None = None,
        clock: Seconds = time.monotonic,
    ) -> None:
        self._host, self._port = host_and_port(listen)
        self._ready = ready
        self._refused = RefusedRequests(log, clock, unauthorized)
        self._connections = Connections(connections or ConnectionLimits())
        self._app = web.Application(client_max_size=BODY_LIMIT_BYTES, middlewares=[self._note_refused, _refuse_encoded])
        self._app[BODIES] = bodies or Bodies()
        self._app.router.add_get("/healthz", self._healthz)
        self._app.router.add_get("/readyz", self._readyz)
        for path, handler in posts:
            self._app.router.add_post(path, handler)
        for path, handler in gets:
            self._app.router.add_get(path, handler)
        self._runner: web.AppRunner | None = None
        self._listening: asyncio.Server | None = None

    async def start(self) -> str:
        """Listen, and return the real address (port 0 lets the kernel choose).

        Raises: SettingsError when the address cannot be used.
        """
        # The signature is over the raw body, so it must not be decompressed on the way.
        self._runner = web.AppRunner(
            self._app,
            access_log=None,
            auto_decompress=False,
            shutdown_timeout=SHUTDOWN_SECONDS,
            lingering_time=LINGER_SECONDS,
            logger=_own_errors_logger(),
        )
        await self._runner.setup()
        server = self._runner.server
        assert server is not None
        try:
            self._listening = await asyncio.get_running_loop().create_server(
                lambda: self._connections.accepted(server), self._host, self._port, backlog=BACKLOG
            )
        except OSError as error:
            await self._runner.cleanup()
            raise SettingsError(
                f"Cannot listen on {self._host}:{self._port}: {error.strerror}.", "Set ZOMBIE_LISTEN=127.0.0.1:0"
            ) from error
        host, port = self._listening.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}"

    async def stop(self) -> None:
        """Stop listening."""
        if self._listening is not None:
            self._listening.close()
        if self._runner is not None:
            await self._runner.cleanup()

    @web.middleware
    async def _note_refused(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Note what is answered 401, and keep the connection until the answer is sent."""
        with self._connections.answering(request):
            answer = await handler(request)
        resource = request.match_info.route.resource
        if answer.status == web.HTTPUnauthorized.status_code and resource is not None:
            self._refused.note(resource.canonical, peer_of(request))
        return answer

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.json_response({"alive": True})

    async def _readyz(self, _: web.Request) -> web.Response:
        not_ready = await self._ready()
        if not_ready:
            return web.json_response({"ready": False, "because": not_ready}, status=503)
        return web.json_response({"ready": True})


@web.middleware
async def _refuse_encoded(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse compressed bodies: signatures are over the raw bytes, and a small body could unpack to gigabytes."""
    if request.headers.get("Content-Encoding"):
        return web.Response(status=415, text="no Content-Encoding is accepted")
    return await handler(request)


def _own_errors_logger() -> logging.Logger:
    """Return aiohttp's logger without clients' faults: anybody who reaches the port could fill the log."""

    def ours(record: logging.LogRecord) -> bool:
        error: Any = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, HttpProcessingError | web.RequestPayloadError | ConnectionError)

    logger = logging.getLogger("aiohttp.server.edge")
    logger.filters = [ours]
    return logger


# --- Requests with bad credentials: each is counted, but a flood of them does not fill the log


SAID_EVERY_SECONDS = 60.0
MOST_PEERS = 1000
CountUnauthorized: TypeAlias = Callable[[str], None]  # counts a request answered 401, by the path of its route


@dataclass(slots=True, eq=False)
class RefusedRequests:
    """Counts every request answered 401, and logs each peer once a minute at most."""

    log: Log
    clock: Seconds
    count: CountUnauthorized | None = None
    _said: dict[str, float] = field(default_factory=dict)  # peers that were logged, and when; the earliest first
    _unsaid: int = 0

    def note(self, path: str, peer: str) -> None:
        """Note a refused request."""
        if self.count is not None:
            self.count(path)
        now = self.clock()
        while self._said and now - next(iter(self._said.values())) >= SAID_EVERY_SECONDS:
            del self._said[next(iter(self._said))]
        if peer in self._said or len(self._said) >= MOST_PEERS:
            self._unsaid += 1
            return
        self._said[peer] = now
        # How many requests, of any peer, were not logged since the previous line.
        self.log("request_refused", path=path, peer=peer, because="bad credentials", others=self._unsaid)
        self._unsaid = 0
