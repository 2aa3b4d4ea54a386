"""Scheduled sweeps of several programs at one database: each slot is swept once, and taken over from the dead."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from bot.app.factories import library
from bot.domain.errors import UsageError
from bot.domain.growth import HarmThreshold
from bot.domain.node import Node
from bot.extras.fleet.report import report
from bot.extras.fleet.settings import SweepSettings
from bot.extras.fleet.store import SweepStore
from bot.extras.fleet.sweep import Counted, Found, JudgedBy, NodeAnswer, NodeOutcome
from bot.extras.fleet.sweeps import SweepScheduler, scheduled
from bot.ledger import Database, Leases, ReadingStore
from bot.ledger.chat_requests import ChatRequestStore

PLAYBOOK = library().get("node-health")
LEAK = "leaked-memory-cgroups"
AT_NIGHT = datetime(2026, 11, 21, 22, tzinfo=UTC)
EVERY = timedelta(hours=1)
SAID = SweepSettings(every=EVERY, select=("role=gpu",), cause=(LEAK,), channel="C1", quiet=((22 * 60, 6 * 60),))


class Desk:
    """Stands in for the reading of nodes: one node, with so many dying cgroups."""

    def __init__(self) -> None:
        self.dying, self.runs = 2_000.0, 0
        self.fails = False
        self.lacks_a_key = False

    async def prepared(self, ask: Any) -> Any:
        if self.fails:
            raise UsageError("No node fits.")
        found = (Found(LEAK, "degraded", "possible", "many"),)
        counted = (Counted(LEAK, self.dying, "boot", HarmThreshold(28_571, "a core is held")),)
        answers = [NodeAnswer("gpu-1", NodeOutcome.ANSWERED, "degraded", found=found, counted=counted)]
        told = report([Node("gpu-1", "x")], answers, {LEAK: JudgedBy.SIGNATURE}, selected=1, seconds=0.1)
        return SimpleNamespace(answers=answers, report=told)

    async def run(self, run: Any, heard: Any) -> None:
        self.runs += 1
        if self.lacks_a_key:
            raise UsageError("There is no private key /keys/other.")


class Replica:
    """One program at the database, with a clock that all share."""

    def __init__(self, database: Database, name: str, desk: Desk, clock: list[datetime]):
        leases = Leases(database, name)
        self.leases = leases
        self.told: list[Any] = []
        self.lines: list[str] = []

        async def tells(key: str, sweep: Any, found: Any) -> None:
            self.told.append(found)

        self.sweeps = SweepScheduler(
            scheduled((SAID,), PLAYBOOK),
            cast(Any, desk),
            ChatRequestStore(leases),
            ReadingStore(database),
            SweepStore(database),
            tells,
            lambda: clock[0],
            lambda event, **more: self.lines.append(event),
        )


async def test_each_slot_is_swept_once_news_waits_for_the_morning_and_urgent_harm_does_not(database_url: str) -> None:
    clock, desk = [AT_NIGHT], Desk()
    with Database.open(database_url) as database:
        ours, other = (Replica(database, name, desk, clock) for name in ("a", "b"))
        for replica in (ours, other):
            replica.leases.beat.now()
        for replica in (ours, other, ours, other):
            await replica.sweeps.turn()
        assert desk.runs == 1, "one slot, one sweep"
        assert ours.told == other.told == [], "it is night, and nothing is urgent"
        for _ in range(4):
            clock[0] += EVERY
            desk.dying += 3_000
            await other.sweeps.turn()
            await ours.sweeps.turn()
        assert desk.runs == 5
        (urgent,) = other.told
        assert urgent.is_urgent
        assert urgent.new == {LEAK: ("gpu-1",)}
        clock[0] += EVERY
        desk.dying += 3_000
        await ours.sweeps.turn()
        assert ours.told == [], "what the other told is told, and harm is not at half the time"
        assert len(ReadingStore(database).looks.now("gpu-1", LEAK)) == 6


async def test_news_of_the_night_is_told_in_the_morning_and_once(database_url: str) -> None:
    clock, desk = [AT_NIGHT], Desk()
    with Database.open(database_url) as database:
        ours = Replica(database, "a", desk, clock)
        await ours.sweeps.turn()
        assert (desk.runs, ours.told) == (1, []), "it is night"
        clock[0] += timedelta(hours=9)
        for _ in range(2):
            await ours.sweeps.turn()
            clock[0] += EVERY
        assert desk.runs == 3
        assert [found.new for found in ours.told] == [{LEAK: ("gpu-1",)}]


async def test_a_sweep_that_a_dead_program_had_begun_is_taken_over(database_url: str) -> None:
    clock, desk = [AT_NIGHT.replace(hour=12)], Desk()
    with Database.open(database_url) as database:
        dead, heir = (Replica(database, name, desk, clock) for name in ("dead", "heir"))
        dead.leases.beat.now()
        (sweep,) = scheduled((SAID,), PLAYBOOK)
        assert ChatRequestStore(dead.leases).keep.now(f"sweep-{sweep.name}-{sweep.slot(clock[0])}")
        await heir.sweeps.turn()
        assert desk.runs == 0
        dead.leases.leave.now()
        await heir.sweeps.turn()
        assert desk.runs == 1
        assert len(heir.told) == 1


async def test_a_sweep_that_means_no_node_is_logged_and_not_tried_again_in_its_slot(database_url: str) -> None:
    clock, desk = [AT_NIGHT], Desk()
    desk.fails = True
    with Database.open(database_url) as database:
        ours = Replica(database, "a", desk, clock)
        await ours.sweeps.turn()
        await ours.sweeps.turn()
        assert ours.lines == ["sweep_failed"]


async def test_nodes_that_could_not_be_asked_hide_no_news_of_the_others(database_url: str) -> None:
    clock, desk = [AT_NIGHT.replace(hour=12)], Desk()
    desk.lacks_a_key = True
    with Database.open(database_url) as database:
        ours = Replica(database, "a", desk, clock)
        await ours.sweeps.turn()
        assert ours.lines == ["sweep_failed", "swept"]
        assert [found.new for found in ours.told] == [{LEAK: ("gpu-1",)}]


async def test_what_was_kept_and_cannot_be_read_is_as_nothing_told(database_url: str) -> None:
    clock, desk = [AT_NIGHT.replace(hour=12)], Desk()
    with Database.open(database_url) as database:
        ours = Replica(database, "a", desk, clock)
        (sweep,) = scheduled((SAID,), PLAYBOOK)
        await SweepStore(database).store_digest(sweep.name, json.dumps({"nodes": 7}))
        await ours.sweeps.turn()
        assert len(ours.told) == 1


def test_sweeps_of_many_nodes_have_names_of_their_own_and_a_name_stays() -> None:
    many = (tuple(f"ip-10-1{zone}-200-{number}.eu-central-1.compute.internal" for number in range(40)) for zone in "12")
    one, two = scheduled([SweepSettings(select=nodes, cause=(LEAK,), channel="C1") for nodes in many], PLAYBOOK)
    assert one.name != two.name
    assert scheduled((SAID,), PLAYBOOK)[0].name == "a6c6a059e10cb666", "by it what was told is found again"
