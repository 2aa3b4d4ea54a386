"""When the next message may be posted in a channel: within Slack's limits, and apart from other programs' posts."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta

from bot.domain.contracts import Outbox
from bot.domain.errors import LedgerError
from bot.surfaces.slack.calls import RateLimiter, Timing

POSTS = 3  # per channel in a little over three seconds: Slack allows about one a second, in short bursts
POSTS_RESERVED = 1  # details leave this room for the next card
CHANNELS_REMEMBERED = 100


class ChannelTurns:
    """The turns of each channel."""

    def __init__(self, outbox: Outbox, timing: Timing) -> None:
        self._outbox = outbox
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

    async def apart(self, channel: str) -> None:
        """Keep a distance to other programs' posts there; without the outbox, only Slack's limit applies."""
        if not self._timing.posts_apart:
            return
        with contextlib.suppress(LedgerError):
            until = await self._outbox.turn(channel, timedelta(seconds=self._timing.posts_apart))
            await asyncio.sleep(until.total_seconds())
