"""PagerDuty's REST API v2 and Events API v2 over HTTP, with their headers."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from aiohttp import web

from bot.demo.pagerduty.account import Account, RandomBytes
from bot.demo.pagerduty.answers import Answers, Refusal
from bot.demo.pagerduty.rest_json import error_json
from bot.demo.pagerduty.webhooks import Webhooks

VERSION = "application/vnd.pagerduty+json;version=2"
Answer: TypeAlias = Callable[[web.Request, Any], Any]


class RestApi:
    """Answers every call. A route's name is its call's."""

    def __init__(self, account: Account, webhooks: Webhooks, random_bytes: RandomBytes) -> None:
        self.token = f"u+{random_bytes(10).hex()}"
        self._account = account
        self._answers = Answers(account, webhooks)

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        rest = (
            web.route(method, path, self._rest(call, answer), name=call)
            for method, path, call, answer in self._answers.table()
        )
        return [*rest, web.post("/v2/enqueue", self._enqueue, name="enqueue")]

    def _rest(self, call: str, answer: Answer) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            if request.headers.get("Authorization") != f"Token token={self.token}":
                return web.json_response(error_json("Unauthorized", 2006), status=401)
            body = read_body(await request.read())
            try:
                self._check(request, call, body)
                status, document = answer(request, body)
            except Refusal as no:
                return web.json_response(error_json(no.message, no.code, *no.errors), status=no.status)
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


def read_body(raw: bytes) -> Any:
    """Return a request's JSON object, None where there is none."""
    try:
        body = json.loads(raw) if raw else None
    except ValueError:
        return None
    return body if isinstance(body, dict) else None
