"""What strangers can make the web edge hold: connections, and half-read request bodies, each for a time.

A connection that sends no request in time is closed: aiohttp gives it an hour for its first byte and for the last of
its headers, and any number of them.

A slow sender of a body never takes a fast sender's place. The signature is over the body's bytes, so a sender is known
only once the body is here. So no request is refused at first: when there is no room for another half-read body, the
body that has taken longest is dropped. A genuine delivery takes milliseconds and is never dropped, not even behind a
proxy, where all senders share an address.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass

from aiohttp import web

HEADER_SECONDS = 10.0
IDLE_SECONDS = 75.0  # longer than a load balancer's: it must close first, or a request may meet a closed connection
MOST_CONNECTIONS = 400  # of the 1024 files that a process may usually have open, and nodes need some
BODY_SECONDS = 5.0
MOST_COMING = 128  # half-read bodies of all senders; at 256 KiB each that is 32 MB
MOST_OF_A_PEER = 64
AGAIN_SECONDS = "5"
# The outcome that is counted for a body that was not read, by the status answered.
UNREAD = {
    web.HTTPBadRequest.status_code: "aborted",
    web.HTTPRequestEntityTooLarge.status_code: "too-large",
    web.HTTPServiceUnavailable.status_code: "slow",
}
_NETWORK_BITS = 64  # of an IPv6 address: the network of a single customer


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How long a connection may take for request headers and stay open after an answer; how many there may be."""

    header_seconds: float = HEADER_SECONDS
    idle_seconds: float = IDLE_SECONDS
    most: int = MOST_CONNECTIONS


class Connections:
    """All open connections. Where there is no room for another, the longest idle connection is cut."""

    def __init__(self, limits: ConnectionLimits = ConnectionLimits()) -> None:
        self._limits = limits
        self._quiet: dict[Connection, None] = {}  # connections without a request, the longest idle first
        self._busy: set[Connection] = set()

    def accepted(self, server: web.Server) -> Connection:
        """Return the protocol of a new connection, with an aiohttp server behind it."""
        return Connection(server(), self, self._limits)

    @contextlib.contextmanager
    def answering(self, request: web.Request) -> Iterator[None]:
        """Keep a request's connection open while the block runs."""
        connection = request.transport.get_protocol() if request.transport is not None else None
        if not isinstance(connection, Connection):
            yield
            return
        self._quiet.pop(connection, None)
        self._busy.add(connection)
        connection.wait(None)
        try:
            yield
        finally:
            self._busy.discard(connection)
            if not connection.is_lost:
                self._quiet[connection] = None
                connection.wait(self._limits.idle_seconds)

    def try_add(self, connection: Connection) -> bool:
        """Take another connection in; False where all others are being answered."""
        if len(self._quiet) + len(self._busy) >= self._limits.most:
            if not self._quiet:
                return False
            longest = next(iter(self._quiet))
            del self._quiet[longest]
            longest.cut()
        self._quiet[connection] = None
        return True

    def forget(self, connection: Connection) -> None:
        """Forget a connection that is gone."""
        self._quiet.pop(connection, None)
        self._busy.discard(connection)


class Connection(asyncio.Protocol):
    """A connection: its events go on to `handler` until its time is up."""

    def __init__(self, handler: asyncio.Protocol, all_of_them: Connections, limits: ConnectionLimits) -> None:
        self._handler = handler
        self._all = all_of_them
        self._limits = limits
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._between = False  # between two requests
        self._is_refused = False
        self.is_lost = False

    def wait(self, seconds: float | None) -> None:
        """Cut it after so many seconds; None: not before `wait` is called again."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else asyncio.get_running_loop().call_later(seconds, self.cut)
        self._between = seconds is not None

    def cut(self) -> None:
        """Close the connection without an answer."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the time for the first request."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if not self._all.try_add(self):
            self._is_refused = True
            self.cut()
            return
        self.wait(self._limits.header_seconds)
        self._between = False
        self._handler.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Pass it on; the first bytes after an answer start the time for the next request's headers."""
        if self._is_refused:
            return
        if self._between:
            self.wait(self._limits.header_seconds)
            self._between = False
        self._handler.data_received(data)

    def eof_received(self) -> bool | None:
        """Close too: a client that closed its side gets no answer."""
        return None if self._is_refused else self._handler.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self.wait(None)
        self.is_lost = True
        self._all.forget(self)
        if not self._is_refused:
            self._handler.connection_lost(exc)

    def pause_writing(self) -> None:
        """Pass it on."""
        self._handler.pause_writing()

    def resume_writing(self) -> None:
        """Pass it on."""
        self._handler.resume_writing()


class Bodies:
    """Reads the bodies of requests, each within `seconds`.

    Shape: `most` may be half-read at once, `most_of_a_peer` of them from the same address.
    """

    def __init__(
        self, seconds: float = BODY_SECONDS, most: int = MOST_COMING, most_of_a_peer: int = MOST_OF_A_PEER
    ) -> None:
        self._seconds = seconds
        self._most = most
        self._most_of_a_peer = most_of_a_peer
        self._coming: dict[asyncio.Timeout, str] = {}  # whose bodies these are, the longest under way first

    async def read(self, request: web.Request) -> bytes:
        """Return the whole body.

        Raises: HTTPServiceUnavailable when it is too slow or dropped to make room, HTTPBadRequest when it breaks off
        or is no valid HTTP, HTTPRequestEntityTooLarge.
        """
        peer = peer_of(request)
        limit = asyncio.timeout(self._seconds)
        try:
            async with limit:
                if not request.content.is_eof():
                    self._make_room(peer)
                    self._coming[limit] = peer
                return await request.read()
        except TimeoutError:
            again = {"Retry-After": AGAIN_SECONDS}
            raise web.HTTPServiceUnavailable(text="the body did not come", headers=again) from None
        except (ConnectionError, web.RequestPayloadError):
            raise web.HTTPBadRequest(text="the body broke off") from None
        finally:
            self._coming.pop(limit, None)

    def _make_room(self, peer: str) -> None:
        theirs = [limit for limit, whose in self._coming.items() if whose == peer]
        if len(theirs) >= self._most_of_a_peer:
            self._end(theirs[0])
        elif len(self._coming) >= self._most:
            self._end(next(iter(self._coming)))

    def _end(self, limit: asyncio.Timeout) -> None:
        del self._coming[limit]
        if not limit.expired():
            limit.reschedule(asyncio.get_running_loop().time())


def peer_of(request: web.Request) -> str:
    """Return who sends a request: the address; of IPv6 the network, because a customer has all addresses in it."""
    address = request.remote or ""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    mapped = found.ipv4_mapped
    return str(mapped or ipaddress.ip_network((found, _NETWORK_BITS), strict=False))


BODIES = web.AppKey("bodies", Bodies)


async def read_request_body(request: web.Request) -> bytes:
    """Return a request's whole body within the web edge's limits; raises what `Bodies.read` does."""
    return await request.app[BODIES].read(request)
