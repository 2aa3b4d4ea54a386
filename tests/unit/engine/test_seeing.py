"""A group that went on here is shown, also after its end, by whoever sees to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bot.engine import BEAT_EVERY, TICK, Engine
from tests.record.engine_runner import HandedLeases, Runner, World, never, settled


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def runner(world: World) -> Callable[..., Runner]:
    def made(me: str = "a") -> Runner:
        made: Any = Runner.__new__(Runner)
        engine = Engine(
            advance=lambda incident: made.advance(incident),
            ledger=world,  # type: ignore[arg-type]
            leases=HandedLeases(world, me),  # type: ignore[arg-type]
            groups=world,
            surfaces=(made,),
            log=lambda event, **fields: made.logged.append({"event": event, **fields}),
            clock=world.clock,
            sleep=never,
        )
        made.__init__(engine, world)
        return made  # type: ignore[no-any-return]

    return made


async def test_group_that_has_ended_is_shown_again_and_let_go(world: World, runner: Callable[..., Runner]) -> None:
    world.put("one", "g1")
    a = runner()
    await a.tick()
    world.put("one", "g1", ended=True)
    await a.tick(after=TICK)
    await a.tick(after=BEAT_EVERY)
    shown = len(a.shown)
    assert "g1" not in world.leases
    world.put("one", "g1", ended=True)  # its source told something of it
    await a.tick(after=TICK)
    assert len(a.shown) == shown, "nobody sees to it any more"
    await a.engine.show_changed("g1")
    await a.tick()
    assert len(a.shown) == shown + 1
    await a.tick(after=BEAT_EVERY)
    assert "g1" not in world.leases


async def test_group_of_another_live_runner_is_shown_by_that_one(world: World, runner: Callable[..., Runner]) -> None:
    world.put("one", "g1")
    world.leases["g1"] = "b"
    a = runner()
    await a.tick()
    await a.engine.show_changed("g1")
    await a.tick(after=TICK)
    assert (a.shown, world.leases) == ([], {"g1": "b"})


async def test_group_that_was_opened_here_is_seen_to_at_once(world: World, runner: Callable[..., Runner]) -> None:
    a = runner()
    await a.tick()
    world.put("one", "g1")
    await a.engine.show_changed("g1")
    await a.tick()
    assert (a.shown, a.advanced, world.leases) == (["g1"], ["one"], {"g1": "a"})
    world.is_broken = True
    await a.engine.show_changed("g1")
    assert a.engine.mine == {"g1"}, "a ledger that cannot be asked ends nothing"


async def test_what_was_decided_here_is_shown_also_where_it_was_looked_at_before(
    world: World, runner: Callable[..., Runner]
) -> None:
    a = runner()
    world.leases["g1"] = "b"
    world.put("one", "g1")
    await a.tick()
    assert a.shown == [], "it is another's"
    a.engine.advance_now("one")
    await settled()
    await a.tick()
    assert a.shown == ["g1"]
