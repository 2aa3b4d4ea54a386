"""The inbox and the cases for an event loop: each verb runs on a thread, and is awaited."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

from bot.domain.alarm import Delivery
from bot.domain.alarm_contracts import Brakes, Course, KeptDelivery, OpenCase, Storm
from bot.domain.alert import SourceKind
from bot.ledger.awaited import _on
from bot.ledger.cases import Cases
from bot.ledger.inbox import Inbox


class AwaitedInbox:
    """An inbox on the threads of an executor; keeps `alarm_contracts.Inbox`.

    Shape: a delivery is kept on `doors`, threads of its own, so that its sender's answer waits for nothing else.
    """

    def __init__(self, inbox: Inbox, threads: ThreadPoolExecutor, doors: ThreadPoolExecutor | None = None) -> None:
        self._inbox = inbox
        self._threads = threads
        self._doors = doors or threads

    async def keep(self, delivery: Delivery) -> bool:
        """Keep a delivery; False where it is known already."""
        return await _on(self._doors, self._inbox.keep, delivery)

    async def claim(self, at_once: int, busy: Collection[str] = ()) -> tuple[KeptDelivery, ...]:
        """Take what no other live runner sees to."""
        return await _on(self._threads, self._inbox.claim, at_once, busy)

    async def done(self, delivery: Delivery) -> None:
        """Say that a delivery is seen to."""
        await _on(self._threads, self._inbox.done, delivery)

    async def failed(self, delivery: Delivery, retry_after: timedelta, error: str) -> None:
        """Say that it could not be seen to, and when to try again."""
        await _on(self._threads, self._inbox.failed, delivery, retry_after, error)

    async def waiting(self) -> int:
        """Return how many deliveries are not seen to yet."""
        return await _on(self._threads, self._inbox.waiting)


class AwaitedCases:
    """The cases on the threads of an executor; keeps `alarm_contracts.Cases`."""

    def __init__(self, cases: Cases, threads: ThreadPoolExecutor) -> None:
        self._cases = cases
        self._threads = threads

    async def told(self, delivery: Delivery, key: str, group: str, brakes: Brakes) -> Course:
        """Say that a case fires, and return where it goes."""
        return await _on(self._threads, self._cases.told, delivery, key, group, brakes)

    async def over(self, delivery: Delivery) -> str:
        """Say that a case is over, and return its group."""
        return await _on(self._threads, self._cases.over, delivery)

    async def open_cases(self, source: SourceKind, since: datetime) -> tuple[OpenCase, ...]:
        """Return a source's cases that opened since then and are not over."""
        return await _on(self._threads, self._cases.open_cases, source, since)

    async def incidents_of(self, group: str) -> tuple[str, ...]:
        """Return the ids of a group's incidents."""
        return await _on(self._threads, self._cases.incidents_of, group)

    async def storm(self, name: str, brakes: Brakes) -> Storm:
        """Return what a storm has come to."""
        return await _on(self._threads, self._cases.storm, name, brakes)
