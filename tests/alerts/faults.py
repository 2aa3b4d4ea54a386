"""Faults that a test switches on for the next calls.

Calls have their names in `answers.py` (`notes`, `add_note`, …); `enqueue` is the Events API, `*` is every call.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from tests.fault_queue import EVERYTHING, FaultQueue


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with a call.

    Shape: with `is_after_effect` the call takes effect and only its answer is lost. `headers` are those of a 429.
    """

    status: int = 200
    wait: timedelta = timedelta(0)
    is_silent: bool = False
    is_after_effect: bool = False
    headers: tuple[tuple[str, str], ...] = ()


class Faults:
    """The faults of the next calls; each call takes the first that matches."""

    def __init__(self) -> None:
        self.is_down = False  # every connection is closed before the call takes effect
        self._waiting = FaultQueue[Fault]()

    def rate_limit(self, call: str = EVERYTHING, retry_after_seconds: int | None = None, times: int = 1) -> None:
        """Answer 429; without a time it has no Retry-After header, as PagerDuty's edge sometimes answers."""
        headers = () if retry_after_seconds is None else (("Retry-After", str(retry_after_seconds)),)
        self._add(call, Fault(status=429, headers=headers), times)

    def status(self, call: str = EVERYTHING, status: int = 500, times: int = 1) -> None:
        """Answer with a status and an HTML page."""
        self._add(call, Fault(status=status), times)

    def slow(self, call: str, wait: timedelta, times: int = 1) -> None:
        """Take effect, but answer late."""
        self._add(call, Fault(wait=wait), times)

    def lose_answer(self, call: str, times: int = 1) -> None:
        """Take effect, then close the connection without an answer."""
        self._add(call, Fault(is_silent=True, is_after_effect=True), times)

    def lose_request(self, call: str, times: int = 1) -> None:
        """Close the connection without any effect."""
        self._add(call, Fault(is_silent=True), times)

    def clear(self) -> None:
        """Forget all faults."""
        self._waiting.clear()
        self.is_down = False

    def take(self, call: str) -> Fault | None:
        """Take the next fault for this call, None if there is none."""
        if self.is_down:
            return Fault(is_silent=True)
        return self._waiting.take(call)

    def _add(self, call: str, fault: Fault, times: int) -> None:
        self._waiting.add(call, fault, times)
