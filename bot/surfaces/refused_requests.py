"""Requests with bad credentials: each is counted, but a flood of them does not fill the log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from bot.domain.contracts import Log, Seconds

SAID_EVERY_SECONDS = 60.0
MOST_PEERS = 1000
CountUnauthorized: TypeAlias = Callable[[str], None]  # counts a request answered 401, by the path of its route


@dataclass(slots=True, eq=False)
class RefusedRequests:
    """Counts every request answered 401, and logs each peer once a minute at most."""

    log: Log
    clock: Seconds
    count: CountUnauthorized | None = None
    _said: dict[str, float] = field(default_factory=dict)  # peers that were logged, and when; the earliest first
    _unsaid: int = 0

    def note(self, path: str, peer: str) -> None:
        """Note a refused request."""
        if self.count is not None:
            self.count(path)
        now = self.clock()
        while self._said and now - next(iter(self._said.values())) >= SAID_EVERY_SECONDS:
            del self._said[next(iter(self._said))]
        if peer in self._said or len(self._said) >= MOST_PEERS:
            self._unsaid += 1
            return
        self._said[peer] = now
        # How many requests, of any peer, were not logged since the previous line.
        self.log("request_refused", path=path, peer=peer, because="bad credentials", others=self._unsaid)
        self._unsaid = 0
