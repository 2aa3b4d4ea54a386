"""Access control of the page: one browser on this machine, which opened the printed address with its token.

Every request must have the right Host, against DNS rebinding. Every POST and WebSocket of the page must have the right
Origin. Everything after the first visit must have the cookie that the first visit set.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web

from bot.demo.slack.ids import IdGenerator

PAGE_PATHS = ("/page/", "/static/", "/archives/")
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
# Of a page that was uploaded: it has an origin of its own that reaches nothing here, and no network.
UPLOADED = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
Next = Callable[[web.Request], Awaitable[web.StreamResponse]]


class PageGuard:
    """Admits requests with this run's token or cookie, sent to loopback names."""

    def __init__(self, names: IdGenerator, origin: str) -> None:
        self.token = names.secret(24)
        self._session = names.secret(24)
        port = urlsplit(origin).port
        self._hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})
        self._cookie = f"zombie_demo_{port}"  # cookies ignore the port, and two demos must not share a cookie

    @web.middleware
    async def check(self, request: web.Request, handler: Next) -> web.StreamResponse:
        """Refuse forbidden requests, and add the security headers to every response."""
        response = self._refusal(request) or await handler(request)
        if not response.prepared:
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
        return response

    def _refusal(self, request: web.Request) -> web.StreamResponse | None:
        if request.headers.get("Host", "") not in self._hosts:
            return web.Response(text="This server answers to 127.0.0.1 and localhost only.", status=421)
        origin = request.headers.get("Origin")
        is_ours = origin is not None and urlsplit(origin).netloc == request.headers["Host"]
        if not request.path.startswith(PAGE_PATHS) and request.path != "/":
            # The API: a token or a ticket guards it, and browsers have no business there.
            return web.Response(text="Not for browsers.", status=403) if origin is not None else None
        is_acting = request.method != "GET" or "websocket" in request.headers.get("Upgrade", "").lower()
        if (is_acting or origin is not None) and not is_ours:
            return web.Response(text="Not from there.", status=403)
        if self._is_known(request) or (request.path == "/" and self.has_token(request)):
            return None
        return web.Response(text="Open the address that was printed when the demo started.\n", status=401)

    def has_token(self, request: web.Request) -> bool:
        """Return whether the request has the printed token."""
        return hmac.compare_digest(request.query.get("token", "").encode(), self.token.encode())

    def _is_known(self, request: web.Request) -> bool:
        return hmac.compare_digest(request.cookies.get(self._cookie, "").encode(), self._session.encode())

    def remember(self, response: web.Response) -> None:
        """Set the cookie that replaces the token."""
        response.set_cookie(self._cookie, self._session, httponly=True, samesite="Strict", path="/")
