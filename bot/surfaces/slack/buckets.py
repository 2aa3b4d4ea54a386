"""Slack's rate limits, kept from our side: so many calls a minute, and the important ones first."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable

LAST = 9  # progress; it is the first to wait
FIRST = 0  # decisions and verdicts


class Bucket:
    """Lets `rate_per_second` calls through on average and `burst` at once, lowest priority number first.

    `clock` is monotonic seconds.
    """

    def __init__(self, rate_per_second: float, burst: int, clock: Callable[[], float]) -> None:
        self._rate = rate_per_second
        self._burst = burst
        self._clock = clock
        self._tokens = float(burst)
        self._filled_at = clock()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()
        self._timer: asyncio.TimerHandle | None = None

    async def take(self, priority: int) -> None:
        """Wait for a turn."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (priority, next(self._numbers), turn))
        self._serve()
        await turn

    def pause(self, seconds: float) -> None:
        """Let nothing through for so long: Slack said Retry-After."""
        self._fill()
        self._tokens = min(self._tokens, -self._rate * seconds + 1e-9)

    def _fill(self) -> None:
        at = self._clock()
        self._tokens = min(self._burst, self._tokens + (at - self._filled_at) * self._rate)
        self._filled_at = at

    def _serve(self) -> None:
        self._fill()
        while self._waiting and self._tokens >= 1 - 1e-9:
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():  # else whoever waited has gone
                self._tokens -= 1
                turn.set_result(None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting:
            wait = max(0.001, (1 - self._tokens) / self._rate)
            self._timer = asyncio.get_running_loop().call_later(wait, self._serve)
