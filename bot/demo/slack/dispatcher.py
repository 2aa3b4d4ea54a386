"""Delivers to the app over Socket Mode or signed HTTP. Events are retried; commands and clicks are not."""

from __future__ import annotations

import asyncio
from typing import Any

from bot.demo.slack.changes import Changes
from bot.demo.slack.delivery import TOO_LATE, Delivered, DeliveryKind, DeliveryTimeouts, Way


class Dispatcher:
    """Delivers commands, interactions and events."""

    def __init__(self, way: Way, patience: DeliveryTimeouts, changes: Changes) -> None:
        self.way = way
        self._patience = patience
        self._changes = changes
        self._retrying: set[asyncio.Task[None]] = set()

    async def command(self, payload: dict[str, Any]) -> Delivered:
        """Deliver a slash command, once."""
        return await self._deliver("slash_commands", payload, answerable=True)

    async def interaction(self, payload: dict[str, Any]) -> Delivered:
        """Deliver a click, a submission or a closing, once; only a submission gets an answer with a payload."""
        answerable = payload["type"] == "view_submission"
        return await self._deliver("interactive", payload, answerable=answerable)

    async def event(self, payload: dict[str, Any]) -> Delivered:
        """Deliver an event. If it is not acknowledged, retries follow in the background."""
        first = await self._deliver("events_api", payload)
        if not first.is_acknowledged:
            task = asyncio.create_task(self._try_again(payload, first))
            self._retrying.add(task)
            task.add_done_callback(self._retrying.discard)
        return first

    async def _try_again(self, payload: dict[str, Any], last: Delivered) -> None:
        for attempt, wait in enumerate(self._patience.event_retries, start=1):
            await asyncio.sleep(wait.total_seconds())
            reason = "timeout" if last.failure == TOO_LATE else "error"
            last = await self._deliver("events_api", payload, attempt=attempt, reason=reason)
            if last.is_acknowledged:
                return

    async def _deliver(
        self, kind: DeliveryKind, payload: dict[str, Any], answerable: bool = False, attempt: int = 0, reason: str = ""
    ) -> Delivered:
        delivered = await self.way.deliver(kind, payload, answerable=answerable, attempt=attempt, reason=reason)
        self._changes.wake()
        return delivered

    async def close(self) -> None:
        """Cancel all retries."""
        for task in self._retrying:
            task.cancel()
        await asyncio.gather(*self._retrying, return_exceptions=True)
