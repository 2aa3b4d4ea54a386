"""A rate limit: how many times something may happen within a time."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.duration import duration_text, parse_duration

_MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class Allowance:
    """A rate limit such as 20 times in 10 minutes, written `20/10m`."""

    most: int
    within: timedelta

    @classmethod
    def parse(cls, text: str) -> Allowance:
        """Return what a text such as `20/10m` means.

        Raises: ValueError, with a sentence for a person, when it is not of that form.

        Example:
        >>> str(Allowance.parse("20/10m"))
        '20/10m'
        """
        most, _, within = text.partition("/")
        if not (most.isascii() and most.isdecimal() and 0 < int(most[:9]) <= _MOST and len(most) < 9):
            raise ValueError('is written like "20/10m": so many within so long')
        try:
            span = parse_duration(within)
        except ValueError as error:
            raise ValueError(f'is written like "20/10m": {error}') from error
        if not span:
            raise ValueError('is written like "20/10m": the time should be more than 0')
        return cls(int(most), span)

    def count_or_wait(self, earlier: deque[float], now: float) -> timedelta:
        """Count one more among the earlier times; if there is no room for it, return how long to wait for some."""
        within = self.within.total_seconds()
        while earlier and now - earlier[0] >= within:
            earlier.popleft()
        if len(earlier) >= self.most:
            return timedelta(seconds=max(1.0, earlier[0] + within - now))
        earlier.append(now)
        return timedelta()

    def __str__(self) -> str:
        return f"{self.most}/{duration_text(self.within)}"


CHECKS_PER_PERSON = Allowance(20, timedelta(minutes=10))
