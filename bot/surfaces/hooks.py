"""Webhooks of sources: authenticated alerts are stored before they are acknowledged, and read later."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import TypeAlias

from aiohttp import web

from bot.domain.alert import Delivery
from bot.domain.contracts import Clock, Log, Seconds
from bot.domain.errors import LedgerError, MalformedDelivery
from bot.domain.safe_text import one_line
from bot.ledger.inbox import Inbox
from bot.sources.source import Webhook
from bot.surfaces.web import Handler
from bot.surfaces.web_limits import AGAIN_SECONDS, UNREAD, read_request_body

MOST_AT_ONCE = 128  # whole requests, of all sources; with bodies of 256 KiB that is 32 MB
SMALL_BODY_BYTES = 16 * 1024  # a larger body is parsed in a thread, so that no other answer waits for it
Counted: TypeAlias = Callable[[str, str, float], None]  # a source, the outcome of its request, and the seconds it took


@dataclass(slots=True, eq=False)
class Hooks:
    """Answers sources: 202 once a delivery is stored, also when repeated; 401 only for bad credentials.

    Shape: the bot's own trouble is 503, so that sources try again; PagerDuty drops a delivery answered 4xx, and after
    three of those disables the webhook. `arrivals` is set when something new was stored.
    """

    inbox: Inbox
    now: Clock
    log: Log
    arrivals: asyncio.Event
    counted: Counted | None = None
    clock: Seconds = time.monotonic
    _: KW_ONLY
    most_at_once: int = MOST_AT_ONCE
    _inside: int = 0

    def posts(self, sources: Iterable[Webhook]) -> list[tuple[str, Handler]]:
        """Return the routes of these sources, for the web edge."""
        return [(source.path, self._taking(source)) for source in sources]

    def _taking(self, source: Webhook) -> Handler:
        async def take(request: web.Request) -> web.StreamResponse:
            began = self.clock()
            outcome, answer = "failed", web.Response(status=500)
            try:
                outcome, answer = await self._take(source, request)
            except web.HTTPException as no:
                outcome = UNREAD.get(no.status_code, outcome)
                raise
            finally:
                if self.counted is not None:
                    self.counted(source.kind, outcome, self.clock() - began)
            return answer

        return take

    async def _take(self, source: Webhook, request: web.Request) -> tuple[str, web.Response]:
        body = await read_request_body(request)
        if self._inside >= self.most_at_once:
            return "busy", _answer_busy("too many requests at once")
        self._inside += 1  # only after the body: a slow sender takes no place
        try:
            return await self._store_delivery(source, request, body)
        finally:
            self._inside -= 1

    async def _store_delivery(self, source: Webhook, request: web.Request, body: bytes) -> tuple[str, web.Response]:
        headers = {name.lower(): value for name, value in request.headers.items()}
        if not source.is_genuine(headers, body, self.now()):
            return "unauthorized", web.Response(status=401, text="bad credentials")
        try:
            if len(body) > SMALL_BODY_BYTES:
                delivery = await asyncio.to_thread(source.delivery, body)
            else:
                delivery = source.delivery(body)
        except MalformedDelivery as no:
            self.log("delivery_refused", source=source.kind, because=one_line(no.sentence))
            return "malformed", web.Response(status=400, text=one_line(no.sentence))
        return await self._write_to_inbox(delivery)

    async def _write_to_inbox(self, delivery: Delivery) -> tuple[str, web.Response]:
        if delivery.alarm is None:
            self.log("delivery", source=delivery.source, id=delivery.id, what=delivery.what, outcome="ignored")
            return "ignored", web.Response(status=202, text="ignored")
        try:
            is_new = await self.inbox.keep(delivery)
        except LedgerError as error:
            self.log("ledger_unavailable", error=one_line(str(error)))
            return "unavailable", _answer_busy("it cannot be stored now")
        outcome = "accepted" if is_new else "repeated"
        self.log("delivery", source=delivery.source, id=delivery.id, what=delivery.what, outcome=outcome)
        if is_new:
            self.arrivals.set()
        return outcome, web.Response(status=202, text=outcome)


def _answer_busy(because: str) -> web.Response:
    return web.Response(status=503, text=because, headers={"Retry-After": AGAIN_SECONDS})
