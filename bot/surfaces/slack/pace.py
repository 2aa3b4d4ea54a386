"""Slack's rate limits, kept from our side: so many calls in a span of time, and the important ones first."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from bot.domain.contracts import Seconds

SUMMARY = -1  # what stands for many cards, before those
FIRST = 0  # decisions and what came of them, and cards before their details
VERDICT = 1
LAST = 9  # progress and details


Count: TypeAlias = Callable[[], int]  # asked anew each time: it changes while something waits


@dataclass(slots=True, eq=False)
class _Claim:
    rank: Count
    number: int
    turn: asyncio.Future[None]


class Pace:
    """Lets `calls` through in any `span_seconds`: the lowest rank first, equals in their order.

    Shape: a rank is asked for whenever there is room, because progress becomes a verdict while it waits; `look` says
    that one has changed. `kept_back` is how many calls the last rank leaves to the others. `clock` is in monotonic
    seconds.
    """

    def __init__(self, calls: int, span_seconds: float, clock: Seconds, kept_back: Count = lambda: 0) -> None:
        self._calls = calls
        self._span = span_seconds
        self._clock = clock
        self._kept_back = kept_back
        self._through: deque[float] = deque()
        self._closed_until = clock()
        self._claims: list[_Claim] = []
        self._numbers = itertools.count()
        self._timer: asyncio.TimerHandle | None = None

    def is_idle(self) -> bool:
        """True when nothing waits here and nothing counts any more."""
        self._forget()
        return not self._claims and not self._through and self._clock() >= self._closed_until

    async def turn(self, rank: Count) -> None:
        """Wait for a turn, and take it."""
        claim = _Claim(rank, next(self._numbers), asyncio.get_running_loop().create_future())
        self._claims.append(claim)
        self.look()
        await claim.turn

    def pause(self, seconds: float) -> None:
        """Let nothing through for so long: Slack said Retry-After."""
        self._closed_until = max(self._closed_until, self._clock() + seconds)

    def look(self) -> None:
        """Let through whoever may go now."""
        self._forget()
        self._claims = [claim for claim in self._claims if not claim.turn.done()]  # some have given up
        while self._claims and self._clock() >= self._closed_until:
            claim = min(self._claims, key=lambda one: (one.rank(), one.number))
            room = self._calls - len(self._through)
            if room <= (self._kept_back() if claim.rank() == LAST else 0):
                break
            self._claims.remove(claim)
            self._through.append(self._clock())
            claim.turn.set_result(None)
        self._look_again()

    def _forget(self) -> None:
        while self._through and self._clock() - self._through[0] >= self._span:
            self._through.popleft()

    def _look_again(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._claims:
            return
        now = self._clock()
        waits = [self._closed_until - now] if self._closed_until > now else []
        if not waits and self._through:
            waits.append(self._through[0] + self._span - now)
        if waits:  # else only a change of rank, or of what is kept back, makes room
            self._timer = asyncio.get_running_loop().call_later(max(0.001, waits[0]), self.look)
