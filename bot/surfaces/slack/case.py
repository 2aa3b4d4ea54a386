"""One check in Slack, seen through: its card, its nodes' readings, what they come to, and the record of it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from bot.domain.contracts import Sleep
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.verdict import Verdict
from bot.response.checks import CheckDesk
from bot.response.record import Opening, Record
from bot.surfaces.slack.live_card import LiveCard
from bot.surfaces.slack.part import Spot
from bot.surfaces.slack.poster import CARD, Poster
from bot.surfaces.slack.thread import details
from bot.surfaces.view.plan_words import BY_NAME, PlanWords

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds between two tries to write a verdict down


@dataclass(frozen=True, slots=True)
class Rooms:
    """What a check needs of the house."""

    checks: CheckDesk
    poster: Poster
    record: Record
    playbook: Playbook
    sleep: Sleep = asyncio.sleep
    words: PlanWords = BY_NAME


class Case:
    """A check of some nodes; `known` are the verdicts that an earlier run of the program came to."""

    def __init__(
        self, rooms: Rooms, opening: Opening, spot: Spot, names: Sequence[str], known: Sequence[Verdict] = ()
    ) -> None:
        self._rooms = rooms
        self._opening = opening
        self._spot = spot
        incidents = {name: opening.incident(name) for name in names}
        self._live = LiveCard(incidents, opening.by.rpartition("/")[2], self._show, known, rooms.words)

    async def begin(self, nodes: Sequence[Node]) -> None:
        """Post the card and see every node through; the first one's incident is on record already."""
        await self._owe_card()
        await self._all([self._one(node, unopened=number > 0) for number, node in enumerate(nodes)])

    async def go_on(self, nodes: Sequence[Node], gone: Sequence[Verdict]) -> None:
        """Take up the card that an earlier run left, and see those nodes through; `gone` are verdicts without one."""
        if await self._rooms.poster.adopt(self._opening.group, self._spot):
            self._show()
        else:
            await self._owe_card()
        await self._all([self._one(node) for node in nodes] + [self._conclude(verdict) for verdict in gone])

    async def _all(self, work: Sequence[Coroutine[Any, Any, None]]) -> None:
        try:
            came_to = await asyncio.gather(*work, return_exceptions=True)
        finally:
            self._rooms.poster.finished(self._opening.group)
        failures = [one for one in came_to if isinstance(one, Exception)]
        if failures:
            raise ExceptionGroup("a verdict could not be shown", failures)

    async def _one(self, node: Node, *, unopened: bool = False) -> None:
        if unopened:
            await self._rooms.record.opened(self._opening, node.name)
        verdict = await self._rooms.checks.ask(
            self._opening.by,
            node,
            self._rooms.playbook,
            self._live.heard,
            lambda why: self._live.waiting(node.name, why),
        )
        if verdict is not None:  # else the bot is stopping, and owes it
            await self._conclude(verdict)

    async def _conclude(self, verdict: Verdict) -> None:
        """Show a verdict, and only then put it on record: what the record lacks is read again after a restart."""
        incident = self._opening.incident(verdict.node)
        try:
            self._live.concluded(verdict)
            if self._live.is_final:
                await self._owe_card()
            for number, message in enumerate(details(verdict, incident), 1):
                name = f"details-{incident}-{number}"
                await self._rooms.poster.owe(self._opening.group, name, self._spot, message, under=CARD)
        finally:
            await self._on_record(verdict)

    async def _on_record(self, verdict: Verdict) -> None:
        """Write the verdict down, however long the ledger cannot be asked: nobody else will."""
        pause = FIRST_PAUSE
        while not await self._rooms.record.triaged(self._opening, verdict, self._rooms.playbook):
            await self._rooms.sleep(pause)
            pause = min(LONGEST_PAUSE, pause * 2)

    def _show(self) -> None:
        self._rooms.poster.show(self._opening.group, self._spot, self._live.message)

    async def _owe_card(self) -> None:
        await self._rooms.poster.owe(self._opening.group, CARD, self._spot, self._live.message())
