"""The server side of the PagerDuty page: its files, its data, and what a person does there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from bot.demo.page_files import PageFiles
from bot.demo.pagerduty.account import Account, Alert, Incident, Json
from bot.demo.pagerduty.rest_json import instant_json
from bot.demo.pagerduty.webhooks import Webhooks
from bot.demo.slack.page_guard import PageGuard

FOLDER = Path(__file__).parent / "page"
MOST_SHOWN = 100
MOST_ALERTS = 20  # of an incident
NOTE = 10_000  # characters of what a person writes


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An alert that a click can fire: its name on the page, and its title and details in PagerDuty."""

    name: str
    title: str
    details: Mapping[str, Any]


class Page:
    """Serves the page. Whoever has the token acts as the person on call.

    Shape: `elsewhere` are other pages to look at, by their names.
    """

    def __init__(self, account: Account, webhooks: Webhooks, guard: PageGuard) -> None:
        self.suggestions: tuple[Suggestion, ...] = ()
        self.elsewhere: tuple[tuple[str, str], ...] = ()
        self._account = account
        self._webhooks = webhooks
        self._files = PageFiles(FOLDER, guard)

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        return [
            *self._files.routes(),
            web.get("/page/incidents/{id}", self._files.index),
            web.get("/page/pages", self._incidents_json),
            web.post("/page/{act:fire|acknowledge|resolve|reopen|note}", self._handle_click),
        ]

    def fire(self, suggestion: Suggestion) -> Incident:
        """Fire an alert."""
        return self._account.trigger(suggestion.title, dict(suggestion.details))

    async def _incidents_json(self, _: web.Request) -> web.Response:
        newest = list(self._account.incidents.values())[::-1][:MOST_SHOWN]
        return web.json_response(
            {
                "suggestions": [suggestion.name for suggestion in self.suggestions],
                "elsewhere": dict(self.elsewhere),
                "me": self._account.person.name,
                "pages": [self._incident_json(incident) for incident in newest],
                "says": self._webhooks_words(),
            }
        )

    def _webhooks_words(self) -> str:
        lines = [
            f"Webhooks go to {subscription.url}"
            if subscription.is_listening
            else "The webhook subscription is disabled: no webhook is sent."
            for subscription in self._webhooks.subscriptions.values()
        ]
        return " ".join(lines) or "There is no webhook subscription."

    def _incident_json(self, incident: Incident) -> Json:
        by = incident.acknowledged_by
        return {
            "id": incident.id,
            "number": incident.number,
            "title": incident.title,
            "status": incident.status,
            "urgency": incident.urgency,
            "service": incident.service.name,
            "created_at": instant_json(incident.created_at),
            "acknowledged_by": by.name if by is not None and incident.status == "acknowledged" else "",
            "assigned_to": self._account.person.name if incident.status != "resolved" else "",
            "alerts": len(incident.alerts),
            "signals": [_signal(alert) for alert in incident.alerts[:MOST_ALERTS]],
            "notes": [
                {
                    "id": note.id,
                    "by": note.user.name,
                    "content": note.content,
                    "at": instant_json(note.created_at),
                    "edited": note.updated_at != note.created_at,
                }
                for note in incident.notes
            ],
            "log": [
                {
                    "kind": happened.kind.removeprefix("incident."),
                    "by": happened.agent.name if happened.agent is not None else "",
                    "at": instant_json(happened.at),
                    "note": happened.note.id if happened.note is not None else "",
                }
                for happened in incident.log
            ],
        }

    async def _handle_click(self, request: web.Request) -> web.Response:
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType
        try:
            given = await request.json()
            page = self._apply_click(request.match_info["act"], given)
        except (KeyError, IndexError, TypeError, ValueError, json.JSONDecodeError) as error:
            raise web.HTTPBadRequest(text=f"not understood: {error!r}") from error
        return web.json_response({"ok": True, "page": page.id})

    def _apply_click(self, act: str, given: Mapping[str, Any]) -> Incident:
        """Do what the person clicked, and return the incident that it was done to."""
        if act == "fire":
            return self.fire(self.suggestions[int(given["number"])])
        incident = self._account.incidents[given["page"]]
        if act == "note":
            content = str(given["content"]).strip()[:NOTE]
            if not content:
                raise ValueError("an empty note")
            self._account.annotate(incident, content, self._account.person)
        else:
            getattr(self._account, act)(incident, self._account.person)
        return incident


def _signal(alert: Alert) -> Json:
    details = alert.details if isinstance(alert.details, Mapping) else {"details": alert.details or alert.mail}
    return {
        "summary": alert.summary,
        "severity": alert.severity,
        "status": alert.status,
        "details": {
            str(name): value if isinstance(value, str) else json.dumps(value)
            for name, value in details.items()
            if value
        },
    }
