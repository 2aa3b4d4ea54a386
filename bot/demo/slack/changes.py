"""Notifications of changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class WorkspaceChange:
    """What changed: a `message` (new, edited or deleted), a `home`, the `modals` of a person, the `roster`."""

    kind: str
    thing: Any = None
    user: str | None = None  # whose home or modals changed


class Changes:
    """The listeners for changes."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[WorkspaceChange], None]] = []
        self.happened = asyncio.Event()

    def tell(self, change: WorkspaceChange) -> None:
        """Call every listener and wake every waiter."""
        for listener in list(self._listeners):
            listener(change)
        self.wake()

    def wake(self) -> None:
        """Have every waiting condition checked again."""
        self.happened.set()
        self.happened = asyncio.Event()

    def listen(self, listener: Callable[[WorkspaceChange], None]) -> Callable[[], None]:
        """Call the listener at every change. Call the returned function to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)
