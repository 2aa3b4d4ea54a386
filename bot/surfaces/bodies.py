"""Half-read request bodies: a slow sender never takes a fast sender's place.

The signature is over the body's bytes, so a sender is known only once the body is here. So no request is refused at
first: when there is no room for another half-read body, the body that has taken longest is dropped. A genuine delivery
takes milliseconds and is never dropped, not even behind a proxy, where all senders share an address.
"""

from __future__ import annotations

import asyncio
import ipaddress

from aiohttp import web

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


async def body_of(request: web.Request) -> bytes:
    """Return a request's whole body within the web edge's limits; raises what `Bodies.read` does."""
    return await request.app[BODIES].read(request)
