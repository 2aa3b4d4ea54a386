"""Unique ids, message timestamps and secrets, from a clock and a source of randomness.

A message's `ts` is its id: seconds and microseconds, unique and increasing.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeAlias

from bot.domain.contracts import Clock

RandomBytes: TypeAlias = Callable[[int], bytes]
"""Returns random bytes, like `os.urandom`."""

MICROSECOND = timedelta(microseconds=1)


class IdGenerator:
    """Makes unique ids."""

    def __init__(self, clock: Clock, random_bytes: RandomBytes) -> None:
        self._clock = clock
        self._random_bytes = random_bytes
        self._last: datetime | None = None
        self._counted = 0

    def ts(self) -> str:
        """Return the next message's timestamp, always later than the last.

        Example: `"1732186440.000200"`
        """
        now = self._clock()
        if self._last is not None and now <= self._last:
            now = self._last + MICROSECOND
        self._last = now
        return f"{int(now.timestamp())}.{now.microsecond:06d}"

    def id(self, letter: str) -> str:
        """Return an id of Slack's form, such as `V0000000007`."""
        self._counted += 1
        return f"{letter}{self._counted:010d}"

    def short(self) -> str:
        """Return an id for a block or an element that came without an id."""
        self._counted += 1
        return f"b{self._counted:04x}"

    def secret(self, length: int = 12) -> str:
        """Return `length` random bytes in hexadecimal."""
        return self._random_bytes(length).hex()

    def envelope(self) -> str:
        """Return an envelope's id, in the form of a UUID."""
        word = self._random_bytes(16).hex()
        return "-".join((word[:8], word[8:12], word[12:16], word[16:20], word[20:]))
