"""What a runner's loop sees to, when, and what it leaves alone; clock, sleep, ledger and leases are handed in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.domain.contracts import AdvanceLater
from bot.domain.errors import LedgerUnavailable
from bot.engine import ADVANCED_AT_ONCE, BEAT_EVERY, CLAIM_EVERY, OFFER_EVERY, OFFERED_FOR, TICK, Engine
from tests.record.engine_runner import FOREVER, HandedLeases, Runner, World, never, settled


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def runner(world: World) -> Callable[..., Runner]:
    def made(me: str = "a", sleep: Any = never) -> Runner:
        made = Runner.__new__(Runner)
        leases: Any = HandedLeases(world, me)
        engine = Engine(
            advance=lambda incident: made.advance(incident),
            ledger=world,  # type: ignore[arg-type]
            leases=leases,
            groups=world,
            surfaces=(made,),
            log=lambda event, **fields: made.logged.append({"event": event, **fields}),
            clock=world.clock,
            sleep=sleep,
        )
        made.__init__(engine, world)  # type: ignore[misc]
        return made

    return made


async def test_open_incident_is_claimed_shown_and_advanced(world: World, runner: Callable[..., Runner]) -> None:
    world.put("one", "g1")
    world.put("two", "g1")
    a = runner()
    await a.tick()
    assert (a.advanced, a.shown, a.claimed) == (["one", "two"], ["g1"], ["g1"])
    await a.tick(after=TICK)
    assert (a.advanced, a.shown, a.claimed) == (["one", "two"], ["g1"], ["g1"]), "nothing changed"


async def test_group_of_another_live_runner_is_left_alone(world: World, runner: Callable[..., Runner]) -> None:
    world.put("one")
    world.leases["one"] = "b"
    a = runner()
    await a.tick()
    world.put("one")
    await a.tick(after=CLAIM_EVERY)
    assert (a.advanced, a.shown, a.claimed) == ([], [], [])
    world.alive.discard("b")
    await a.tick(after=CLAIM_EVERY)
    assert (a.advanced, a.shown, a.claimed) == (["one"], ["one"], ["one"])


async def test_what_was_opened_here_is_seen_to_also_where_it_went_on_before_we_knew(
    world: World, runner: Callable[..., Runner]
) -> None:
    a = runner()
    await a.tick()
    world.leases |= {"quick": "a", "slow": "a"}  # whoever opens an incident takes its lease first
    world.put("quick", ended=True)
    world.put("slow")
    await a.tick(after=TICK)
    assert a.shown == [], "whose they are is asked less often"
    await a.tick(after=CLAIM_EVERY)
    assert (sorted(a.shown), a.advanced, a.claimed) == (["quick", "slow"], ["slow"], [])
    await a.tick(after=BEAT_EVERY)
    assert set(world.leases) == {"slow"}, "what is over and shown is let go"


async def test_runner_that_can_write_no_heartbeat_draws_nothing_that_another_has_by_now(
    world: World, runner: Callable[..., Runner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newer program has upgraded the record: an older one reads it, and writes nothing."""
    world.put("one")
    a = runner()
    await a.tick()

    async def refuses(*_: object) -> Any:
        raise LedgerUnavailable("The ledger's database has version 19, and this program knows up to 18.")

    with monkeypatch.context() as shut_out:
        shut_out.setattr(HandedLeases, "beat", refuses)
        shut_out.setattr(HandedLeases, "claim", refuses)
        for _ in range(6):
            await a.tick(after=BEAT_EVERY)
        world.put("one")
        await a.tick(after=TICK)
        assert (a.shown, a.advanced) == (["one"], ["one"])
    await a.tick(after=CLAIM_EVERY)
    assert (a.shown, a.advanced) == (["one"] * 2, ["one"] * 2), "nobody else has taken it"


async def test_what_changed_is_advanced_and_shown_again(world: World, runner: Callable[..., Runner]) -> None:
    world.put("one")
    a = runner()
    await a.tick()
    world.put("one")
    await a.tick(after=TICK)
    assert (a.advanced, a.shown) == (["one"] * 2, ["one"] * 2)
    assert a.claimed == ["one"], "it was ours"


async def test_incident_is_advanced_until_it_waits_and_again_when_its_time_has_come(
    world: World, runner: Callable[..., Runner]
) -> None:
    world.put("one")
    a = runner()
    a.answers["one"] = [AdvanceLater(), AdvanceLater(), AdvanceLater(timedelta(seconds=3)), FOREVER]
    await a.tick()
    assert a.advanced == ["one"] * 3
    await a.tick(after=2.9)
    assert a.advanced == ["one"] * 3
    await a.tick(after=0.2)
    assert a.advanced == ["one"] * 4


async def test_one_incident_is_never_advanced_twice_at_once(world: World, runner: Callable[..., Runner]) -> None:
    world.put("one")
    a = runner()
    a.held = asyncio.Event()
    await a.tick()
    for _ in range(3):
        world.put("one")
        a.engine.advance_now("one")
        await a.tick(after=CLAIM_EVERY)
    assert a.advanced == ["one"]
    a.held.set()
    await settled()
    assert a.advanced == ["one", "one"], "once more for all that came meanwhile"


async def test_no_more_are_advanced_at_once_than_the_cap(world: World, runner: Callable[..., Runner]) -> None:
    for number in range(ADVANCED_AT_ONCE + 5):
        world.put(f"i{number}")
    a = runner()
    a.held = asyncio.Event()
    await a.tick()
    assert len(a.advanced) == len(a.engine.advancing) == ADVANCED_AT_ONCE
    a.held.set()
    await settled()
    assert len(a.advanced) == ADVANCED_AT_ONCE + 5


async def test_advance_that_fails_is_tried_again_less_and_less_often(
    world: World, runner: Callable[..., Runner]
) -> None:
    for incident in ("one", "two"):
        world.put(incident)
    a = runner()
    a.answers["one"] = [ValueError("a fault of ours")] * 3 + [FOREVER]
    await a.tick()
    assert a.advanced == ["one", "two"], "the others go on"
    for pause in (1.0, 2.0, 4.0):
        before = len(a.advanced)
        await a.tick(after=pause - 0.1)
        assert len(a.advanced) == before
        await a.tick(after=0.2)
        assert len(a.advanced) == before + 1
    said = [
        (line["incident"], line["kind"], line["again_in_seconds"]) for line in a.logged if "again_in_seconds" in line
    ]
    assert said == [("one", "ValueError", 1.0), ("one", "ValueError", 2.0), ("one", "ValueError", 4.0)]


async def test_ledger_that_is_gone_is_logged_once_and_asked_again(world: World, runner: Callable[..., Runner]) -> None:
    world.put("one")
    a = runner()
    world.is_broken = True
    for _ in range(5):
        await a.tick(after=TICK)
    assert [line["event"] for line in a.logged] == ["ledger_unavailable"]
    world.is_broken = False
    await a.tick(after=TICK)
    assert a.advanced == ["one"]


async def test_show_that_fails_is_tried_again(world: World, runner: Callable[..., Runner]) -> None:
    world.put("one")
    a = runner()
    a.show_fails = 1
    await a.tick()
    assert a.shown == []
    await a.tick(after=1.1)
    assert a.shown == ["one"]


async def test_end_is_shown_and_then_let_go_but_not_while_a_post_waits(
    world: World, runner: Callable[..., Runner]
) -> None:
    world.put("one", "g1")
    world.put("two", "g1")
    a = runner()
    await a.tick()
    world.put("one", "g1", ended=True)
    await a.tick(after=BEAT_EVERY)
    assert world.leases == {"g1": "a"}, "the other is open"
    world.waiting.add("g1")
    world.put("two", "g1", ended=True)
    await a.tick(after=BEAT_EVERY)
    await a.tick(after=BEAT_EVERY)
    assert a.shown == ["g1"] * 3
    assert world.leases == {"g1": "a"}
    world.waiting.clear()
    await a.tick(after=BEAT_EVERY)
    assert world.leases == {}
    await a.tick(after=CLAIM_EVERY)
    assert (a.engine.mine, a.claimed) == (frozenset(), ["g1"])


async def test_end_that_a_dead_runner_did_not_show_is_shown(world: World, runner: Callable[..., Runner]) -> None:
    world.put("one", ended=True)
    world.leases["one"] = "dead"
    a = runner()
    await a.tick()
    assert (a.shown, a.advanced) == (["one"], [])
    await a.tick(after=BEAT_EVERY)
    assert world.leases == {}


async def test_incident_that_another_took_is_not_advanced_any_more(world: World, runner: Callable[..., Runner]) -> None:
    world.put("one")
    a = runner()
    a.answers["one"] = [AdvanceLater(timedelta(seconds=CLAIM_EVERY + 1))]
    await a.tick()
    world.leases["one"] = "b"
    await a.tick(after=CLAIM_EVERY)
    await a.tick(after=CLAIM_EVERY + 1)
    assert a.advanced == ["one"]
    assert [line["event"] for line in a.logged][-1] == "lease_lost"


async def test_what_only_another_can_do_is_let_go_for_a_while_and_taken_back_where_there_is_none(
    world: World, runner: Callable[..., Runner]
) -> None:
    world.put("one")
    a, b = runner(), runner("b")
    a.answers["one"] = [AdvanceLater(timedelta(seconds=5), "this bot does not act", elsewhere=True)]
    await a.tick()
    await a.tick(after=OFFERED_FOR)
    assert (a.claimed, a.advanced) == (["one"], ["one"])
    await a.tick(after=CLAIM_EVERY)
    await a.tick(after=5)
    assert (a.claimed, a.advanced) == (["one"] * 2, ["one"] * 3), "it kept what nobody took, and asks as ever"
    await a.tick(after=OFFER_EVERY)
    await b.tick()
    await a.tick(after=OFFERED_FOR + CLAIM_EVERY)
    assert (b.advanced, world.leases, len(a.claimed)) == (["one"], {"one": "b"}, 2)


async def test_click_that_arrived_here_is_seen_to_here_and_at_once(world: World, runner: Callable[..., Runner]) -> None:
    world.put("one", "g1")
    world.leases["g1"] = "b"
    a = runner()
    await a.tick()
    world.put("one", "g1")
    a.engine.advance_now("one")
    await settled()
    assert (a.advanced, world.leases) == (["one"], {"g1": "a"})


async def test_kick_wakes_the_loop_that_sleeps(world: World, runner: Callable[..., Runner]) -> None:
    world.put("one")
    world.leases["one"] = "b"
    a = runner()
    a.engine.start()
    await settled()
    world.put("one")
    a.engine.advance_now("one")
    await settled()
    assert ("one" in a.advanced, a.shown) == (True, ["one"]), "though no time has passed"
    await a.engine.leave()


async def test_stop_waits_for_what_is_being_done_beats_meanwhile_and_leaves_the_rest(
    world: World, runner: Callable[..., Runner]
) -> None:
    world.put("one")
    a = runner()
    a.held = asyncio.Event()
    a.answers["one"] = [AdvanceLater()]
    await a.tick()
    draining = asyncio.create_task(a.engine.drain(5))
    await settled()
    world.put("two")
    beats = len(world.beats)
    await a.tick(after=BEAT_EVERY)
    assert len(world.beats) == beats + 1
    world.put("one")
    a.held.set()
    await draining
    assert a.advanced == ["one"], "it does not go on, and nothing else begins"
    assert a.shown[-1] == "one"
    await a.engine.leave()
    assert "a" not in world.alive


async def test_stop_breaks_off_what_does_not_end(world: World, runner: Callable[..., Runner]) -> None:
    world.put("one")
    a = runner()
    a.held = asyncio.Event()
    await a.tick()
    async with asyncio.timeout(2):
        await a.engine.drain(0.01)
    assert a.engine.advancing == frozenset()


async def test_thousand_open_incidents_cost_no_query_each(world: World, runner: Callable[..., Runner]) -> None:
    for number in range(1000):
        world.put(f"i{number}")
    a = runner()
    await a.tick()
    while len(a.advanced) < 1000:
        await a.tick()
    before = world.asked
    for _ in range(10):
        await a.tick(after=TICK)
    assert world.asked - before <= 10 + 10 * TICK / CLAIM_EVERY + 10 * TICK / BEAT_EVERY + 1
    assert len(a.advanced) == 1000
    await a.engine.leave()  # many are still being shown


def test_summary_without_a_group_is_its_own_card(world: World) -> None:
    world.put("one")
    line = world.lines["one"][1]
    assert (line.card, replace(line, group="g1").card) == ("one", "g1")
