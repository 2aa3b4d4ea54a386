"""The files of a simulated service's page, and the cookie that whoever comes with the run's token is given."""

from __future__ import annotations

from pathlib import Path

from aiohttp import web

from bot.demo.slack.page_guard import PageGuard

KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


class PageFiles:
    """Serves a folder: `index.html` as the page, scripts, styles and pictures beside it, and nothing else."""

    def __init__(self, folder: Path, guard: PageGuard) -> None:
        self._folder = folder
        self._guard = guard

    def routes(self) -> list[web.RouteDef]:
        """Return what the server is to answer."""
        return [web.get("/", self.index), web.get("/static/{name}", self._static)]

    async def index(self, request: web.Request) -> web.Response:
        """Answer with the page."""
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
