"""Telling whoever looks that something changed, and waiting for a condition to become true without sleeping."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

T = TypeVar("T")
LOOK_AGAIN_SECONDS = 0.05  # for conditions about what is not the workspace's, and so tells it nothing


@dataclass(frozen=True, slots=True)
class Change:
    """What changed: a `message` (new, edited or deleted), a `home`, the `modals` of a person, the `roster`."""

    kind: str
    thing: Any = None
    user: str | None = None  # whose it is, where it is one person's


class Changes:
    """Everybody who wants to hear of changes."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[Change], None]] = []
        self._happened = asyncio.Event()

    def tell(self, change: Change) -> None:
        """Tell all who listen and wake all who wait."""
        for listener in list(self._listeners):
            listener(change)
        self.wake()

    def wake(self) -> None:
        """Have every waiting condition looked at again."""
        self._happened.set()
        self._happened = asyncio.Event()

    def listen(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call the listener at every change; the answer ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def until(self, question: Callable[[], T | None], timeout: timedelta, what: str) -> T:
        """Ask at every change until the answer is truthy, and return it.

        Raises: TimeoutError, saying what was waited for and the last answer.
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
                await asyncio.wait_for(happened.wait(), min(left, LOOK_AGAIN_SECONDS))
            except TimeoutError:
                continue
