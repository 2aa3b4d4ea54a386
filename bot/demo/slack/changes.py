"""Notifications of changes."""

from __future__ import annotations

import asyncio


class Changes:
    """Wakes whoever waits until something has changed; what, they look for themselves."""

    def __init__(self) -> None:
        self.happened = asyncio.Event()

    def wake(self) -> None:
        """Have every waiting condition checked again."""
        self.happened.set()
        self.happened = asyncio.Event()
