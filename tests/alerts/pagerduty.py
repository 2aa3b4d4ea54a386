"""The simulated PagerDuty as a test's bed, and the bot's own client on it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from bot.demo.pagerduty.server import PagerDuty
from bot.sources.pagerduty_client import PagerDutyClient
from bot.sources.pagerduty_http import Access, PagerDutyHttp, Patience

QUICK = Patience(connect_seconds=2.0, answer_seconds=2.0, gap_seconds=0.0, first_pause_seconds=0.01)


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
    async with PagerDuty.start(random_bytes=os.urandom, **settings) as pagerduty:
        yield pagerduty


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
