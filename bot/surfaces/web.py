"""The web edge: is the bot alive, is it ready for work, and where others reach it by HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from aiohttp import web

from bot.domain.errors import SettingsError

BODY_LIMIT_BYTES = 256 * 1024
SHUTDOWN_SECONDS = 2.0  # for requests that are being answered when the bot is told to stop

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


class WebEdge:
    """One port. `ready` tells why the bot takes no work, or nothing when it does."""

    def __init__(
        self,
        listen: str,
        ready: Callable[[], Awaitable[str]],
        posts: Iterable[tuple[str, Handler]] = (),
        gets: Iterable[tuple[str, Handler]] = (),
    ) -> None:
        self._host, self._port = _address(listen)
        self._ready = ready
        self._app = web.Application(client_max_size=BODY_LIMIT_BYTES, middlewares=[_as_it_was_signed])
        self._app.router.add_get("/healthz", self._healthz)
        self._app.router.add_get("/readyz", self._readyz)
        for path, handler in posts:
            self._app.router.add_post(path, handler)
        for path, handler in gets:
            self._app.router.add_get(path, handler)
        self._runner: web.AppRunner | None = None

    async def start(self) -> str:
        """Listen, and return the real address (port 0 takes one from the kernel).

        Raises: SettingsError when the address cannot be had.
        """
        # The raw body is what is signed: it must not be unpacked on the way.
        self._runner = web.AppRunner(
            self._app, access_log=None, auto_decompress=False, shutdown_timeout=SHUTDOWN_SECONDS
        )
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._port).start()
        except OSError as error:
            await self._runner.cleanup()
            raise SettingsError(
                f"Cannot listen on {self._host}:{self._port}: {error.strerror}.", "Set ZOMBIE_LISTEN=127.0.0.1:0"
            ) from error
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}"

    async def stop(self) -> None:
        """Stop listening."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.json_response({"alive": True})

    async def _readyz(self, _: web.Request) -> web.Response:
        why_not = await self._ready()
        if why_not:
            return web.json_response({"ready": False, "because": why_not}, status=503)
        return web.json_response({"ready": True})


@web.middleware
async def _as_it_was_signed(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse what is packed: a signature is over the bytes that came, and who unpacks them can be made to swell."""
    if request.headers.get("Content-Encoding"):
        return web.Response(status=415, text="no Content-Encoding is taken")
    return await handler(request)


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    if not port.isdigit() or not 0 <= int(port) <= 65535:
        raise SettingsError(f"{listen!r} is not an address to listen on.", "Write it as 127.0.0.1:8080")
    return host.strip("[]") or "127.0.0.1", int(port)
