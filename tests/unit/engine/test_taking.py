"""What is taken while the loop asks whose is what is not lost again."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from bot.domain.contracts import AdvanceLater
from bot.engine import CLAIM_EVERY, TICK, Engine
from tests.record.engine_runner import FOREVER, HandedLeases, World, never, settled


class SlowLeases(HandedLeases):
    """Leases that are asked for some time."""

    def __init__(self, world: World, me: str) -> None:
        super().__init__(world, me)
        self.answers = asyncio.Event()
        self.answers.set()

    async def mine(self) -> frozenset[str]:
        """As it was when it was asked."""
        found = await super().mine()
        await self.answers.wait()
        return found


async def test_decision_that_another_runner_took_with_it_is_not_begun_here_as_well() -> None:
    world, advanced = World(), list[str]()
    world.put("one")

    async def advance(incident: str) -> Any:
        advanced.append(incident)
        return FOREVER

    leases = HandedLeases(world, "a")
    engine = Engine(advance, world, leases, world, (), _unheard, world.clock, never)  # type: ignore[arg-type]
    await engine.tick()
    await settled()
    world.leases["one"] = "b"
    world.put("one")
    world.seconds += TICK  # whose it is would not be asked for yet
    await engine.tick()
    await settled()
    assert advanced == ["one"], "once, before it was decided"


def _unheard(event: str, **_: object) -> None:
    """Hears lines where a test needs none."""


async def test_click_that_comes_while_the_leases_are_read_is_not_taken_for_a_lost_lease() -> None:
    world, advanced, logged = World(), list[str](), list[str]()
    world.put("one")
    world.leases["one"] = "b"
    leases = SlowLeases(world, "a")

    async def advance(incident: str) -> Any:
        advanced.append(incident)
        return FOREVER

    def log(event: str, **_: object) -> None:
        logged.append(event)

    engine = Engine(advance, world, leases, world, (), log, world.clock, never)  # type: ignore[arg-type]
    await engine.tick()
    leases.answers.clear()
    world.seconds += CLAIM_EVERY
    ticking = asyncio.create_task(engine.tick())
    await settled()
    engine.advance_now("one")
    await settled()
    leases.answers.set()
    await ticking
    await settled()
    assert set(advanced) == {"one"}
    assert sorted(engine.mine) == ["one"]
    assert logged == []


async def test_what_was_being_done_when_another_took_it_is_not_gone_on_with() -> None:
    world, advanced, goes_on = World(), list[str](), asyncio.Event()
    world.put("one")

    async def advance(incident: str) -> Any:
        advanced.append(incident)
        await goes_on.wait()
        return AdvanceLater(timedelta(seconds=1))

    leases = HandedLeases(world, "a")
    engine = Engine(advance, world, leases, world, (), _unheard, world.clock, never)  # type: ignore[arg-type]
    await engine.tick()
    await settled()
    world.leases["one"] = "b"
    world.seconds += CLAIM_EVERY
    await engine.tick()
    goes_on.set()
    for _ in range(5):
        await settled()
        world.seconds += 2
        await engine.tick()
    await settled()
    assert advanced == ["one"], "it is another's by now"
