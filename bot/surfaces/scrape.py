"""Who may read the metrics: this machine, and whoever has the token."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web

_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via")


class Scrape:
    """Answers a scraper. Without a token of ours only this machine is answered, and nothing that came through a proxy.

    Shape: `exposition` is given the Accept header, and returns a body and its content type.
    """

    def __init__(self, token: str, exposition: Callable[[str], Awaitable[tuple[bytes, str]]]) -> None:
        self._token = token
        self._exposition = exposition

    async def answer(self, request: web.Request) -> web.Response:
        """Answer one scrape: 401 for a token that is not ours, 403 from elsewhere where there is none."""
        if not self._has_token(request) and not _is_from_here(request):
            if not self._token:
                return web.Response(status=403, text="from this machine only, or with ZOMBIE_METRICS_TOKEN")
            return web.Response(status=401, text="a bearer token is needed", headers={"WWW-Authenticate": "Bearer"})
        body, content_type = await self._exposition(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type, "Cache-Control": "no-store"})

    def _has_token(self, request: web.Request) -> bool:
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        known = bool(self._token) and scheme.lower() == "bearer"
        return known and hmac.compare_digest(given.strip().encode(), self._token.encode())


def _is_from_here(request: web.Request) -> bool:
    """True for a request of this machine's own. A proxy here brings others', and a web page may name us by its host."""
    if "Authorization" in request.headers or any(name in request.headers for name in _FORWARDED):
        return False
    return _is_loopback(request.remote or "") and _is_loopback(_host(request))


def _host(request: web.Request) -> str:
    try:
        return urlsplit(f"//{request.host}").hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None  # as `::` hears of IPv4
    return (mapped or address).is_loopback
