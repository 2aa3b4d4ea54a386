"""PagerDuty's REST API v2 and Events API v2 over HTTP, with their headers, rate limits and faults."""

from __future__ import annotations

import asyncio
import json
import math
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from aiohttp import web

from bot.demo.pagerduty.account import Account, RandomBytes
from bot.demo.pagerduty.answers import Answers, Refusal
from bot.demo.pagerduty.faults import Fault, Faults
from bot.demo.pagerduty.forms import error
from bot.demo.pagerduty.webhooks import Webhooks

LIMIT = 960  # calls a minute with a token
MINUTE = timedelta(minutes=1)
MOST_REMEMBERED = 20_000
VERSION = "application/vnd.pagerduty+json;version=2"
Answer: TypeAlias = Callable[[web.Request, Any], Any]


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call that was made. `status` is 0 if the answer was lost."""

    call: str
    method: str
    path: str
    body: Any
    at: datetime
    status: int


class RateLimit:
    """Counts the calls of the last minute."""

    def __init__(self, clock: Callable[[], datetime], calls: int = LIMIT) -> None:
        self.calls = calls
        self._clock = clock
        self._made: deque[datetime] = deque()

    def take(self) -> tuple[bool, Mapping[str, str]]:
        """Count a call. Return whether it is within the limit, and the rate limit headers."""
        now = self._clock()
        while self._made and now - self._made[0] >= MINUTE:
            self._made.popleft()
        is_within = len(self._made) < self.calls
        if is_within:
            self._made.append(now)
        reset = math.ceil((MINUTE - (now - self._made[0])).total_seconds()) if self._made else 0
        left = max(0, self.calls - len(self._made))
        return is_within, {
            "ratelimit-limit": str(self.calls),
            "ratelimit-remaining": str(left),
            "ratelimit-reset": str(reset),
        }


class RestApi:
    """Answers every call. `asked` are the calls so far."""

    def __init__(self, account: Account, webhooks: Webhooks, random_bytes: RandomBytes, limit: int) -> None:
        self.token = f"u+{random_bytes(10).hex()}"
        self.asked: deque[RecordedCall] = deque(maxlen=MOST_REMEMBERED)
        self.faults = Faults()
        self.limit = RateLimit(account.clock, limit)
        self.closing = asyncio.Event()
        self._account = account
        self._answers = Answers(account, webhooks)

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        rest = [
            web.route(method, path, self._rest(call, answer)) for method, path, call, answer in self._answers.table()
        ]
        return [*rest, web.post("/v2/enqueue", self._recorded("enqueue", self._enqueue))]

    def _recorded(
        self, call: str, answer: Callable[[web.Request, Any], Awaitable[web.Response]]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        """Wrap a handler: apply the call's fault, and record the call."""

        async def handle(request: web.Request) -> web.Response:
            fault = self.faults.take(call)
            body = _read(await request.read())
            response = await self._apply_fault(fault)
            if response is None:
                response = await answer(request, body)
            status = response.status
            if fault is not None and fault.is_silent:
                status = 0
                if request.transport is not None:
                    request.transport.abort()
            self.asked.append(RecordedCall(call, request.method, request.path, body, self._account.clock(), status))
            self._account.changes.wake()
            return response

        return handle

    async def _apply_fault(self, fault: Fault | None) -> web.Response | None:
        """Apply a fault. None: the call goes on."""
        if fault is None or fault.is_after_effect:
            return None
        if fault.wait:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.closing.wait(), fault.wait.total_seconds())
            return None
        if fault.is_silent:
            return web.Response()
        if fault.status == 429:
            return web.json_response(error("Rate Limit Exceeded", 2020), status=429, headers=dict(fault.headers))
        return web.Response(text="<html>Something went wrong</html>", content_type="text/html", status=fault.status)

    def _rest(self, call: str, answer: Answer) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request, body: Any) -> web.Response:
            if request.headers.get("Authorization") != f"Token token={self.token}":
                return web.json_response(error("Unauthorized", 2006), status=401)
            is_within, headers = self.limit.take()
            if not is_within:
                return web.json_response(error("Rate Limit Exceeded", 2020), status=429, headers=headers)
            try:
                self._check(request, call, body)
                status, document = answer(request, body)
            except Refusal as no:
                return web.json_response(error(no.message, no.code, *no.errors), status=no.status, headers=headers)
            if document is None:
                return web.Response(status=status, headers=headers)
            return web.json_response(document, status=status, headers=headers)

        return self._recorded(call, handle)

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

    async def _enqueue(self, request: web.Request, body: Any) -> web.Response:
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


def _read(raw: bytes) -> Any:
    try:
        body = json.loads(raw) if raw else None
    except ValueError:
        return None
    return body if isinstance(body, dict) else None
