"""Slack's rate limits; switched off by default.

Tiers: https://docs.slack.dev/apis/web-api/rate-limits. chat.postMessage is limited to about one a second in each
channel, with bursts of three; every other method by the minute.
"""

from __future__ import annotations

import math
from collections import deque
from datetime import datetime, timedelta

from bot.domain.contracts import Clock

MINUTE = timedelta(minutes=1)
PER_MINUTE = {
    "chat.update": 50,
    "chat.postEphemeral": 100,
    "conversations.history": 50,
    "conversations.replies": 50,
    "users.info": 100,
    "usergroups.users.list": 20,
    "views.open": 100,
    "views.publish": 100,
    "files.getUploadURLExternal": 100,
    "files.completeUploadExternal": 100,
}
POSTS_A_SECOND = 1.0
POSTS_AT_ONCE = 3.0


class RateLimits:
    """Counts the calls. `are_exact` switches the limits on."""

    def __init__(self, clock: Clock, *, are_exact: bool = False) -> None:
        self._clock = clock
        self.are_exact = are_exact
        self._calls: dict[str, deque[datetime]] = {}
        self._left: dict[str, tuple[float, datetime]] = {}

    def wait_seconds(self, method: str, channel: str) -> int:
        """Count a call and return 0; or return the seconds to wait, without counting it."""
        if not self.are_exact:
            return 0
        if method == "chat.postMessage":
            return self._wait_for_channel(channel)
        return self._wait_for_minute(method)

    def _wait_for_channel(self, channel: str) -> int:
        now = self._clock()
        left, since = self._left.get(channel, (POSTS_AT_ONCE, now))
        left = min(POSTS_AT_ONCE, left + (now - since).total_seconds() * POSTS_A_SECOND)
        if left < 1:
            self._left[channel] = (left, now)
            return math.ceil((1 - left) / POSTS_A_SECOND)
        self._left[channel] = (left - 1, now)
        return 0

    def _wait_for_minute(self, method: str) -> int:
        most = PER_MINUTE.get(method)
        if most is None:
            return 0
        now, calls = self._clock(), self._calls.setdefault(method, deque())
        while calls and now - calls[0] >= MINUTE:
            calls.popleft()
        if len(calls) >= most:
            return max(1, math.ceil((MINUTE - (now - calls[0])).total_seconds()))
        calls.append(now)
        return 0
