"""Checks that people ask for: bounded for each person and in all, shared where two ask for the same node at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bot.domain.contracts import Listener, Progress
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.verdict import Verdict

Diagnose = Callable[[Node, Playbook, Listener], Awaitable[Verdict]]


@dataclass(slots=True)
class _Shared:
    """One reading under way, and everybody who listens to it."""

    task: asyncio.Task[Verdict]
    heard: list[Listener]
    so_far: list[Progress] = field(default_factory=list)


class CheckDesk:
    """Runs diagnoses, at most `at_once` in all and `each_at_once` for one person; the rest wait their turn."""

    def __init__(self, diagnose: Diagnose, at_once: int = 20, each_at_once: int = 10) -> None:
        self._diagnose = diagnose
        self._at_once = at_once
        self._each_at_once = each_at_once
        self._running = 0
        self._by_person: Counter[str] = Counter()
        self._freed = asyncio.Condition()
        self._shared: dict[tuple[str, str], _Shared] = {}

    @property
    def running(self) -> int:
        """How many nodes are being read now."""
        return self._running

    async def ask(
        self, person: str, node: Node, playbook: Playbook, heard: Listener, waiting: Callable[[str], None]
    ) -> Verdict:
        """Diagnose a node, or listen to whoever is reading it already; `waiting` is told why it cannot begin yet."""
        key = (node.name, playbook.name)
        shared = self._shared.get(key)
        if shared is None:
            await self._begin(person, waiting)
            shared = self._shared.get(key)  # somebody else may have begun meanwhile
            if shared is not None:
                await self._end(person)
        if shared is None:
            shared = self._start(key, person, node, playbook)
        for event in shared.so_far:
            heard(event)
        shared.heard.append(heard)
        return await asyncio.shield(shared.task)

    async def drain(self) -> None:
        """Wait until every reading under way has its verdict."""
        await asyncio.gather(*(shared.task for shared in self._shared.values()), return_exceptions=True)

    def _start(self, key: tuple[str, str], person: str, node: Node, playbook: Playbook) -> _Shared:
        listeners: list[Listener] = []
        so_far: list[Progress] = []

        def everybody(event: Progress) -> None:
            so_far.append(event)
            for listener in listeners:
                listener(event)

        async def run() -> Verdict:
            try:
                return await self._diagnose(node, playbook, everybody)
            finally:
                del self._shared[key]
                await self._end(person)

        shared = _Shared(asyncio.create_task(run(), name=f"check {node.name}"), listeners, so_far)
        self._shared[key] = shared
        return shared

    async def _begin(self, person: str, waiting: Callable[[str], None]) -> None:
        async with self._freed:
            while why := self._why_not(person):
                waiting(why)
                await self._freed.wait()
            self._running += 1
            self._by_person[person] += 1

    async def _end(self, person: str) -> None:
        async with self._freed:
            self._running -= 1
            self._by_person[person] -= 1
            if not self._by_person[person]:
                del self._by_person[person]
            self._freed.notify_all()

    def _why_not(self, person: str) -> str:
        if self._running >= self._at_once:
            return f"{self._running} nodes are being read, the most at once"
        if self._by_person[person] >= self._each_at_once:
            return f"{self._each_at_once} of your nodes are being read, the most for one person"
        return ""
