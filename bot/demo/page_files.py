"""Serves the files of a simulated service's web page, and sets the session cookie on the first visit."""

from __future__ import annotations

from pathlib import Path

from aiohttp import web

from bot.demo.slack.page_guard import PageGuard

KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


class PageFiles:
    """Serves a folder: `index.html`, its scripts, styles and pictures."""

    def __init__(self, folder: Path, guard: PageGuard) -> None:
        self._folder = folder
        self._guard = guard

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        return [web.get("/", self.index), web.get("/static/{name}", self._static)]

    async def index(self, request: web.Request) -> web.Response:
        """Serve the page."""
        page = (self._folder / "index.html").read_bytes()
        response = web.Response(body=page, content_type="text/html", charset="utf-8")
        if self._guard.has_token(request):
            self._guard.remember(response)
        return response

    async def _static(self, request: web.Request) -> web.Response:
        path = self._folder / request.match_info["name"]
        if path.parent != self._folder or path.suffix not in KINDS or not path.is_file():
            raise web.HTTPNotFound
        return web.Response(body=path.read_bytes(), content_type=KINDS[path.suffix], charset="utf-8")
