"""Work of an extra that goes on while the bot serves."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar

from bot.domain.contracts import Log
from bot.response.repeating import repeat


class WhileServing:
    """Takes turns in a task, from the start of the bot to its end: a `Serves` of `bot/seats.py`, to which nobody posts.

    Shape: `named` is the task, `every` the seconds between turns, `failed` what is logged where one raises.
    """

    posts: Sequence[tuple[str, Any]] = ()
    named: ClassVar[str]
    every: ClassVar[float]
    failed: ClassVar[str]
    log: Log
    _running: asyncio.Task[None] | None = None

    async def turn(self) -> None:
        """Do what is due."""
        raise NotImplementedError

    async def start(self) -> None:
        """Begin."""
        self._running = asyncio.create_task(repeat(self.turn, self.every, self.log, self.failed), name=self.named)

    async def stop(self) -> None:
        """End; what is broken off is done again by the next program."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
