"""A Kubernetes node drained before its reboot and uncordoned after it, over a real socket to a simulated cluster."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.demo.cluster.pod import Budget, DemoPod
from bot.domain.action import Step
from bot.domain.cluster_call import is_as_approved
from bot.domain.errors import StateChanged
from bot.domain.events import Escalated, PlanProposed, Resolved, StepFailed, StepSkipped, StepVerified
from bot.response.execution.step_executor import SILENT
from tests.nodes.cluster_server import ClusterServer
from tests.nodes.draining import NAME, STEPS, DrainStage, daemon, mirror, worker

JOB = DemoPod("batch", "featurize-0", NAME, ("Job", "featurize"), {"batch.kubernetes.io/job-name": "featurize"},
              empty_dirs=("scratch",))  # fmt: skip
ENDED = DemoPod("batch", "old-0", NAME, ("Job", "old"), phase="Succeeded")
CORDON = f'PATCH /api/v1/nodes/{NAME} {{"spec":{{"unschedulable":true}}}}'
UNCORDON = f'PATCH /api/v1/nodes/{NAME} {{"spec":{{"unschedulable":null}}}}'


async def test_node_is_drained_rebooted_and_uncordoned_with_nothing_but_what_was_approved(here: DrainStage) -> None:
    proposal = await here.proposed(worker(grace=30.0), replace(JOB), daemon(), mirror(), replace(ENDED))
    assert isinstance(proposal, PlanProposed)
    assert [step.action for step in proposal.plan.steps] == STEPS
    assert proposal.affects == (
        "batch/featurize-0: Job featurize; loses emptyDir scratch",
        "ray/worker-0: Ray cluster train-7 (worker)",
    )
    await here.approve()
    done = await here.run()
    assert isinstance(done.ending, Resolved), done.ending
    assert [type(step.outcome) for step in done.steps] == [StepVerified] * 3
    assert sorted(here.cluster.evicted) == ["batch/featurize-0", "ray/worker-0"]
    assert here.cluster.patched == [f"{NAME} unschedulable=True", f"{NAME} unschedulable=None"]
    assert len(here.machine.rebooted) == 1
    commands = [command for step in proposal.plan.steps for command in step.commands]
    changes = here.calls("PATCH") + here.calls("POST")
    assert (changes[0], changes[1]) == (CORDON, UNCORDON)
    assert all(any(is_as_approved(call, command) for command in commands) for call in changes)
    assert done.validation_ends_at is not None
    assert (done.validation_ends_at - done.steps[1].started_at).total_seconds() >= 45 + 120, "Ready, then watched"
    assert done.steps[2].started_at >= done.validation_ends_at, "nobody works there before the cure has held"


@pytest.mark.parametrize("is_late", [False, True], ids=["before the yes", "after it"])
@pytest.mark.parametrize(
    ("since", "ends"),
    [
        (worker("worker-1"), "Resolved"),
        (DemoPod("research", "notebook", NAME), "not shown"),
        (replace(JOB, name="featurize-1"), "not shown"),
    ],
    ids=["whole", "bare", "with data"],
)
async def test_pod_that_came_since_the_offer_is_not_lost_unseen(
    here: DrainStage, since: DemoPod, ends: str, is_late: bool
) -> None:
    here.draining = replace(here.draining, bare_pods=True)
    await here.proposed(worker(), replace(JOB))
    here.since["began"] += timedelta(minutes=9)
    with pytest.raises(StateChanged) if ends != "Resolved" and not is_late else contextlib.nullcontext():
        if is_late:
            await here.approve()
        here.cluster.pods.append(replace(since))
        if not is_late:
            await here.approve()
    done = await here.told() if (await here.told()).ended else await here.run()
    assert ends in repr(done.ending)
    assert (f"{since.namespace}/{since.name}" in here.cluster.evicted) is (ends == "Resolved")


async def test_budget_that_says_not_now_is_asked_again_until_it_lets_go(here: DrainStage) -> None:
    await here.approved(worker(budgets=(Budget("ray", refuses=3),)))
    waits: list[str] = []
    while not here.machine.rebooted:
        again = await here.program.advance("one")
        assert again is not None
        assert again.after <= SILENT, "or another runner takes it for dead"
        waits.append(again.because)
        here.since["began"] += again.after
    assert len(here.calls("POST")) == 4
    assert any("429 Cannot evict pod as it would violate" in one for one in waits)
    assert (await here.kinds()).count("StepStarted") == 2
    assert isinstance((await here.run()).ending, Resolved)


@pytest.mark.parametrize("budgets", [(Budget("never", None),), (Budget("a"), Budget("b"))], ids=["429", "500"])
async def test_pod_that_does_not_go_by_the_deadline_is_handed_to_a_person(
    here: DrainStage, budgets: tuple[Budget, ...]
) -> None:
    await here.approved(worker(budgets=budgets), worker("worker-1"))
    done = await here.run()
    assert isinstance(done.ending, Escalated)
    failed = done.steps[0].outcome
    assert isinstance(failed, StepFailed)
    assert "ray/worker-0: " in failed.because
    assert failed.because.endswith(f"{NAME} stays cordoned: kubectl uncordon {NAME}")
    assert "Not done: reboot, uncordon." in done.ending.try_next
    assert timedelta(minutes=4) <= here.now - done.steps[0].started_at < timedelta(minutes=5)
    assert here.machine.rebooted == []
    assert here.cluster.evicted == ["ray/worker-1"], "nothing is ever deleted"


async def test_pod_that_came_in_the_drain_and_is_not_lost_unseen_is_named(here: DrainStage) -> None:
    await here.approved(worker(grace=60.0))
    await here.run(until=lambda one: bool(here.calls("POST /api/v1/namespaces")))
    here.cluster.pods.append(replace(JOB))
    done = await here.run()
    assert "batch/featurize-0" not in here.cluster.evicted
    assert "batch/featurize-0: Job featurize; loses emptyDir scratch: it came since" in done.ending.because  # type: ignore[union-attr]


async def test_pod_that_comes_back_keeps_the_node_from_its_reboot(here: DrainStage) -> None:
    await here.approved(worker(comes_back=True))
    assert isinstance((await here.run()).ending, Escalated)
    assert here.machine.rebooted == []


async def test_node_that_was_cordoned_before_is_left_cordoned(here: DrainStage) -> None:
    proposal = await here.proposed(worker(), cordoned=True)
    assert isinstance(proposal, PlanProposed)
    assert proposal.affects[0] == f"{NAME} is cordoned already: it is left so afterwards"
    await here.approve()
    done = await here.run()
    assert isinstance(done.ending, Resolved), done.ending
    assert (here.cluster.patched, here.cluster.nodes[NAME].unschedulable) == ([], True)
    assert here.cluster.evicted == ["ray/worker-0"]


async def test_empty_node_that_was_cordoned_before_needs_no_drain_and_stays_so(here: DrainStage) -> None:
    await here.approved(daemon(), cordoned=True)
    done = await here.run()
    assert isinstance(done.steps[0].outcome, StepSkipped)
    assert isinstance(done.ending, Resolved), done.ending
    assert here.cluster.patched == []


async def test_runner_that_dies_in_the_drain_is_followed_by_another_that_knows_who_cordoned(here: DrainStage) -> None:
    await here.approved(worker(budgets=(Budget("ray", refuses=5),)))
    await here.run(here.runner(), until=lambda _: len(here.calls("POST")) >= 2)
    second = here.runner()  # the first is never heard of again
    again = await second.advance("one")
    assert again is not None
    assert "is working on it" in again.because
    done = await here.run(second)
    assert isinstance(done.ending, Resolved), done.ending
    assert done.steps[0].attempt == 2
    assert here.cluster.patched == [f"{NAME} unschedulable=True", f"{NAME} unschedulable=None"]
    assert here.cluster.evicted == ["ray/worker-0"]
    assert len(here.machine.rebooted) == 1


@pytest.mark.parametrize("after", [1, 2, 3, 4, 5, 6, 9, 13, 18, 24])
async def test_program_that_dies_in_any_call_leaves_nothing_undone_and_nothing_done_twice(
    here: DrainStage, after: int
) -> None:
    pods = [worker(grace=6.0, budgets=(Budget("ray", refuses=2),)), worker("worker-1")]
    await here.approved(*pods)
    running = asyncio.ensure_future(here.run(here.runner()))
    so_far = len(here.server.calls)

    def dies(line: str) -> None:  # what was asked for is done, and nobody ever hears of it
        if len(here.server.calls) - so_far == after:
            running.cancel()

    here.server.on_call = dies
    with contextlib.suppress(asyncio.CancelledError):
        await running
    done = await here.run(here.runner())
    assert isinstance(done.ending, Resolved), done.ending
    assert sorted(here.cluster.evicted) == ["ray/worker-0", "ray/worker-1"]
    assert here.cluster.patched == [f"{NAME} unschedulable=True", f"{NAME} unschedulable=None"]
    assert len(here.machine.rebooted) == 1


@pytest.mark.parametrize("how", ["gone", "down", "broken"])
async def test_api_that_goes_away_in_the_middle_is_waited_for(here: DrainStage, how: str) -> None:
    await here.approved(worker(budgets=(Budget("ray", refuses=1),)))
    await here.run(until=lambda _: len(here.calls("POST")) == 1)
    await away(here.server, how, True)
    for _ in range(4):
        again = await here.program.advance("one")
        assert again is not None
        assert "The API of cluster prod" in again.because
        here.since["began"] += again.after
    await away(here.server, how, False)
    done = await here.run()
    assert isinstance(done.ending, Resolved), done.ending
    assert here.cluster.evicted == ["ray/worker-0"]


async def test_api_that_stays_away_becomes_a_question(here: DrainStage) -> None:
    await here.approved(worker(budgets=(Budget("ray", refuses=None),)))
    await here.run(until=lambda _: len(here.calls("POST")) == 1)
    await here.server.stop()
    parked = await here.run(until=lambda one: one.question is not None)
    assert parked.question is not None
    assert f"It is not known whether “Drain {NAME}” took effect" in parked.question.question
    assert here.machine.rebooted == []
    given_up = await here.run()  # nobody answers
    assert isinstance(given_up.ending, Escalated)
    assert f"“Drain {NAME}” took effect, and nothing has taken it back" in given_up.ending.try_next


async def away(server: ClusterServer, how: str, is_away: bool) -> None:
    if how == "gone":
        await (server.stop() if is_away else server.start())
    elif how == "down":
        server.down = is_away
    else:
        server.broken = is_away


async def test_node_that_somebody_else_rebooted_is_neither_drained_nor_uncordoned(here: DrainStage) -> None:
    await here.approved(worker())
    here.machine.reboot(0, 0)
    with_calls = len(here.calls("P"))
    done = await here.run()
    assert done.state == "cancelled"
    assert len(here.calls("P")) == with_calls


@pytest.mark.parametrize("seen_by", ["SSH", "its cluster"])
async def test_no_pod_of_another_boot_is_moved_in_the_middle_of_a_drain(here: DrainStage, seen_by: str) -> None:
    """The name in the cluster may be another machine's by now, which SSH does not see."""
    await here.approved(worker(budgets=(Budget("ray", refuses=3),)))
    await here.run(until=lambda _: bool(here.calls("POST")))
    if seen_by == "SSH":
        here.machine.reboot(0, 0)
    else:
        here.cluster.nodes[NAME].boot_id = lambda: "00000063-0000-4000-8000-000000000007"
    changes = here.calls("P")
    done = await here.run()
    assert (here.calls("P"), here.cluster.evicted) == (changes, [])
    assert isinstance(done.ending, Escalated), done.ending
    if seen_by == "SSH":
        assert "rebooted meanwhile" in done.ending.because
        assert f"{NAME} stays cordoned: kubectl uncordon {NAME}" in done.ending.because


@pytest.mark.parametrize("at", [1, 2], ids=["before the drain", "after the drain"])
async def test_node_whose_reboot_somebody_else_did_is_open_again_once_its_cure_has_held(
    here: DrainStage, at: int
) -> None:
    here.remedy = (Step("disable_unit", {"unit": "ecs.service"}), Step("reboot"))
    await here.approved(worker())
    await here.run(until=lambda one: len(one.steps) == at and one.steps[-1].outcome is not None)
    here.machine.reboot(0, 0)
    done = await here.run()
    assert isinstance(done.ending, Resolved), done.ending
    assert len(here.machine.rebooted) == 1
    assert not here.cluster.nodes[NAME].unschedulable


@pytest.mark.parametrize("then", ["boots again", "falls sick"])
async def test_node_is_opened_only_on_a_look_of_just_now_in_the_boot_that_was_watched(
    here: DrainStage, then: str
) -> None:
    """The program may be away between the last look and the step that waited for it."""
    await here.approved(worker())
    await here.run(here.runner(), until=lambda one: one.cure_has_held)
    changes = here.calls("P")
    if then == "boots again":
        here.machine.reboot(0, 0)
    else:
        here.since["began"] += timedelta(minutes=10)
        here.cured = False
    done = await here.run(here.runner())
    assert here.calls("P") == changes
    assert isinstance(done.ending, Escalated), done.ending
    says = "The node was booted again" if then == "boots again" else "The cure does not hold"
    assert done.ending.because.startswith(says)
    assert f"{NAME} stays cordoned" in done.ending.try_next


async def test_node_whose_program_was_away_is_opened_once_it_was_seen_well_again(here: DrainStage) -> None:
    await here.approved(worker())
    watched = await here.run(here.runner(), until=lambda one: one.cure_has_held)
    here.since["began"] += timedelta(minutes=10)
    done = await here.run(here.runner())
    assert isinstance(done.ending, Resolved), done.ending
    assert len(done.samples) == len(watched.samples) + 1
    assert not here.cluster.nodes[NAME].unschedulable


@pytest.mark.parametrize("ready", [True, False])
async def test_plan_without_a_reboot_is_cured_only_where_its_cluster_finds_the_node_ready(
    here: DrainStage, ready: bool
) -> None:
    here.cluster.nodes[NAME].ready = lambda: ready
    here.remedy = (Step("disable_unit", {"unit": "ecs.service"}),)
    proposal = await here.proposed(worker(), cordoned=True)
    assert isinstance(proposal, PlanProposed)
    assert [step.action for step in proposal.plan.steps] == ["disable_unit"]
    await here.approve()
    done = await here.run()
    assert isinstance(done.ending, Resolved if ready else Escalated), done.ending
    assert ready or "is not Ready in its cluster: NodeStatusUnknown" in done.ending.because  # type: ignore[union-attr]
    assert here.cluster.evicted == here.cluster.patched == []
