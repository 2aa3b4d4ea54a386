"""The server side of the PagerDuty page: its files, its data, and what a person does there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from bot.demo.page_files import PageFiles
from bot.demo.pagerduty.account import Account, Incident, Json
from bot.demo.pagerduty.webhooks import Webhooks
from bot.demo.slack.page_guard import PageGuard

FOLDER = Path(__file__).parent / "page"
MOST_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An alert that a click can fire: its name on the page, and its title and details in PagerDuty."""

    name: str
    title: str
    details: Mapping[str, Any]


class Page:
    """Serves the page. Whoever has the token acts as the person on call."""

    def __init__(self, account: Account, webhooks: Webhooks, guard: PageGuard) -> None:
        self.suggestions: tuple[Suggestion, ...] = ()
        self._account = account
        self._webhooks = webhooks
        self._files = PageFiles(FOLDER, guard)

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        return [
            *self._files.routes(),
            web.get("/page/pages", self._pages),
            web.post("/page/{act:fire|acknowledge|resolve|reopen}", self._act),
        ]

    def fire(self, suggestion: Suggestion) -> Incident:
        """Fire an alert."""
        return self._account.trigger(suggestion.title, dict(suggestion.details))

    async def _pages(self, _: web.Request) -> web.Response:
        newest = list(self._account.incidents.values())[::-1][:MOST_SHOWN]
        return web.json_response(
            {
                "suggestions": [suggestion.name for suggestion in self.suggestions],
                "pages": [self._shown(incident) for incident in newest],
                "says": self._says(),
            }
        )

    def _says(self) -> str:
        lines = [
            f"Webhooks go to {subscription.url}"
            if subscription.is_listening
            else "The webhook subscription is disabled: no webhook is sent."
            for subscription in self._webhooks.subscriptions.values()
        ]
        return " ".join(lines) or "There is no webhook subscription."

    @staticmethod
    def _shown(incident: Incident) -> Json:
        return {
            "id": incident.id,
            "number": incident.number,
            "title": incident.title,
            "status": incident.status,
            "service": incident.service.name,
            "alerts": len(incident.alerts),
            "notes": [
                {"by": note.user.name, "content": note.content, "edited": note.updated_at != note.created_at}
                for note in incident.notes
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
