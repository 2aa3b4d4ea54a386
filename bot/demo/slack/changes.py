"""Notifications of changes, and waiting until a condition holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

T = TypeVar("T")
POLL_SECONDS = 0.05  # for conditions on things outside the workspace, whose changes are not announced


@dataclass(frozen=True, slots=True)
class Change:
    """What changed: a `message` (new, edited or deleted), a `home`, the `modals` of a person, the `roster`."""

    kind: str
    thing: Any = None
    user: str | None = None  # whose home or modals changed


class Changes:
    """The listeners for changes."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[Change], None]] = []
        self._happened = asyncio.Event()

    def tell(self, change: Change) -> None:
        """Call every listener and wake every waiter."""
        for listener in list(self._listeners):
            listener(change)
        self.wake()

    def wake(self) -> None:
        """Have every waiting condition checked again."""
        self._happened.set()
        self._happened = asyncio.Event()

    def listen(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call the listener at every change. Call the returned function to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def until(self, question: Callable[[], T | None], timeout: timedelta, what: str) -> T:
        """Call the function at every change until it returns something truthy, and return that.

        Raises: TimeoutError, with the last answer.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout.total_seconds()
        while True:
            happened = self._happened
            if answer := question():
                return answer
            left = end - loop.time()
            if left <= 0:
                raise TimeoutError(f"waited {timeout.total_seconds():g} s for {what}; last answer: {answer!r}")
            try:
                await asyncio.wait_for(happened.wait(), min(left, POLL_SECONDS))
            except TimeoutError:
                continue
