"""Turns at a database that one thread at a time may write: those who wait are woken, and do not look again and again.

SQLite itself lets who finds it locked sleep for longer and longer; https://sqlite.org/c3ref/busy_timeout.html
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class WriteLock:
    """One thread of this program at a time; those who say so go first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_taken = False
        self._first = 0

    @contextlib.contextmanager
    def taken(self, *, first: bool, seconds: float) -> Iterator[bool]:
        """Wait for a turn, so long at most, and have it for the length of a block; False where it did not come."""
        with self._changed:
            self._first += first
            try:
                came = self._changed.wait_for(lambda: not self._is_taken and (first or not self._first), seconds)
            finally:
                self._first -= first
            self._is_taken = self._is_taken or came
        try:
            yield came
        finally:
            if came:
                with self._changed:
                    self._is_taken = False
                    self._changed.notify_all()
