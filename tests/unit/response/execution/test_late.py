"""A runner that stood still between its last look and its command: what it was about to send is not sent any more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.actions import ACTIONS
from bot.domain.action import Step
from bot.domain.claim import Claim
from bot.domain.events import Escalated, StepSkipped, StepStarted
from bot.domain.fence import Fence
from bot.domain.verdict import Evidence
from bot.response.execution.node_access import NodeAccess, TooLate
from bot.response.execution.remediation import Remediation
from tests.nodes.draining import NAME, DrainStage, worker
from tests.schedules.stage import POLICY, Stage
from tests.unit.response.requesting import MINUTE, approve, begin, do, happens, incident, proposal, run


class StandsStill:
    """A ledger one of whose verbs is heard of late, once: everything else goes on meanwhile."""

    def __init__(self, ledger: Any, verb: str, meanwhile: Callable[[], Awaitable[None]]) -> None:
        self._ledger, self._verb, self._meanwhile = ledger, verb, meanwhile
        self.stood_still = False

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._ledger, name)
        if name != self._verb or self.stood_still:
            return verb

        async def late(*args: Any) -> Any:
            done = await verb(*args)
            self.stood_still = True
            await self._meanwhile()
            return done

        return late


async def carried_out(stage: Stage, runner: Remediation, name: str = "one") -> None:
    while (again := await runner.advance(name)) is not None:
        stage.world.now += max(timedelta(milliseconds=10), again.after)


def test_command_that_was_begun_long_ago_does_not_arrive_after_the_end(stage: Stage) -> None:
    approve(stage)
    node, late = stage.nodes["n1"], stage.remediation()

    async def meanwhile() -> None:
        stage.world.now += MINUTE
        await carried_out(stage, stage.remediation())
        node.enabled = node.active = True  # somebody needs it after all

    ledger: Any = StandsStill(stage.recorder, "begin", meanwhile)
    late.stepping.ledger = ledger
    do(stage, late.advance("one"))
    assert ledger.stood_still
    assert incident(stage).state == "resolved"
    assert node.enabled, "it was stopped by a command from before"
    assert do(stage, late.advance("one")) is None


def test_runner_that_stood_still_alone_looks_again_and_goes_on(stage: Stage) -> None:
    approve(stage)
    late = stage.remediation()

    async def meanwhile() -> None:
        stage.world.now += MINUTE

    ledger: Any = StandsStill(stage.recorder, "begin", meanwhile)
    late.stepping.ledger = ledger
    do(stage, carried_out(stage, late))
    assert incident(stage).state == "resolved"
    assert [step.attempt for step in incident(stage).steps] == [2, 1]


async def test_second_command_of_a_step_is_not_sent_late_either(stage: Stage) -> None:
    step = Step("restore_unit", {"unit": "ecs.service", "verbs": "enable start"}, (
        "sudo -n systemctl enable -- ecs.service", "sudo -n systemctl start -- ecs.service",
    ))  # fmt: skip
    node = stage.nodes["n1"]
    node.enabled = node.active = False
    left, fence = [True], Fence(node.boot_id, node.machine_id, "SHA256:as-ever", int(node.uptime) + 300)

    async def sent() -> None:
        reach = NodeAccess(stage.wire, ACTIONS)
        with pytest.raises(TooLate):
            await reach.run(stage.find("n1"), step, fence, in_time=lambda: bool(left) and left.pop())

    do(stage, sent())
    assert (node.enabled, node.active) == (True, False)


@pytest.mark.parametrize("begins", [0, 1])
async def test_round_of_a_drain_that_another_runner_ended_moves_nothing(here: DrainStage, begins: int) -> None:
    """The first round follows the step's beginning, each further one a sign of life."""
    await here.approved(worker(), worker("worker-1", grace=30.0))
    late = here.runner()
    if begins:
        await late.advance("one")
        here.world.now += timedelta(seconds=2)

    async def meanwhile() -> None:
        here.world.now += MINUTE
        await here.run(here.runner())
        here.cluster.pods.append(worker("worker-2"))

    ledger: Any = StandsStill(here.ledger, "beat" if begins else "begin", meanwhile)
    late.stepping.ledger = ledger
    await late.advance("one")
    assert ledger.stood_still
    assert not here.cluster.nodes[NAME].unschedulable
    assert "ray/worker-2" not in here.cluster.evicted


# --- sent again by another program


@pytest.mark.parametrize("then", ["does not act", "unit not named", "other approvers", "another boot"])
def test_step_whose_runner_died_is_not_sent_again_under_other_rules_or_into_another_boot(
    stage: Stage, then: str
) -> None:
    approve(stage)
    begin(stage)
    rules: dict[str, dict[str, Any]] = {
        "does not act": {"acting": False},
        "unit not named": {"units": frozenset()},
        "other approvers": {"approvers": frozenset(("terminal:bob",))},
    }
    if then == "another boot":
        stage.nodes["n1"].reboot(by_us=False)
    else:
        stage.policy = replace(POLICY, **rules[then])
    done = run(stage)
    assert stage.nodes["n1"].enabled, "nothing was sent; whoever booted it may want it"
    assert isinstance(done.ending, Escalated)


# --- begun while a clock was ahead


@pytest.mark.parametrize("answers", [True, False], ids=["node answers", "node is gone"])
def test_step_begun_while_the_ledgers_clock_was_ahead_holds_its_node_no_longer_than_others(
    stage: Stage, answers: bool
) -> None:
    approve(stage)
    node, world = stage.nodes["n1"], stage.world
    happens(stage, StepSkipped(1, "it is off already"))
    world.put = timedelta(hours=6)
    before = Evidence("reboot", "look", "", (f"boot_id={node.boot_id}",))
    started = StepStarted(2, 1, node.boot_id, (before,), "died")
    stage.ledger.begin.now("one", 5, started, "bot", Claim("n1", proposal(stage).plan.remedy, "died"))
    world.put = timedelta(0)
    stage.policy = replace(POLICY, acting=False)  # so that the step is not sent again
    if not answers:
        node.down_until = world.now + timedelta(days=1)
    ended = run(stage)
    assert isinstance(ended.ending, Escalated)
    assert world.now - world.began_at < POLICY.reboot_deadline + MINUTE
    assert stage.ledger.current_hold.now("n1") is None
