"""The simulated PagerDuty as a test's bed, whose calls are recorded and go wrong; and the bot's own client on it."""

from __future__ import annotations

import asyncio
import math
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from aiohttp import ClientSession, web

from bot.demo.pagerduty import server
from bot.demo.pagerduty.account import Account, Incident
from bot.demo.pagerduty.rest import read_body
from bot.demo.pagerduty.rest_json import error_json
from bot.demo.pagerduty.webhooks import RetryPolicy, Subscription, Webhooks
from bot.sources.pagerduty_client import PagerDutyClient
from bot.sources.pagerduty_http import Access, PagerDutyHttp, Patience
from tests.changes import until_changed
from tests.faults import Faults, Handler, drop_connection

T = TypeVar("T")
LIMIT = 960  # calls a minute with a token
MINUTE, LONG = timedelta(minutes=1), timedelta(seconds=60)
MOST_REMEMBERED = 20_000

QUICK = Patience(connect_seconds=2.0, answer_seconds=2.0, gap_seconds=0.0, first_pause_seconds=0.01)


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


@dataclass(frozen=True, slots=True)
class WebhookAttempt:
    """An attempt to deliver a webhook. `status` is 0 if nobody answered."""

    subscription: str
    webhook_id: str
    kind: str
    body: bytes
    status: int
    took: timedelta


class RecordedWebhooks(Webhooks):
    """Records every attempt, and sends some twice."""

    def __init__(self, account: Account, session: ClientSession, retry_policy: RetryPolicy) -> None:
        super().__init__(account, session, retry_policy)
        self.brought: list[WebhookAttempt] = []
        self.duplicates = 0  # this many of the next webhooks are sent twice

    async def settled(self, timeout: timedelta = timedelta(seconds=10)) -> None:
        """Wait until every webhook was delivered or given up. Raises: TimeoutError."""
        await until_changed(self._account.changes, lambda: not self._tasks, timeout, "webhooks to be delivered")

    async def _post(self, subscription: Subscription, webhook_id: str, kind: str, body: bytes) -> int:
        status = await self._once(subscription, webhook_id, kind, body)
        if self.duplicates and 200 <= status < 300:
            self.duplicates -= 1
            await self._once(subscription, webhook_id, kind, body)
        return status

    async def _once(self, subscription: Subscription, webhook_id: str, kind: str, body: bytes) -> int:
        loop = asyncio.get_running_loop()
        started = loop.time()
        status = await super()._post(subscription, webhook_id, kind, body)
        took = timedelta(seconds=loop.time() - started)
        self.brought.append(WebhookAttempt(subscription.id, webhook_id, kind, body, status, took))
        self._account.changes.wake()
        return status


class PagerDuty(server.PagerDuty):
    """A simulated PagerDuty whose calls go wrong as `faults` say, and are counted against `limit`."""

    kind_of_webhooks = RecordedWebhooks
    webhooks: RecordedWebhooks

    def __init__(
        self,
        origin: str,
        clock: Callable[[], datetime],
        random_bytes: Callable[[int], bytes],
        session: ClientSession,
        retry_policy: RetryPolicy,
    ) -> None:
        super().__init__(origin, clock, random_bytes, session, retry_policy)
        self.faults = Faults(error_json("Rate Limit Exceeded", 2020))
        self.limit = RateLimit(clock)
        self._asked: deque[RecordedCall] = deque(maxlen=MOST_REMEMBERED)
        self._closing = asyncio.Event()

    def middlewares(self) -> list[Any]:
        return [*super().middlewares(), self._goes_wrong]

    async def close_connections(self) -> None:
        self._closing.set()
        await super().close_connections()

    @web.middleware
    async def _goes_wrong(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Apply the call's fault and the limit, and record it."""
        call = request.match_info.route.name
        if call is None:
            return await handler(request)
        fault = self.faults.take(call)
        body = read_body(await request.read())
        response: web.StreamResponse | None = await fault.answer(request, self._closing) if fault is not None else None
        if response is None:
            response = await self._counted(call, request, handler)
        status = response.status
        if fault is not None and fault.is_silent:
            status = 0
            drop_connection(request)
        self._asked.append(RecordedCall(call, request.method, request.path, body, self.account.clock(), status))
        self.account.changes.wake()
        return response

    async def _counted(self, call: str, request: web.Request, handler: Handler) -> web.StreamResponse:
        if call == "enqueue" or request.headers.get("Authorization") != f"Token token={self.token}":
            return await handler(request)
        is_within, headers = self.limit.take()
        if not is_within:
            return web.json_response(error_json("Rate Limit Exceeded", 2020), status=429, headers=headers)
        response = await handler(request)
        response.headers.update(headers)
        return response

    @property
    def environment(self) -> dict[str, str]:
        """What a program is told that reads its pages and writes notes."""
        token = {"PAGERDUTY_API_TOKEN": self.token, "PAGERDUTY_FROM": self.sender}
        return {**token, "PAGERDUTY_API_URL": self.api_url}

    def asked(self, call: str = "") -> list[RecordedCall]:
        """Return the calls so far, or only those of a name."""
        return [each for each in self._asked if call in ("", each.call)]

    def note_on(self, incident: Incident) -> str:
        """Return the bot's note on an incident; empty if it has none.

        Raises: LookupError when there are several.
        """
        notes = [note.content for note in incident.notes if note.user == self.account.bot]
        if len(notes) > 1:
            raise LookupError(f"{len(notes)} notes on {incident.id}")
        return notes[0] if notes else ""

    async def until(self, question: Callable[[], T | None], timeout: timedelta = LONG, what: str = "a condition") -> T:
        """Wait until the function returns something truthy, and return that. Raises: TimeoutError."""
        return await until_changed(self.account.changes, question, timeout, what)


def now() -> datetime:
    """The real clock."""
    return datetime.now(UTC)


class Naps:
    """Sleeps that take no time and are remembered; `clock` is moved by each."""

    def __init__(self, day: Callable[[], datetime] | None = None) -> None:
        self.taken: list[float] = []
        self.seconds = 1000.0
        self._day = day

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)
        self.seconds += seconds

    def clock(self) -> float:
        """Monotonic seconds, which only pass while somebody sleeps, or as the time of `day` does."""
        return self.seconds + (self._day().timestamp() if self._day is not None else 0.0)


@asynccontextmanager
async def account(**settings: Any) -> AsyncIterator[PagerDuty]:
    """A PagerDuty of its own for one test."""
    settings.setdefault("clock", now)
    limit = settings.pop("limit", LIMIT)
    async with PagerDuty.start(random_bytes=os.urandom, **settings) as started:
        assert isinstance(started, PagerDuty)
        started.limit.calls = limit
        yield started


def access(pagerduty: PagerDuty, **other: str) -> Access:
    """Return how the bot reaches it."""
    given = {
        "token": pagerduty.token,
        "sender": pagerduty.sender,
        "routing_key": pagerduty.routing_key,
        "api_url": pagerduty.api_url,
        "events_url": pagerduty.events_url,
    }
    return Access(**{**given, **other})


@asynccontextmanager
async def client(
    pagerduty: PagerDuty, patience: Patience = QUICK, naps: Naps | None = None, **other: str
) -> AsyncIterator[PagerDutyClient]:
    """The bot's client; with `naps` no time passes in it."""
    by = access(pagerduty, **other)
    http = PagerDutyHttp(by, patience, naps, naps.clock) if naps is not None else PagerDutyHttp(by, patience)
    one = PagerDutyClient(http)
    try:
        yield one
    finally:
        await one.close()
