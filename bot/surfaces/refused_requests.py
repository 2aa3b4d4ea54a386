"""Requests with bad credentials: each is counted, and a log is not filled by whoever sends many."""

from __future__ import annotations

from typing import Protocol

from bot.domain.contracts import Log, Seconds

SAID_EVERY_SECONDS = 60.0
MOST_PEERS = 1000


class CountUnauthorized(Protocol):
    """Counts a request that was answered 401."""

    def __call__(self, path: str, /) -> None:
        """Count it by the path of its route."""
        ...


class RefusedRequests:
    """Counts every request that is answered 401, and logs each peer's once a minute at most."""

    def __init__(self, log: Log, clock: Seconds, count: CountUnauthorized | None = None) -> None:
        self._log = log
        self._clock = clock
        self._count = count
        self._said: dict[str, float] = {}  # peers that have their line, and since when; the longest so first
        self._unsaid = 0

    def note(self, path: str, peer: str) -> None:
        """Note one."""
        if self._count is not None:
            self._count(path)
        now = self._clock()
        while self._said and now - next(iter(self._said.values())) >= SAID_EVERY_SECONDS:
            del self._said[next(iter(self._said))]
        if peer in self._said or len(self._said) >= MOST_PEERS:
            self._unsaid += 1
            return
        self._said[peer] = now
        # How many there were since the line before this, of any peer, without one of their own.
        self._log("request_refused", path=path, peer=peer, because="bad credentials", others=self._unsaid)
        self._unsaid = 0
