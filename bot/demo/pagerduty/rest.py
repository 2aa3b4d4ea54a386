"""PagerDuty's REST API v2 and Events API v2 over HTTP, with their headers."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from aiohttp import web

from bot.demo.pagerduty import rest_json
from bot.demo.pagerduty.account import Account, Alert, Incident, Json, RandomBytes
from bot.demo.pagerduty.webhooks import Webhooks

VERSION = "application/vnd.pagerduty+json;version=2"
Reply: TypeAlias = tuple[int, Json | None]
Answer: TypeAlias = Callable[[web.Request, Any], Reply]
MOST_NOTES = 2000
NOTE = 25_000  # characters; PagerDuty documents no limit


class Refusal(Exception):
    """An error answer of the API."""

    def __init__(self, status: int, message: str, code: int, *errors: str) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.errors = status, message, code, errors


class RestApi:
    """Answers every call. A route's name is its call's."""

    def __init__(self, account: Account, webhooks: Webhooks, random_bytes: RandomBytes) -> None:
        self.token = f"u+{random_bytes(10).hex()}"
        self._account = account
        self._webhooks = webhooks

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        incident, notes, fields = "/incidents/{id}", "/incidents/{id}/notes", "/incidents/{id}/custom_fields/values"
        subscription = "/webhook_subscriptions/{id}"
        calls: tuple[tuple[str, str, str, Answer], ...] = (
            ("GET", "/incidents", "incidents", self._incidents),
            (
                "GET",
                incident,
                "incident",
                lambda request, _: (200, {"incident": self._incident_json(self._incident(request), request)}),
            ),
            ("PUT", incident, "update_incident", self._update_incident),
            ("GET", f"{incident}/alerts", "alerts", self._alerts),
            ("GET", notes, "notes", self._notes),
            ("POST", notes, "add_note", self._add_note),
            ("PUT", f"{notes}/{{note}}", "edit_note", self._edit_note),
            ("GET", fields, "fields", lambda request, _: (200, self._fields(self._incident(request)))),
            ("PUT", fields, "set_fields", self._set_fields),
            ("GET", "/log_entries/{id}", "log_entry", self._log_entry),
            ("GET", "/users/{id}", "user", self._user),
            ("GET", "/webhook_subscriptions", "subscriptions", self._subscriptions),
            ("POST", f"{subscription}/ping", "ping", self._ping),
        )
        rest = (web.route(method, path, self._rest(call, answer), name=call) for method, path, call, answer in calls)
        return [*rest, web.post("/v2/enqueue", self._enqueue, name="enqueue")]

    def _rest(self, call: str, answer: Answer) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            if request.headers.get("Authorization") != f"Token token={self.token}":
                return web.json_response(rest_json.error_json("Unauthorized", 2006), status=401)
            body = read_body(await request.read())
            try:
                self._check(request, call, body)
                status, document = answer(request, body)
            except Refusal as no:
                return web.json_response(rest_json.error_json(no.message, no.code, *no.errors), status=no.status)
            return web.Response(status=status) if document is None else web.json_response(document, status=status)

        return handle

    def _check(self, request: web.Request, call: str, body: Any) -> None:
        """Check the headers that PagerDuty requires."""
        if request.headers.get("Accept") != VERSION and not call.startswith("subscription"):
            raise Refusal(400, "Invalid Input Provided", 2001, "Accept must name version 2")
        if request.method in ("GET", "DELETE"):
            return
        if call in ("add_note", "edit_note", "update_incident"):
            sender = request.headers.get("From", "")
            if not any(user.email == sender for user in self._account.users.values()):
                raise Refusal(400, "Invalid Input Provided", 2001, "Requester User Not Found")
        if call not in ("enable", "ping") and (request.content_type != "application/json" or body is None):
            raise Refusal(400, "Invalid Input Provided", 2001, "the body is no JSON object")

    async def _enqueue(self, request: web.Request) -> web.Response:
        body = read_body(await request.read())
        payload = body.get("payload") if isinstance(body, dict) else None
        action = body.get("event_action") if isinstance(body, dict) else None
        problems = []
        if action not in ("trigger", "acknowledge", "resolve"):
            problems.append("'event_action' is missing or invalid")
        if action == "trigger" and not (isinstance(payload, dict) and payload.get("summary") and payload.get("source")):
            problems.append("'payload.summary' and 'payload.source' are required")
        if action == "trigger" and isinstance(payload, dict) and len(str(payload.get("summary"))) > 1024:
            problems.append("'payload.summary' is too long")
        key = str((body or {}).get("dedup_key") or self._account.new_id("D", 20)) if not problems else ""
        if len(key) > 255:
            problems.append("'dedup_key' is too long")
        known = {service.routing_key for service in self._account.services.values()}
        if not problems and body.get("routing_key") not in known:
            problems.append("'routing_key' is invalid")
        if problems:
            answer = {"status": "invalid event", "message": "Event object is invalid", "errors": problems}
            return web.json_response(answer, status=400)
        self._account.enqueue(body["routing_key"], str(action), key, payload or {})
        answer = {"status": "success", "message": "Event processed", "dedup_key": key}
        return web.json_response(answer, status=202)

    # --- incidents

    def _incident(self, request: web.Request) -> Incident:
        found = self._account.incidents.get(request.match_info["id"])
        if found is None:
            raise Refusal(404, "Not Found", 2100)
        return found

    def _incident_json(self, incident: Incident, request: web.Request) -> Json:
        found = rest_json.incident_json(
            incident, self._account.web, "first_trigger_log_entries" in request.query.getall("include[]", [])
        )
        return found if self._account.counts_alerts else {key: found[key] for key in found if key != "alert_counts"}

    def _incidents(self, request: web.Request, _: Any) -> Reply:
        statuses = request.query.getall("statuses[]", [])
        since = _instant(request.query.get("since"))
        found = [
            incident
            for incident in sorted(
                self._account.incidents.values(), key=lambda incident: (incident.created_at, incident.number)
            )
            if (not statuses or incident.status in statuses) and (since is None or incident.created_at >= since)
        ]
        return 200, _paged("incidents", [self._incident_json(incident, request) for incident in found], request)

    def _update_incident(self, request: web.Request, body: Any) -> Reply:
        incident = self._incident(request)
        status = body.get("incident", {}).get("status")
        if status == "acknowledged":  # this also reopens a resolved incident
            self._account.acknowledge(incident, self._account.bot)
        elif status == "resolved":
            self._account.resolve(incident, self._account.bot)
        return 200, {"incident": self._incident_json(incident, request)}

    def _alerts(self, request: web.Request, _: Any) -> Reply:
        incident = self._incident(request)
        return 200, _paged("alerts", [rest_json.alert_json(alert, incident) for alert in incident.alerts], request)

    def _log_entry(self, request: web.Request, _: Any) -> Reply:
        alerts: Iterable[tuple[Alert, Incident]] = (
            (alert, incident) for incident in self._account.incidents.values() for alert in incident.alerts
        )
        found = next(((alert, incident) for alert, incident in alerts if alert.entry == request.match_info["id"]), None)
        if found is None:
            raise Refusal(404, "Not Found", 2100)
        return 200, {"log_entry": rest_json.log_entry_json(*found, "channels" in request.query.getall("include[]", []))}

    # --- notes and custom fields

    def _notes(self, request: web.Request, _: Any) -> Reply:
        return 200, {
            "notes": [rest_json.note_json(note) for note in reversed(self._incident(request).notes)]
        }  # the newest first

    def _content(self, body: Any) -> str:
        note = body.get("note")
        content = note.get("content") if isinstance(note, dict) else None
        if not isinstance(content, str) or not content.strip():
            raise Refusal(400, "Invalid Input Provided", 2001, "Content cannot be empty.")
        if len(content) > NOTE:
            raise Refusal(400, "Invalid Input Provided", 2001, "Content is too long.")
        return content

    def _add_note(self, request: web.Request, body: Any) -> Reply:
        incident = self._incident(request)
        if len(incident.notes) >= MOST_NOTES:
            raise Refusal(400, "Invalid Input Provided", 2001, "Too many notes.")
        sender = request.headers["From"]
        by = next(user for user in self._account.users.values() if user.email == sender)
        return 200, {"note": rest_json.note_json(self._account.annotate(incident, self._content(body), by))}

    def _edit_note(self, request: web.Request, body: Any) -> Reply:
        incident = self._incident(request)
        note = next((known for known in incident.notes if known.id == request.match_info["note"]), None)
        if note is None:
            raise Refusal(404, "Not Found", 2100)
        self._account.edit(incident, note, self._content(body))
        return 200, {"note": rest_json.note_json(note)}

    def _fields(self, incident: Incident) -> Json:
        rows = [
            {"id": f"PF{number}", "type": "field_value", "name": name, "data_type": "string", "value": value}
            for number, (name, value) in enumerate(incident.fields.items())
        ]
        return {"custom_fields": rows}

    def _set_fields(self, request: web.Request, body: Any) -> Reply:
        incident = self._incident(request)
        rows = body.get("custom_fields")
        if not isinstance(rows, list):
            raise Refusal(400, "Invalid Input Provided", 2001, "custom_fields is missing")
        unknown = [row["name"] for row in rows if row.get("name") not in incident.fields]
        if unknown:
            raise Refusal(404, "Not Found", 2100, f"there is no field {unknown[0]}")
        incident.fields |= {row["name"]: row["value"] for row in rows}
        return 201, self._fields(incident)

    # --- people

    def _user(self, request: web.Request, _: Any) -> Reply:
        found = self._account.users.get(request.match_info["id"])
        if found is None:
            raise Refusal(404, "Not Found", 2100)
        return 200, {"user": rest_json.user_json(found)}

    # --- subscriptions

    def _subscriptions(self, request: web.Request, _: Any) -> Reply:
        forms = [subscription.form() for subscription in self._webhooks.subscriptions.values()]
        return 200, _paged("webhook_subscriptions", forms, request)

    def _ping(self, request: web.Request, _: Any) -> Reply:
        subscription = self._webhooks.subscriptions.get(request.match_info["id"])
        if subscription is None:
            raise Refusal(404, "Not Found", 2100)
        self._webhooks.ping(subscription)
        return 202, None


def read_body(raw: bytes) -> Any:
    """Return a request's JSON object, None where there is none."""
    try:
        body = json.loads(raw) if raw else None
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def _paged(name: str, rows: Sequence[Json], request: web.Request) -> Json:
    """A page of a list, by limit and offset."""
    limit = min(100, int(request.query.get("limit", "25")))
    offset = int(request.query.get("offset", "0"))
    here = list(rows[offset : offset + limit])
    return {name: here, "limit": limit, "offset": offset, "total": None, "more": offset + limit < len(rows)}


def _instant(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
