"""An engine over a world that is handed in: ledger, leases, clock, and what its advances answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.domain.contracts import AdvanceLater
from bot.domain.errors import LedgerUnavailable
from bot.domain.incident import Changes, Incident, IncidentSummary
from bot.domain.transitions import State
from bot.engine import Engine
from tests.record.incidents import ALERT

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
FOREVER = AdvanceLater(timedelta(days=1))


@dataclass
class World:
    """A ledger's list, its leases, and a clock; `runner` is who asks."""

    seconds: float = 0.0
    lines: dict[str, tuple[int, IncidentSummary]] = field(default_factory=dict)
    leases: dict[str, str] = field(default_factory=dict)
    alive: set[str] = field(default_factory=lambda: {"a", "b"})
    waiting: set[str] = field(default_factory=set)
    beats: list[float] = field(default_factory=list)
    asked: int = 0
    is_broken: bool = False

    def clock(self) -> float:
        return self.seconds

    def put(self, incident: str, group: str = "", ended: bool = False) -> None:
        line = IncidentSummary(incident, "node-1", group, State.APPROVED, None, "terminal", "", NOW, NOW, ended)
        self.lines[incident] = (max((number for number, _ in self.lines.values()), default=0) + 1, line)

    def _ask(self) -> None:
        self.asked += 1
        if self.is_broken:
            raise LedgerUnavailable("The database is locked.")

    async def changed(self, since: int | None = None) -> Changes:
        self._ask()
        lines = sorted(self.lines.values(), key=lambda one: one[0])
        told = tuple(line for number, line in lines if (number > since if since is not None else not line.ended))
        return Changes(max((number for number, _ in lines), default=0), told)

    async def incidents_of_card(self, card: str) -> Sequence[Incident]:
        return [
            Incident(one.id, one.node, one.group, ALERT, one.state, NOW, NOW, 1, "")
            for _, one in self.lines.values()
            if one.card == card
        ]


class HandedLeases:
    """One runner's leases in a world."""

    def __init__(self, world: World, me: str) -> None:
        self.world = world
        self.me = me
        self.claimed: list[str] = []

    async def beat(self) -> None:
        self.world._ask()
        self.world.beats.append(self.world.seconds)

    async def take(self, group: str, by_force: bool = False) -> bool:
        self.world._ask()
        if not by_force and self.world.leases.get(group, self.me) in self.world.alive - {self.me}:
            return False
        self.world.leases[group] = self.me
        return True

    async def claim(self) -> tuple[str, ...]:
        self.world._ask()
        cards = {one.card for _, one in self.world.lines.values() if not one.ended} | set(self.world.leases)
        free = sorted(card for card in cards if self.world.leases.get(card) not in self.world.alive)
        self.world.leases |= dict.fromkeys(free, self.me)
        self.claimed += free
        return tuple(free)

    async def mine(self) -> frozenset[str]:
        return frozenset(group for group, runner in self.world.leases.items() if runner == self.me)

    async def let_go(self, groups: Iterable[str]) -> None:
        for group in set(groups) - self.world.waiting:
            if self.world.leases.get(group) == self.me:
                del self.world.leases[group]

    async def leave(self) -> None:
        self.world.alive.discard(self.me)


class Runner:
    """An engine, what it did, and what its advances answer."""

    def __init__(self, world: World, me: str = "a", leases: type[HandedLeases] = HandedLeases, **more: Any) -> None:
        self.world = world
        self.leases = leases(world, me)
        self.advanced: list[str] = []
        self.shown: list[str] = []
        self.logged: list[dict[str, Any]] = []
        self.answers: dict[str, list[AdvanceLater | Exception | None]] = {}
        self.held: asyncio.Event | None = None
        self.show_fails = 0
        ledger: Any = world
        own: Any = self.leases
        self.engine = Engine(
            self.advance, ledger, own, world, (self,), self.log, world.clock, **{"sleep": never, **more}
        )

    def log(self, event: str, **fields: Any) -> None:
        self.logged.append({"event": event, **fields})

    @property
    def claimed(self) -> list[str]:
        """The groups that became this runner's because nobody saw to them."""
        return list(self.leases.claimed)

    async def tick(self, *, after: float = 0.0) -> None:
        self.world.seconds += after
        await self.engine.tick()
        await settled()

    async def advance(self, incident: str) -> AdvanceLater | None:
        self.advanced.append(incident)
        if self.held is not None:
            await self.held.wait()
        answers = self.answers.get(incident) or [FOREVER]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def show(self, group: Sequence[Incident]) -> None:
        if self.show_fails:
            self.show_fails -= 1
            raise RuntimeError("Slack is on fire")
        self.shown.append(group[0].card)


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def never(_: float) -> None:
    await asyncio.Event().wait()
