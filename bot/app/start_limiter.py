"""When to start the next of many nodes: a program that falls behind makes nodes look slow, then silent.

Three things delay the next node: the event loop is slow, many answers wait to be parsed, or many nodes that were just
started have not answered yet (they may share a jump host). A node that stays silent soon stops counting, so that dead
nodes do not delay the others.
"""

from __future__ import annotations

import asyncio

from bot.domain.contracts import Listener, ProbeAnswered, Progress, VerdictReached
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.verdict import Verdict
from bot.response.diagnosis.scheduler import Diagnose
from bot.response.diagnosis.triage import CpuLock

ROUND_SECONDS = 0.02  # a turn of the event loop; when idle it takes microseconds
MOST_WAITING = 3_000  # answers to parse: a second; whole nodes that wait are bounded by how many are read at once
MOST_SILENT, SILENT_SECONDS = 200, 8.0  # after that a login is given up
PAUSE_SECONDS = 0.005


class StartLimiter:
    """Lets node after node start; `note_progress` has to be called with their progress.

    Shape: `processes` is how many of them share what all may have started at once.
    """

    def __init__(self, cpu_lock: CpuLock, processes: int = 1) -> None:
        self._cpu_lock = cpu_lock
        self._most_silent = MOST_SILENT // processes
        self._turn = asyncio.Lock()
        self._silent: dict[str, float] = {}  # when each was started, the earliest first

    def paced(self, diagnose: Diagnose) -> Diagnose:
        """Return the same diagnosis, which begins once its node may start."""

        async def in_time(node: Node, playbook: Playbook, heard: Listener) -> Verdict:
            def progress(event: Progress) -> None:
                self.note_progress(event)
                heard(event)

            await self.wait_to_start(node.name)
            try:
                return await diagnose(node, playbook, progress)
            finally:
                self.note_end(node.name)

        return in_time

    def note_progress(self, event: Progress) -> None:
        """Take in a node's answer or end."""
        match event:
            case ProbeAnswered(node=name):
                self._silent.pop(name, None)
            case VerdictReached(verdict=verdict):
                self.note_end(verdict.node)

    def note_end(self, name: str) -> None:
        """Count a node no longer, also a node that ended without a verdict: its key's file is missing, say."""
        self._silent.pop(name, None)

    async def wait_to_start(self, name: str) -> None:
        """Return once this node may start."""
        loop = asyncio.get_running_loop()
        async with self._turn:
            while True:
                before = loop.time()
                await asyncio.sleep(0)
                now = loop.time()
                if now - before < ROUND_SECONDS and self._cpu_lock.waiting < MOST_WAITING and self._has_room(now):
                    break
                await asyncio.sleep(PAUSE_SECONDS)
            self._silent[name] = now

    def _has_room(self, now: float) -> bool:
        while self._silent and now - next(iter(self._silent.values())) > SILENT_SECONDS:
            del self._silent[next(iter(self._silent))]
        return len(self._silent) < self._most_silent
