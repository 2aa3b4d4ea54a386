"""A drained node while others meddle: runners die, somebody reboots it, its cluster is away, it falls sick again.

Each seed is another story. Whatever comes, nothing is moved in another boot or past the brake, and nothing is opened
without a look of just now; every incident ends, and whoever takes over hears that the node is still cordoned.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.demo.cluster.pod import Budget, DemoPod
from bot.domain.action import Step
from bot.domain.entry import Entry
from bot.domain.events import GIVE_UP, GO_ON, Escalated, PlanProposed, Resolved
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased
from bot.domain.incident import Incident
from bot.domain.policy import Approval
from bot.domain.transitions import State
from bot.response.execution.remediation import Remediation
from tests.nodes.draining import NAME, DrainStage, daemon, drain_stage, worker

FOUND = (12, 17, 29, 62, 89)  # each of these stories showed a hole that is mended
LONG = 120
JUST_NOW = timedelta(seconds=75)  # a look, and what its step may take to begin
pytestmark = pytest.mark.slow


@dataclass
class Story:
    """What others do to one drained node, and what must not follow from it."""

    here: DrainStage
    chance: random.Random
    was_cordoned: bool
    runner: Remediation
    boot: str = ""  # the approved one
    pull: Entry | None = None
    meddled: bool = False  # somebody else cordoned or uncordoned it
    told: list[object] = field(default_factory=list)

    async def meddle(self) -> None:
        """Let something happen between two turns of a runner, or nothing."""
        here, chance, what = self.here, self.chance, self.chance.random()
        if what < 0.02:
            here.machine.boots(chance.choice((0, 20.0)), chance.choice((0, 45.0, 200.0)))
        elif what < 0.05:  # its program dies, and the next comes at once or later
            self.runner = here.runner()
            here.world.now += timedelta(seconds=chance.choice((0, 0, 30, 600, 1200)))
        elif what < 0.12:
            await self.move_brake()
        elif what < 0.16:
            here.server.down, here.server.broken = chance.random() < 0.3, chance.random() < 0.3
        elif what < 0.17:
            node = here.cluster.nodes[NAME]
            node.unschedulable, self.meddled = not node.unschedulable, True
        elif what < 0.18:
            here.cluster.pods.append(worker(f"late-{len(here.cluster.pods)}"))
        elif what < 0.19:
            here.cured = not here.cured
        else:
            return
        self.told.append((here.now, round(what, 2)))

    async def move_brake(self) -> None:
        if self.pull is None:
            self.pull = await self.here.ledger.append(HOUSE, None, BrakePulled("wait"), "terminal:bob")
        else:
            await self.here.ledger.append(HOUSE, None, BrakeReleased("go", self.pull.seq), "terminal:ann")
            self.pull = None

    async def turn(self) -> bool:
        """Let a runner do the next thing; False once the incident has ended."""
        here, before = self.here, len(self.here.calls("P"))
        boot, boots = here.machine.boot_id, here.machine.boot
        again = await self.runner.advance("one")
        incident, calls = await here.told(), here.calls("P")[before:]
        self.told.append((here.now, incident.state.value, again, calls))
        self.check([call for call in calls if "selfsubject" not in call], boot, incident)
        if here.machine.boot > boots:
            assert (boot, self.pull) == (self.boot, None), self.told[-9:]
        if incident.state is State.UNKNOWN and self.chance.random() < 0.2:
            answer = self.chance.choice((GO_ON, GIVE_UP))
            await here.responder().answer("one", answer, Approval("terminal:ann", "looked at"))
        here.world.now += again.after if again is not None else timedelta(0)
        return again is not None

    def check(self, calls: Sequence[str], boot: str, incident: Incident) -> None:
        for call in calls:
            assert self.pull is None, (call, self.told[-9:])
            if "null" not in call:
                assert boot == self.boot, (call, self.told[-9:])
                continue
            assert self.meddled or not self.was_cordoned, (call, self.told[-9:])
            assert incident.sampled_at is not None
            assert incident.samples[-1].holds, (call, self.told[-9:])
            assert self.here.now - incident.sampled_at <= JUST_NOW, (call, self.told[-9:])

    def check_end(self, done: Incident) -> None:
        is_cordoned = self.here.cluster.nodes[NAME].unschedulable
        if self.meddled:
            return
        if isinstance(done.ending, Resolved):
            assert is_cordoned == self.was_cordoned, (done.ending, self.told[-9:])
        if isinstance(done.ending, Escalated) and is_cordoned and not self.was_cordoned:
            words = f"{done.ending.because} {done.ending.try_next}"
            assert "stays cordoned" in words or "nothing has taken it back" in words, (words, self.told[-9:])


def pods_of(chance: random.Random) -> list[DemoPod]:
    return [daemon()] + [
        worker(
            f"worker-{number}",
            grace=chance.choice((0.0, 1.0, 30.0)),
            budgets=(Budget("ray", refuses=chance.randrange(4)),) * chance.randrange(2),
        )
        for number in range(chance.randrange(4))
    ]


async def told(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    was_cordoned = chance.random() < 0.2
    pods = pods_of(chance)
    async with drain_stage(folder) as here:
        here.draining = replace(here.draining, within=timedelta(minutes=10))
        if chance.random() < 0.4:
            here.remedy = (Step("disable_unit", {"unit": "ecs.service"}), Step("reboot"))
        assert isinstance(await here.proposed(*pods, cordoned=was_cordoned), PlanProposed)
        await here.approve()
        story = Story(here, chance, was_cordoned, here.runner(), here.machine.boot_id)
        for _ in range(1500):
            await story.meddle()
            if not await story.turn():
                story.check_end(await here.told())
                return
        raise AssertionError(f"it never ends: {story.told[-9:]}")


@pytest.mark.parametrize("seed", FOUND)
async def test_whoever_meddles_nothing_is_moved_or_opened_that_was_not_approved(tmp_path: Path, seed: int) -> None:
    await told(tmp_path, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", sorted({*range(LONG)} - {*FOUND}))
async def test_so_it_is_in_more(tmp_path: Path, seed: int) -> None:
    await told(tmp_path, seed)
