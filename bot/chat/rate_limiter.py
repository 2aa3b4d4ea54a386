"""When a message may go: within a chat's limits, and decisions before progress."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from bot.chat.service import Timing
from bot.domain.contracts import Seconds

SUMMARY = -1  # a message that sums up many cards goes before them
FIRST = 0  # decisions and their outcome, and cards before their details
VERDICT = 1
LAST = 9  # progress and details

Rank: TypeAlias = Callable[[], int]


@dataclass(slots=True, eq=False)
class _Waiting:
    rank: Rank
    number: int
    turn: asyncio.Future[None]


class RateLimiter:
    """Lets `calls` through in any `span_seconds`: the lowest rank first, equal ranks in order of arrival.

    Shape: ranks are read again whenever there is room, because waiting progress may have become a verdict; call
    `let_through` when a rank has changed. `reserved` is how many calls the last rank leaves to the others.
    """

    def __init__(self, calls: int, span_seconds: float, clock: Seconds, reserved: Rank = lambda: 0) -> None:
        self._calls = calls
        self._span = span_seconds
        self._clock = clock
        self._reserved = reserved
        self._through: deque[float] = deque()
        self._closed_until = clock()
        self._waiting: list[_Waiting] = []
        self._numbers = itertools.count()
        self._timer: asyncio.TimerHandle | None = None

    def is_idle(self) -> bool:
        """True when nothing waits here and no earlier call still counts."""
        self._forget()
        return not self._waiting and not self._through and self._clock() >= self._closed_until

    async def wait_for_turn(self, rank: Rank) -> None:
        """Wait for a turn, and take it."""
        waiting = _Waiting(rank, next(self._numbers), asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self.let_through()
        await waiting.turn

    def pause(self, seconds: float) -> None:
        """Let nothing through for so many seconds: the chat said Retry-After."""
        self._closed_until = max(self._closed_until, self._clock() + seconds)

    def let_through(self) -> None:
        """Let through every call that may go now."""
        self._forget()
        self._waiting = [waiting for waiting in self._waiting if not waiting.turn.done()]  # drop those that gave up
        while self._waiting and self._clock() >= self._closed_until:
            first = min(self._waiting, key=lambda waiting: (waiting.rank(), waiting.number))
            room = self._calls - len(self._through)
            if room <= (self._reserved() if first.rank() == LAST else 0):
                break
            self._waiting.remove(first)
            self._through.append(self._clock())
            first.turn.set_result(None)
        self._let_through_later()

    def _forget(self) -> None:
        while self._through and self._clock() - self._through[0] >= self._span:
            self._through.popleft()

    def _let_through_later(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._waiting:
            return
        now = self._clock()
        waits = [self._closed_until - now] if self._closed_until > now else []
        if not waits and self._through:
            waits.append(self._through[0] + self._span - now)
        if waits:  # otherwise only another rank or fewer reserved calls make room
            self._timer = asyncio.get_running_loop().call_later(max(0.001, waits[0]), self.let_through)


POSTS = 3  # per channel in a little over three seconds: chats allow about one a second, in short bursts
POSTS_RESERVED = 1  # details leave this room for the next card
CHANNELS_REMEMBERED = 100


class ChannelTurns:
    """When the next message may be posted in each channel, within the chat's limits."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._channels: dict[str, RateLimiter] = {}

    def of(self, channel: str) -> RateLimiter:
        """Return the limiter of this program's turns in a channel."""
        if channel not in self._channels:
            if len(self._channels) >= CHANNELS_REMEMBERED:
                self._channels = {name: limiter for name, limiter in self._channels.items() if not limiter.is_idle()}
            self._channels[channel] = RateLimiter(
                POSTS, self._timing.posts_span, self._timing.clock, lambda: POSTS_RESERVED
            )
        return self._channels[channel]
