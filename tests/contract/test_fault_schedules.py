"""Whatever dies, freezes, breaks or comes twice: one reboot at most, every incident has an end, the record is whole.

Set ZOMBIE_SCHEDULES to draw more than the usual number.
"""

import os
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bot.domain.errors import LedgerUnavailable, Refused
from bot.domain.events import GIVE_UP, GO_ON
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.policy import Approval
from bot.ledger import Database, Leases, Ledger, audit
from tests.schedules.stage import ENDINGS, POLICY, SETTLED, Stage
from tests.schedules.world import World

SCHEDULES = int(os.environ.get("ZOMBIE_SCHEDULES", "2000"))
PARTS = 10
STRAYED, STRAYS = 0.3, 0.04  # schedules in which connections land on another machine, and how many of those do
LEASED = 0.08  # of the schedules; the leases only spare work, and what they promise holds without them


MEMORY = Path("/dev/shm")  # the record is kept as ever, but nobody waits for a disk


@pytest.fixture
def database() -> Iterator[Database]:
    with (
        TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder,
        Database.open(f"sqlite:///{folder}/zombie.db") as opened,
    ):
        yield opened


def played(database: Database, seed: int) -> tuple[Stage, dict[str, Incident]]:
    """One schedule: one or two incidents, one slot, two approvers, one to three runners each, leased or not."""
    world = World(seed)
    ledger = Ledger(database, lambda: world.now)
    names = [f"n{seed}a", f"n{seed}b"][: world.random.choice((1, 1, 1, 2))]
    endings = {name: world.random.choice(ENDINGS) for name in names}
    stage = Stage.set(world, ledger, endings, POLICY, strays=STRAYS if world.chance(STRAYED) else 0)
    incidents = {f"i{name}": name for name in names}
    for incident, name in incidents.items():
        stage.propose(incident, name)
        for person in ("ann", "bob")[: world.random.choice((1, 2))]:
            stage.decided_by(incident, person)
        leased = len(names) == 1 and world.chance(LEASED)
        for number in range(world.random.choice((1, 1, 2, 3))):
            if leased:
                stage.seen_to_by(incident, f"r{number}", lambda who: Leases(database, who, time=lambda: world.now))
            else:
                stage.run_by(incident, f"r{number}")
        if world.chance(0.3):
            meddled_with(stage, incident)
        node = stage.nodes[name]
        if node.ending == "rebooted-by-others":
            at = world.now + timedelta(seconds=world.random.uniform(0, 40))
            world.due.append((at, partial(node.reboot, by_us=False)))
    world.run()
    return stage, {incident: fold(ledger.read(incident)) for incident in incidents}


def meddled_with(stage: Stage, incident: str) -> None:
    """Let a person call it off, or answer whatever it may ask, at some moment."""
    world = stage.world

    async def meddle() -> None:
        responder, wish = stage.responder(), Approval("terminal:bob", "enough")
        answer = world.random.choice(("", GO_ON, GIVE_UP))
        for _ in range(12 if answer else 1):  # until there is something to answer
            await world.sleep(world.random.uniform(0, 20))
            try:
                await (responder.answer(incident, answer, wish) if answer else responder.cancel(incident, wish))
            except (Refused, LedgerUnavailable) as no:
                stage.refusals[type(no).__name__] += 1
            else:
                return

    world.start(f"bob meddles with {incident}", meddle)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_dies_a_node_is_rebooted_once_and_every_incident_ends(database: Database, part: int) -> None:
    ends: Counter[str] = Counter()
    for seed in range(part * 1_000_000, part * 1_000_000 + SCHEDULES // PARTS):
        stage, incidents = played(database, seed)
        for stranger in stage.wire.strangers:
            assert not stranger.asked + stranger.stopped, f"seed {seed}: another machine was acted on"
        for incident in incidents.values():
            node = stage.nodes[incident.node]
            told = f"seed {seed}: {incident.id} on {node.ending} is {incident.state}, {dict(node.reboots)}"
            assert incident.state in SETTLED, told
            assert all(times <= 1 for times in node.reboots.values()), told
            assert sum(node.reboots.values()) <= 1, told
            assert node.done_as_stranger == 0, told
            assert node.stopped <= 1, f"{told}, stopped {node.stopped} times"
            assert node.done_late == 0, f"{told}, {node.done_late} changes by commands from long ago"
            if incident.state in ("cancelled", "declined"):
                assert not incident.steps, told
                assert (node.asked, node.enabled) == (0, True), told
            if incident.state == "resolved":
                assert node.boot > 0, told
                assert not node.enabled, told
                assert not node.active, told
            ends[f"{node.ending} {incident.state}"] += 1
    whole = audit(database)
    assert whole.broken == ()
    with database.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM holds").scalar_one() == 0
    assert {end.split()[1] for end in ends} >= {"resolved", "escalated"}, ends
    assert not {f"{ending} resolved" for ending in ("swallowed", "enabled-again", "gone")} & set(ends), ends
