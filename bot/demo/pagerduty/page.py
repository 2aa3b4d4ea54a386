"""The page's own server side: its files, what stands in PagerDuty, and what a person does there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from bot.demo.pagerduty.account import Account, Incident, Json
from bot.demo.pagerduty.webhooks import Webhooks
from bot.demo.slack.page_guard import PageGuard

FOLDER = Path(__file__).parent / "page"
KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
MOST_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An alert that can be fired by a click: what it is called there, and what PagerDuty is told."""

    name: str
    title: str
    details: Mapping[str, Any]


class Page:
    """Serves the page; whoever has its token is the person on call."""

    def __init__(self, account: Account, webhooks: Webhooks, guard: PageGuard) -> None:
        self.suggestions: tuple[Suggestion, ...] = ()
        self._account = account
        self._webhooks = webhooks
        self._guard = guard

    def routes(self) -> list[web.RouteDef]:
        """Return what the server is to answer."""
        return [
            web.get("/", self._index),
            web.get("/static/{name}", self._static),
            web.get("/page/pages", self._pages),
            web.post("/page/{act:fire|acknowledge|resolve|reopen}", self._act),
        ]

    def fire(self, suggestion: Suggestion) -> Incident:
        """Have an alert fire."""
        return self._account.trigger(suggestion.title, dict(suggestion.details))

    async def _index(self, request: web.Request) -> web.Response:
        response = web.Response(body=(FOLDER / "index.html").read_bytes(), content_type="text/html", charset="utf-8")
        if self._guard.has_token(request):
            self._guard.remember(response)
        return response

    async def _static(self, request: web.Request) -> web.Response:
        path = FOLDER / request.match_info["name"]
        if path.parent != FOLDER or path.suffix not in KINDS or not path.is_file():
            raise web.HTTPNotFound
        return web.Response(body=path.read_bytes(), content_type=KINDS[path.suffix], charset="utf-8")

    async def _pages(self, _: web.Request) -> web.Response:
        newest = list(self._account.incidents.values())[::-1][:MOST_SHOWN]
        return web.json_response(
            {
                "suggestions": [one.name for one in self.suggestions],
                "pages": [self._shown(one) for one in newest],
                "says": self._says(),
            }
        )

    def _says(self) -> str:
        told = [
            f"Webhooks go to {one.url}"
            if one.is_listening
            else "The webhook subscription is disabled: nothing is brought."
            for one in self._webhooks.subscriptions.values()
        ]
        return " ".join(told) or "Nobody has subscribed to webhooks."

    @staticmethod
    def _shown(one: Incident) -> Json:
        return {
            "id": one.id,
            "number": one.number,
            "title": one.title,
            "status": one.status,
            "service": one.service.name,
            "alerts": len(one.alerts),
            "notes": [
                {"by": note.user.name, "content": note.content, "edited": note.updated_at != note.created_at}
                for note in one.notes
            ],
        }

    async def _act(self, request: web.Request) -> web.Response:
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType
        try:
            given = await request.json()
            act = request.match_info["act"]
            if act == "fire":
                self.fire(self.suggestions[int(given["number"])])
            else:
                incident = self._account.incidents[given["page"]]
                getattr(self._account, act)(incident, self._account.person)
        except (KeyError, IndexError, TypeError, ValueError, json.JSONDecodeError) as error:
            raise web.HTTPBadRequest(text=f"not understood: {error!r}") from error
        return web.json_response({"ok": True})
