"""A web server on loopback, whose address is known before there is anything to serve."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from aiohttp import web

HOST = "127.0.0.1"


@contextmanager
def opened(port: int) -> Iterator[tuple[socket.socket, str]]:
    """Open a port, 0 for any free one, for the length of a block; its origin is what browsers call it."""
    with socket.create_server((HOST, port)) as door:
        yield door, f"http://{HOST}:{door.getsockname()[1]}"


@asynccontextmanager
async def served(app: web.Application, door: socket.socket) -> AsyncIterator[None]:
    """Serve an application there for the length of a block."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.SockSite(runner, door).start()
        yield
    finally:
        await runner.cleanup()
