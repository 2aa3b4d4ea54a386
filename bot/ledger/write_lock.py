"""A lock for the threads that write to SQLite. Waiting threads are woken, and do not poll.

SQLite itself makes a waiting writer sleep for longer and longer; https://sqlite.org/c3ref/busy_timeout.html
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class WriteLock:
    """Held by one thread of this program at a time; urgent threads go first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_held = False
        self._urgent = 0

    @contextlib.contextmanager
    def held(self, *, urgent: bool, seconds: float) -> Iterator[bool]:
        """Wait for the lock for at most `seconds`, and hold it for the length of a block; yield False on a time-out."""
        with self._changed:
            self._urgent += urgent
            try:
                is_ours = self._changed.wait_for(lambda: not self._is_held and (urgent or not self._urgent), seconds)
            finally:
                self._urgent -= urgent
            self._is_held = self._is_held or is_ours
        try:
            yield is_ours
        finally:
            if is_ours:
                with self._changed:
                    self._is_held = False
                    self._changed.notify_all()
