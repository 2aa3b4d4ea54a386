"""Faults that a test switches on for the next calls.

A method is a Web API method, `response_url`, `upload`, or `*` for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from tests.fault_queue import FaultQueue

RESPONSE_URL = "response_url"
UPLOAD = "upload"


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with a call."""

    status: int = 200
    error: str = ""
    retry_after_seconds: int = 0
    wait: timedelta = timedelta(0)
    is_silent: bool = False  # after the wait the connection is closed without an answer
    is_after_effect: bool = False  # the call takes effect; only the answer is lost


class Faults:
    """The faults of the next calls; each call takes the first that matches."""

    def __init__(self) -> None:
        self._waiting = FaultQueue[Fault]()
        self.duplicates = 0  # this many of the next envelopes are sent twice

    def rate_limit(self, method: str, retry_after_seconds: int = 1, times: int = 1) -> None:
        """Answer 429 with Retry-After."""
        self._add(method, Fault(status=429, retry_after_seconds=retry_after_seconds), times)

    def status(self, method: str, status: int = 500, times: int = 1) -> None:
        """Answer with an HTTP status and no JSON."""
        self._add(method, Fault(status=status), times)

    def error(self, method: str, error: str, times: int = 1) -> None:
        """Answer `{"ok": false, "error": …}`."""
        self._add(method, Fault(error=error), times)

    def slow(self, method: str, wait: timedelta, times: int = 1) -> None:
        """Take effect, but late."""
        self._add(method, Fault(wait=wait), times)

    def silent(self, method: str, wait: timedelta = timedelta(minutes=1), times: int = 1) -> None:
        """Do nothing, and close the connection after a while without an answer."""
        self._add(method, Fault(wait=wait, is_silent=True), times)

    def lose_answer(self, method: str, times: int = 1) -> None:
        """Take effect, then close the connection without an answer."""
        self._add(method, Fault(is_silent=True, is_after_effect=True), times)

    def clear(self) -> None:
        """Forget all faults."""
        self._waiting.clear()
        self.duplicates = 0

    def take(self, method: str) -> Fault | None:
        """Take the next fault for this method, None if there is none."""
        return self._waiting.take(method)

    def take_duplicate(self) -> bool:
        """Return whether to send this envelope twice."""
        if self.duplicates:
            self.duplicates -= 1
            return True
        return False

    def _add(self, method: str, fault: Fault, times: int) -> None:
        self._waiting.add(method, fault, times)
