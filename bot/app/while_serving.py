"""Work of an extra that goes on while the bot serves."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any


class WhileServing:
    """Runs in a task, from the start of the bot to its end: a `Serves` of `bot/seats.py`, to which nobody posts."""

    posts: Sequence[tuple[str, Any]] = ()
    named = ""  # the task, in the log
    _running: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Go on until cancelled."""
        raise NotImplementedError

    async def start(self) -> None:
        """Begin."""
        self._running = asyncio.create_task(self.run(), name=self.named)

    async def stop(self) -> None:
        """End; what is broken off is done again by the next program."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
