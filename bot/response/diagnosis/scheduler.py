"""Schedules checks: limited for each person and in total, shared when two ask for the same node at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bot.domain.contracts import Listener, Log, Progress, ReadingWaits
from bot.domain.defaults import CHECKS_EACH_AT_ONCE
from bot.domain.errors import ZombieError
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.safe_text import redacted_line
from bot.domain.verdict import Status, Verdict, without_secrets

AT_ONCE = 20  # while serving, where answers to people come before nodes
Diagnose = Callable[[Node, Playbook, Listener], Awaitable[Verdict]]


@dataclass(slots=True, eq=False)
class _Reading:
    """A node's reading, waiting or running, and everybody who waits for it.

    Shape: `verdict` is None when the bot stopped before the turn came.
    """

    node: Node
    playbook: Playbook
    verdict: asyncio.Future[Verdict | None]
    persons: list[str] = field(default_factory=list)
    listeners: list[Listener] = field(default_factory=list)
    so_far: list[Progress] = field(default_factory=list)
    task: asyncio.Task[None] | None = None

    def heard(self, event: Progress) -> None:
        self.so_far.append(event)
        for listener in self.listeners:
            listener(event)


class CheckScheduler:
    """Runs diagnoses, at most `at_once` in total and `each_at_once` for a person; the rest wait their turn.

    Shape: a shared reading counts for the first person who had room for it.
    """

    def __init__(
        self, diagnose: Diagnose, log: Log, at_once: int = AT_ONCE, each_at_once: int = CHECKS_EACH_AT_ONCE
    ) -> None:
        self._diagnose = diagnose
        self._log = log
        self._at_once = at_once
        self._each_at_once = each_at_once
        self._by_person: Counter[str] = Counter()
        self._readings: dict[tuple[str, str], _Reading] = {}  # in the order of the requests
        self._is_closed = False

    @property
    def running(self) -> int:
        """How many nodes are being read now."""
        return self._by_person.total()

    async def ask(self, person: str, node: Node, playbook: Playbook, heard: Listener) -> Verdict | None:
        """Diagnose a node, or join a running reading; `heard` is told why it cannot begin yet.

        Returns None when the bot stops before the reading began: the next run reads it.
        """
        if self._is_closed:
            return None
        key = (node.name, playbook.name)
        reading = self._readings.get(key)
        if reading is None:
            reading = _Reading(node, playbook, asyncio.get_running_loop().create_future())
            self._readings[key] = reading
        for event in reading.so_far:
            heard(event)
        reading.listeners.append(heard)
        reading.persons.append(person)
        self._start_permitted_reads()
        if reading.task is None:
            heard(ReadingWaits(node.name, self._waiting_reason(person)))
        return await asyncio.shield(reading.verdict)

    def close(self) -> None:
        """Begin no further reading; those that wait for their turn end without a verdict."""
        self._is_closed = True
        for key, reading in list(self._readings.items()):
            if reading.task is None:
                del self._readings[key]
                reading.verdict.set_result(None)

    async def cancel_running_reads(self) -> None:
        """Close the connections to nodes that are still being read."""
        tasks = [reading.task for reading in self._readings.values() if reading.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start_permitted_reads(self) -> None:
        for reading in self._readings.values():
            if self.running >= self._at_once:
                return
            if reading.task is None:
                person = next((asker for asker in reading.persons if self._has_room(asker)), None)
                if person is not None:
                    self._by_person[person] += 1
                    reading.task = asyncio.create_task(self._read(reading, person), name=f"check {reading.node.name}")

    def _has_room(self, person: str) -> bool:
        return self._by_person[person] < self._each_at_once

    async def _read(self, reading: _Reading, person: str) -> None:
        try:
            verdict = without_secrets(await self._diagnose(reading.node, reading.playbook, reading.heard))
            self._log(
                "checked",
                node=reading.node.name,
                status=verdict.status.value,
                cause=verdict.cause or "",
                took_seconds=round(verdict.took.total_seconds(), 3),
            )
        except ZombieError as no:
            self._log("diagnosis_failed", node=reading.node.name, error=str(no))
            verdict = unread_node_verdict(reading.node.name, no.sentence, no.try_next)
        # The serving loop: a bug at a node must not stop the others, nor the people who wait for it.
        except Exception as bug:  # noqa: BLE001
            self._log("diagnosis_failed", node=reading.node.name, error=repr(bug))
            verdict = unread_node_verdict(reading.node.name, f"The bot itself failed here: {redacted_line(repr(bug))}")
        except asyncio.CancelledError:
            reading.verdict.cancel()
            raise
        finally:
            del self._readings[reading.node.name, reading.playbook.name]
            self._by_person[person] -= 1
            if not self._by_person[person]:
                del self._by_person[person]
            self._start_permitted_reads()
        reading.verdict.set_result(verdict)

    def _waiting_reason(self, person: str) -> str:
        if self.running >= self._at_once:
            return f"{self.running} nodes are being read, which is the limit"
        return f"{self._by_person[person]} of your nodes are being read, which is the limit for a person"


def unread_node_verdict(node: str, because: str, try_next: str = "") -> Verdict:
    """Return the verdict on a node that was not read, for a reason that is not the node's."""
    return Verdict(node, Status.UNKNOWN, None, None, because, try_next=try_next)
