"""When the next node of many may be begun: a program that is behind makes nodes look slow, and then silent.

Three things hold the next one back: the event loop goes round slowly, many answers wait to be parsed, or many nodes
that were begun a moment ago have not said anything yet (they may all be behind one jump host). A node that stays
silent soon stops counting, so that black holes hold nobody up.
"""

from __future__ import annotations

import asyncio

from bot.domain.contracts import Concluded, ProbeAnswered, Progress
from bot.response.diagnosis.triage import Thinking

ROUND_SECONDS = 0.02  # of the event loop; with nothing to do it takes microseconds
MOST_WAITING = 300  # answers to be parsed: a tenth of a second
MOST_SILENT, SILENT_SECONDS = 200, 8.0  # after that a login is given up
PAUSE_SECONDS = 0.005


class Pace:
    """Lets one node after another begin; `heard` has to be told what comes of them."""

    def __init__(self, thinking: Thinking) -> None:
        self._thinking = thinking
        self._turn = asyncio.Lock()
        self._silent: dict[str, float] = {}  # when each was begun, the first of them first

    def heard(self, event: Progress) -> None:
        """Take in what a node said, or that it is through."""
        match event:
            case ProbeAnswered(node=name):
                self._silent.pop(name, None)
            case Concluded(verdict=verdict):
                self._silent.pop(verdict.node, None)

    async def begin(self, name: str) -> None:
        """Return once this node may be begun."""
        loop = asyncio.get_running_loop()
        async with self._turn:
            while True:
                before = loop.time()
                await asyncio.sleep(0)
                now = loop.time()
                if now - before < ROUND_SECONDS and self._thinking.waiting < MOST_WAITING and self._has_room(now):
                    break
                await asyncio.sleep(PAUSE_SECONDS)
            self._silent[name] = now

    def _has_room(self, now: float) -> bool:
        while self._silent and now - next(iter(self._silent.values())) > SILENT_SECONDS:
            del self._silent[next(iter(self._silent))]
        return len(self._silent) < MOST_SILENT
