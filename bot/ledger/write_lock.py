"""The order of a program's threads at an SQLite database, which has a single writer at a time."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Iterator

URGENT_IN_A_ROW = 8  # inserts of the inbox before another waiting write has its turn; each takes milliseconds


class WriteLock:
    """Held by a single thread at a time; urgent threads go first, but only a few in a row.

    A thread that is not urgent (a runner's heartbeat, a step's beginning) waits for at most `URGENT_IN_A_ROW` urgent
    threads, and for earlier threads of its own kind.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_held = False
        self._urgent: deque[object] = deque()
        self._ordinary: deque[object] = deque()
        self._in_a_row = 0  # urgent threads that went first while another waited

    @contextlib.contextmanager
    def held(self, *, urgent: bool, seconds: float) -> Iterator[bool]:
        """Wait for the lock for at most `seconds`, and hold it while the block runs; yield False on a time-out."""
        ticket, queue = object(), self._urgent if urgent else self._ordinary
        with self._changed:
            queue.append(ticket)
            try:
                is_ours = self._changed.wait_for(lambda: not self._is_held and self._next() is ticket, seconds)
            finally:
                queue.remove(ticket)
                self._changed.notify_all()  # after a time-out another thread may be next
            if is_ours:
                self._is_held = True
                self._in_a_row = self._in_a_row + 1 if urgent and self._ordinary else 0
        try:
            yield is_ours
        finally:
            if is_ours:
                with self._changed:
                    self._is_held = False
                    self._changed.notify_all()

    def _next(self) -> object:
        if self._urgent and not (self._ordinary and self._in_a_row >= URGENT_IN_A_ROW):
            return self._urgent[0]
        return self._ordinary[0]
