"""Work that goes on beside what began it, such as a request of a chat that has its acknowledgement."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from bot.domain.contracts import Log

FAILED = "The bot failed at it, and its log says how."


class Background:
    """Runs work in the background."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def begin(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None] | None:
        """Start work, and return its task; nothing starts after `drain`."""
        if self._is_closed:
            work.close()
            return None
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._log_failure)
        return task

    async def drain(self, seconds: float) -> None:
        """Wait for running work, at most so many seconds, then cancel the rest."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)
        self._is_closed = True
        late = set(self._tasks)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def _log_failure(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log("wish_failed", wish=task.get_name(), error=repr(error))
