"""What goes wrong on purpose: a test switches it on, the next calls suffer it.

A call is named as `rest.py` names it (`notes`, `add_note`, …), `enqueue` is the Events API, `*` is every call.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from bot.demo.fault_queue import EVERYTHING, FaultQueue


@dataclass(frozen=True, slots=True)
class Fault:
    """What one call suffers.

    Shape: with `is_after_effect` what was asked is done all the same and only the answer is lost. `headers` are those
    of a 429.
    """

    status: int = 200
    wait: timedelta = timedelta(0)
    is_silent: bool = False
    is_after_effect: bool = False
    headers: tuple[tuple[str, str], ...] = ()


class Faults:
    """The faults that wait for a call; each call takes the first one that is for it."""

    def __init__(self) -> None:
        self.is_down = False  # nothing is answered: every connection is cut before anything is done
        self._waiting = FaultQueue[Fault]()

    def rate_limit(self, call: str = EVERYTHING, retry_after_seconds: int | None = None, times: int = 1) -> None:
        """Answer 429; without a time it comes without any header, as PagerDuty's edge sometimes does."""
        headers = () if retry_after_seconds is None else (("Retry-After", str(retry_after_seconds)),)
        self._add(call, Fault(status=429, headers=headers), times)

    def status(self, call: str = EVERYTHING, status: int = 500, times: int = 1) -> None:
        """Answer with a status and a page of HTML."""
        self._add(call, Fault(status=status), times)

    def slow(self, call: str, wait: timedelta, times: int = 1) -> None:
        """Do what was asked, but answer only after a while."""
        self._add(call, Fault(wait=wait), times)

    def lose_answer(self, call: str, times: int = 1) -> None:
        """Do what was asked and cut the connection in place of answering."""
        self._add(call, Fault(is_silent=True, is_after_effect=True), times)

    def lose_request(self, call: str, times: int = 1) -> None:
        """Do nothing and cut the connection."""
        self._add(call, Fault(is_silent=True), times)

    def clear(self) -> None:
        """Let everything go well again."""
        self._waiting.clear()
        self.is_down = False

    def take(self, call: str) -> Fault | None:
        """Return the next fault for this call, which is spent by it."""
        if self.is_down:
            return Fault(is_silent=True)
        return self._waiting.take(call)

    def _add(self, call: str, fault: Fault, times: int) -> None:
        self._waiting.add(call, fault, times)
