"""What a runner's loop sees to, when, and what it leaves alone; clock, sleep, ledger and leases are handed in."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.domain.contracts import AdvanceLater
from bot.domain.errors import LedgerUnavailable
from bot.engine import ADVANCED_AT_ONCE, BEAT_EVERY, CLAIM_EVERY, OFFER_EVERY, OFFERED_FOR, TICK, NoticeBoard
from tests.record.engine_runner import FOREVER, HandedLeases, Runner, World, settled


@pytest.fixture
def world() -> World:
    return World()


async def test_open_incident_is_claimed_shown_and_advanced(world: World) -> None:
    world.put("one", "g1")
    world.put("two", "g1")
    a = Runner(world)
    await a.tick()
    assert (a.advanced, a.shown, a.claimed) == (["one", "two"], ["g1"], ["g1"])
    await a.tick(after=TICK)
    assert (a.advanced, a.shown, a.claimed) == (["one", "two"], ["g1"], ["g1"]), "nothing changed"


async def test_group_of_another_live_runner_is_left_alone(world: World) -> None:
    world.put("one")
    world.leases["one"] = "b"
    a = Runner(world)
    await a.tick()
    world.put("one")
    await a.tick(after=CLAIM_EVERY)
    assert (a.advanced, a.shown, a.claimed) == ([], [], [])
    world.alive.discard("b")
    await a.tick(after=CLAIM_EVERY)
    assert (a.advanced, a.shown, a.claimed) == (["one"], ["one"], ["one"])


async def test_what_was_opened_here_is_seen_to_also_where_it_went_on_before_we_knew(world: World) -> None:
    a = Runner(world)
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
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newer program has upgraded the record: an older one reads it, and writes nothing."""
    world.put("one")
    a = Runner(world)
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


async def test_what_changed_is_advanced_and_shown_again(world: World) -> None:
    world.put("one")
    a = Runner(world)
    await a.tick()
    world.put("one")
    await a.tick(after=TICK)
    assert (a.advanced, a.shown) == (["one"] * 2, ["one"] * 2)
    assert a.claimed == ["one"], "it was ours"


async def test_incident_is_advanced_until_it_waits_and_again_when_its_time_has_come(world: World) -> None:
    world.put("one")
    a = Runner(world)
    a.answers["one"] = [AdvanceLater(), AdvanceLater(), AdvanceLater(timedelta(seconds=3)), FOREVER]
    await a.tick()
    assert a.advanced == ["one"] * 3
    await a.tick(after=2.9)
    assert a.advanced == ["one"] * 3
    await a.tick(after=0.2)
    assert a.advanced == ["one"] * 4


async def test_one_incident_is_never_advanced_twice_at_once(world: World) -> None:
    world.put("one")
    a = Runner(world)
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


async def test_no_more_are_advanced_at_once_than_the_cap(world: World) -> None:
    for number in range(ADVANCED_AT_ONCE + 5):
        world.put(f"i{number}")
    a = Runner(world)
    a.held = asyncio.Event()
    await a.tick()
    assert len(a.advanced) == len(a.engine.advancing) == ADVANCED_AT_ONCE
    a.held.set()
    await settled()
    assert len(a.advanced) == ADVANCED_AT_ONCE + 5


async def test_advance_that_fails_is_tried_again_less_and_less_often(world: World) -> None:
    for incident in ("one", "two"):
        world.put(incident)
    a = Runner(world)
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


async def test_ledger_that_is_gone_is_logged_once_and_asked_again(world: World) -> None:
    world.put("one")
    a = Runner(world)
    world.is_broken = True
    for _ in range(5):
        await a.tick(after=TICK)
    assert [line["event"] for line in a.logged] == ["ledger_unavailable"]
    world.is_broken = False
    await a.tick(after=TICK)
    assert a.advanced == ["one"]


async def test_show_that_fails_is_tried_again(world: World) -> None:
    world.put("one")
    a = Runner(world)
    a.show_fails = 1
    await a.tick()
    assert a.shown == []
    await a.tick(after=1.1)
    assert a.shown == ["one"]


async def test_end_is_shown_and_then_let_go_but_not_while_a_post_waits(world: World) -> None:
    world.put("one", "g1")
    world.put("two", "g1")
    a = Runner(world)
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


async def test_end_that_a_dead_runner_did_not_show_is_shown(world: World) -> None:
    world.put("one", ended=True)
    world.leases["one"] = "dead"
    a = Runner(world)
    await a.tick()
    assert (a.shown, a.advanced) == (["one"], [])
    await a.tick(after=BEAT_EVERY)
    assert world.leases == {}


async def test_incident_that_another_took_is_not_advanced_any_more(world: World) -> None:
    world.put("one")
    a = Runner(world)
    a.answers["one"] = [AdvanceLater(timedelta(seconds=CLAIM_EVERY + 1))]
    await a.tick()
    world.leases["one"] = "b"
    await a.tick(after=CLAIM_EVERY)
    await a.tick(after=CLAIM_EVERY + 1)
    assert a.advanced == ["one"]
    assert [line["event"] for line in a.logged][-1] == "lease_lost"


async def test_what_only_another_can_do_is_let_go_for_a_while_and_taken_back_where_there_is_none(world: World) -> None:
    world.put("one")
    a, b = Runner(world), Runner(world, "b")
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


async def test_click_that_arrived_here_is_seen_to_here_and_at_once(world: World) -> None:
    world.put("one", "g1")
    world.leases["g1"] = "b"
    a = Runner(world)
    await a.tick()
    world.put("one", "g1")
    a.engine.advance_now("one")
    await settled()
    assert (a.advanced, world.leases) == (["one"], {"g1": "a"})


async def test_kick_wakes_the_loop_that_sleeps(world: World) -> None:
    world.put("one")
    world.leases["one"] = "b"
    a = Runner(world)
    a.engine.start()
    await settled()
    world.put("one")
    a.engine.advance_now("one")
    await settled()
    assert ("one" in a.advanced, a.shown) == (True, ["one"]), "though no time has passed"
    await a.engine.leave()


async def test_stop_waits_for_what_is_being_done_beats_meanwhile_and_leaves_the_rest(world: World) -> None:
    world.put("one")
    a = Runner(world)
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


async def test_stop_breaks_off_what_does_not_end(world: World) -> None:
    world.put("one")
    a = Runner(world)
    a.held = asyncio.Event()
    await a.tick()
    async with asyncio.timeout(2):
        await a.engine.drain(0.01)
    assert a.engine.advancing == frozenset()


async def test_thousand_open_incidents_cost_no_query_each(world: World) -> None:
    for number in range(1000):
        world.put(f"i{number}")
    a = Runner(world)
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


# --- a group that went on here is shown, also after its end, by whoever sees to it


async def test_group_that_has_ended_is_shown_again_and_let_go(world: World) -> None:
    world.put("one", "g1")
    a = Runner(world)
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


async def test_group_of_another_live_runner_is_shown_by_that_one(world: World) -> None:
    world.put("one", "g1")
    world.leases["g1"] = "b"
    a = Runner(world)
    await a.tick()
    await a.engine.show_changed("g1")
    await a.tick(after=TICK)
    assert (a.shown, world.leases) == ([], {"g1": "b"})


async def test_group_that_was_opened_here_is_seen_to_at_once(world: World) -> None:
    a = Runner(world)
    await a.tick()
    world.put("one", "g1")
    await a.engine.show_changed("g1")
    await a.tick()
    assert (a.shown, a.advanced, world.leases) == (["g1"], ["one"], {"g1": "a"})
    world.is_broken = True
    await a.engine.show_changed("g1")
    assert a.engine.mine == {"g1"}, "a ledger that cannot be asked ends nothing"


async def test_what_was_decided_here_is_shown_also_where_it_was_looked_at_before(world: World) -> None:
    a = Runner(world)
    world.leases["g1"] = "b"
    world.put("one", "g1")
    await a.tick()
    assert a.shown == [], "it is another's"
    a.engine.advance_now("one")
    await settled()
    await a.tick()
    assert a.shown == ["g1"]


# --- what is taken while the loop asks whose is what is not lost again


async def test_decision_that_another_runner_took_with_it_is_not_begun_here_as_well(world: World) -> None:
    world.put("one")
    a = Runner(world)
    await a.tick()
    world.leases["one"] = "b"
    world.put("one")
    await a.tick(after=TICK)  # whose it is would not be asked for yet
    assert a.advanced == ["one"], "once, before it was decided"


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


async def test_click_that_comes_while_the_leases_are_read_is_not_taken_for_a_lost_lease(world: World) -> None:
    world.put("one")
    world.leases["one"] = "b"
    a = Runner(world, leases=SlowLeases)
    assert isinstance(a.leases, SlowLeases)
    await a.tick()
    a.leases.answers.clear()
    ticking = asyncio.create_task(a.tick(after=CLAIM_EVERY))
    await settled()
    a.engine.advance_now("one")
    await settled()
    a.leases.answers.set()
    await ticking
    assert (set(a.advanced), set(a.engine.mine), len(a.logged)) == ({"one"}, {"one"}, 0)


async def test_what_was_being_done_when_another_took_it_is_not_gone_on_with(world: World) -> None:
    world.put("one")
    a = Runner(world)
    a.held, a.answers["one"] = asyncio.Event(), [AdvanceLater(timedelta(seconds=1))]
    await a.tick()
    world.leases["one"] = "b"
    await a.tick(after=CLAIM_EVERY)
    a.held.set()
    for _ in range(5):
        await a.tick(after=2)
    assert a.advanced == ["one"], "it is another's by now"


# --- what others tell it before or while it runs, and what it says that incidents wait for


async def test_what_is_told_reaches_the_engine_and_what_it_waits_for_is_known(world: World) -> None:
    notices = NoticeBoard()
    a = Runner(world, notices=notices)
    a.answers["decided"] = [AdvanceLater(timedelta(days=1), "the node is held")]
    world.put("decided")
    world.put("changed")
    world.leases |= {"decided": "b", "changed": "gone"}
    notices.decided("decided")
    assert notices.waits_for("decided") == ""
    a.engine.start()
    await settled()
    assert ("decided" in a.advanced, world.leases["decided"]) == (True, "a"), "also what was told before it began"
    assert notices.waits_for("decided") == "the node is held"
    notices.changed("changed")
    await settled()
    assert {"decided", "changed"} <= set(a.shown)
    world.put("decided", ended=True)
    await a.engine.tick()
    assert notices.waits_for("decided") == "", "it waits for nothing any more"
    await a.engine.leave()
