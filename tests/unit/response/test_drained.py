"""A Kubernetes node drained before its reboot and uncordoned after it, over a real socket to a simulated cluster."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.demo.cluster.pod import Budget, DemoPod
from bot.domain.call import fits
from bot.domain.errors import CannotDrain, MissingRight, Refused, UnknownCluster
from bot.domain.events import Escalated, PlanProposed, PlanWithheld, Resolved, StepFailed, StepSkipped, StepVerified
from bot.domain.node import Node
from bot.response.draining import Draining
from bot.response.stepping import SILENT
from tests.draining import LABELS, NAME, STEPS, daemon, mirror, worker, yard

JOB = DemoPod("batch", "featurize-0", NAME, ("Job", "featurize"), {"batch.kubernetes.io/job-name": "featurize"},
              empty_dirs=("scratch",))  # fmt: skip
ENDED = DemoPod("batch", "old-0", NAME, ("Job", "old"), phase="Succeeded")
BARE = DemoPod("default", "debug", NAME)
CORDON = f'PATCH /api/v1/nodes/{NAME} {{"spec":{{"unschedulable":true}}}}'
UNCORDON = f'PATCH /api/v1/nodes/{NAME} {{"spec":{{"unschedulable":null}}}}'


async def test_node_is_drained_rebooted_and_uncordoned_with_nothing_but_what_was_approved(tmp_path: Path) -> None:
    pods = [worker(grace=30.0), replace(JOB), daemon(), mirror(), replace(ENDED)]
    async with yard(tmp_path, pods) as here:
        proposal = await here.proposed()
        assert isinstance(proposal, PlanProposed)
        assert [step.action for step in proposal.plan.steps] == STEPS
        assert proposal.affects == (
            "batch/featurize-0: Job featurize; loses emptyDir scratch",
            "ray/worker-0: Ray cluster train-7 (worker)",
        )
        await here.approve()
        done = await here.run(here.runner())
        assert isinstance(done.ending, Resolved), done.ending
        assert [type(step.outcome) for step in done.steps] == [StepVerified] * 3
        assert sorted(here.cluster.evicted) == ["batch/featurize-0", "ray/worker-0"]
        assert here.cluster.patched == [f"{NAME} unschedulable=True", f"{NAME} unschedulable=None"]
        assert len(here.machine.rebooted) == 1
        commands = [command for step in proposal.plan.steps for command in step.commands]
        changes = here.calls("PATCH") + here.calls("POST")
        assert (changes[0], changes[1]) == (CORDON, UNCORDON)
        assert all(any(fits(call, command) for command in commands) for call in changes)
        assert done.steps[2].ended_at is not None
        assert (done.steps[2].ended_at - done.steps[1].started_at).total_seconds() >= 45, "once it is Ready again"


async def test_budget_that_says_not_now_is_asked_again_until_it_lets_go(tmp_path: Path) -> None:
    async with yard(tmp_path, [worker(budgets=(Budget("ray", refuses=3),))]) as here:
        await here.proposed()
        await here.approve()
        waits: list[str] = []
        runner = here.runner()
        while not here.machine.rebooted:
            again = await runner.advance("one")
            assert again is not None
            assert again.after <= SILENT, "or another runner takes it for dead"
            waits.append(again.because)
            here.since["began"] += again.after
        assert len(here.calls("POST")) == 4
        assert any("429 Cannot evict pod as it would violate" in one for one in waits)
        assert (await here.kinds()).count("StepStarted") == 2
        assert isinstance((await here.run(runner)).ending, Resolved)


@pytest.mark.parametrize("budgets", [(Budget("never", None),), (Budget("a"), Budget("b"))], ids=["429", "500"])
async def test_pod_that_does_not_go_by_the_deadline_is_handed_to_a_person(
    tmp_path: Path, budgets: tuple[Budget, ...]
) -> None:
    async with yard(tmp_path, [worker(budgets=budgets), worker("worker-1")]) as here:
        await here.proposed()
        await here.approve()
        done = await here.run(here.runner())
        assert isinstance(done.ending, Escalated)
        failed = done.steps[0].outcome
        assert isinstance(failed, StepFailed)
        assert "ray/worker-0: " in failed.because
        assert failed.because.endswith(f"{NAME} stays cordoned: kubectl uncordon {NAME}")
        assert "Not done: reboot, uncordon." in done.ending.try_next
        assert timedelta(minutes=10) <= here.now - done.steps[0].started_at < timedelta(minutes=11)
        assert here.machine.rebooted == []
        assert here.cluster.evicted == ["ray/worker-1"], "nothing is ever deleted"


async def test_pod_that_comes_back_keeps_the_node_from_its_reboot(tmp_path: Path) -> None:
    async with yard(tmp_path, [worker(comes_back=True)]) as here:
        await here.proposed()
        await here.approve()
        assert isinstance((await here.run(here.runner())).ending, Escalated)
        assert here.machine.rebooted == []


async def test_node_that_was_cordoned_before_is_left_cordoned(tmp_path: Path) -> None:
    async with yard(tmp_path, [worker()], cordoned=True) as here:
        proposal = await here.proposed()
        assert isinstance(proposal, PlanProposed)
        assert proposal.affects[0] == f"{NAME} is cordoned already, by somebody else: it is left so afterwards"
        await here.approve()
        done = await here.run(here.runner())
        assert isinstance(done.ending, Resolved), done.ending
        assert (here.cluster.patched, here.cluster.nodes[NAME].unschedulable) == ([], True)
        assert here.cluster.evicted == ["ray/worker-0"]


async def test_empty_node_that_was_cordoned_before_needs_no_drain_and_stays_so(tmp_path: Path) -> None:
    async with yard(tmp_path, [daemon()], cordoned=True) as here:
        await here.proposed()
        await here.approve()
        done = await here.run(here.runner())
        assert isinstance(done.steps[0].outcome, StepSkipped)
        assert isinstance(done.ending, Resolved), done.ending
        assert here.cluster.patched == []


async def test_runner_that_dies_in_the_drain_is_followed_by_another_that_knows_who_cordoned(tmp_path: Path) -> None:
    async with yard(tmp_path, [worker(budgets=(Budget("ray", refuses=5),))]) as here:
        await here.proposed()
        await here.approve()
        await here.run(here.runner(), until=lambda _: len(here.calls("POST")) >= 2)
        second = here.runner()  # the first is never heard of again
        again = await second.advance("one")
        assert again is not None
        assert "is at work on it" in again.because
        done = await here.run(second)
        assert isinstance(done.ending, Resolved), done.ending
        assert done.steps[0].attempt == 2
        assert here.cluster.patched == [f"{NAME} unschedulable=True", f"{NAME} unschedulable=None"]
        assert here.cluster.evicted == ["ray/worker-0"]
        assert len(here.machine.rebooted) == 1


@pytest.mark.parametrize("after", range(1, 12))
async def test_program_that_is_killed_after_any_call_leaves_nothing_undone_and_nothing_done_twice(
    tmp_path: Path, after: int
) -> None:
    pods = [worker(grace=6.0, budgets=(Budget("ray", refuses=2),)), worker("worker-1")]
    async with yard(tmp_path, pods) as here:
        await here.proposed()
        await here.approve()
        before = len(here.server.calls)
        await here.run(here.runner(), until=lambda _: len(here.server.calls) - before >= after)
        done = await here.run(here.runner())
        assert isinstance(done.ending, Resolved), done.ending
        assert sorted(here.cluster.evicted) == ["ray/worker-0", "ray/worker-1"]
        assert here.cluster.patched == [f"{NAME} unschedulable=True", f"{NAME} unschedulable=None"]
        assert len(here.machine.rebooted) == 1


@pytest.mark.parametrize("how", ["gone", "down", "broken"])
async def test_api_that_goes_away_in_the_middle_is_waited_for(tmp_path: Path, how: str) -> None:
    async with yard(tmp_path, [worker(budgets=(Budget("ray", refuses=1),))]) as here:
        await here.proposed()
        await here.approve()
        runner = here.runner()
        await here.run(runner, until=lambda _: len(here.calls("POST")) == 1)
        await away(here.server, how, True)
        for _ in range(4):
            again = await runner.advance("one")
            assert again is not None
            assert "The API of cluster prod" in again.because
            here.since["began"] += again.after
        await away(here.server, how, False)
        done = await here.run(runner)
        assert isinstance(done.ending, Resolved), done.ending
        assert here.cluster.evicted == ["ray/worker-0"]


async def test_api_that_stays_away_becomes_a_question(tmp_path: Path) -> None:
    async with yard(tmp_path, [worker(budgets=(Budget("ray", refuses=None),))]) as here:
        await here.proposed()
        await here.approve()
        runner = here.runner()
        await here.run(runner, until=lambda _: len(here.calls("POST")) == 1)
        await here.server.stop()
        parked = await here.run(runner, until=lambda one: one.question is not None)
        assert parked.question is not None
        assert f"Whether “Drain {NAME}” took effect cannot be told" in parked.question.question
        assert here.machine.rebooted == []


async def away(server: object, how: str, is_away: bool) -> None:
    from bot.demo.cluster.server import ClusterServer

    assert isinstance(server, ClusterServer)
    if how == "gone":
        await (server.stop() if is_away else server.start())
    elif how == "down":
        server.down = is_away
    else:
        server.broken = is_away


async def test_pod_that_nothing_would_start_again_refuses_the_drain_before_and_after_the_proposal(
    tmp_path: Path,
) -> None:
    async with yard(tmp_path, [worker(), replace(BARE)]) as here:
        withheld = await here.proposed()
        assert isinstance(withheld, PlanWithheld)
        assert withheld.because.startswith("CannotDrain: No controller would start these pods")
        assert "default/debug" in withheld.because
    (tmp_path / "later").mkdir()
    async with yard(tmp_path / "later", [worker()]) as here:
        await here.proposed()
        here.cluster.pods.append(replace(BARE))
        with pytest.raises(CannotDrain):
            await here.approve()
        here.cluster.pods.pop()
        await here.approve()
        here.cluster.pods.append(replace(BARE))
        again = await here.runner().advance("one")
        assert again is not None
        assert again.because.startswith("CannotDrain: ")
        assert here.cluster.patched == []


async def test_bare_pods_go_too_where_that_is_configured_and_stands_in_the_plan(tmp_path: Path) -> None:
    async with yard(tmp_path, [replace(BARE)]) as here:
        here.draining = replace(here.draining, bare_pods=True)
        proposal = await here.proposed()
        assert isinstance(proposal, PlanProposed)
        assert "also what no controller starts again" in proposal.plan.steps[0].commands[1]
        assert proposal.affects == ("default/debug: no controller would start it again",)
        await here.approve()
        assert isinstance((await here.run(here.runner())).ending, Resolved)
        assert here.cluster.evicted == ["default/debug"]


async def test_label_that_names_another_machine_drains_nobody(tmp_path: Path) -> None:
    async with yard(tmp_path, [worker()]) as here:
        here.cluster.nodes[NAME].boot_id = lambda: "99999999-0000-4000-8000-000000000007"
        withheld = await here.proposed()
        assert isinstance(withheld, PlanWithheld)
        assert "kubernetes_node names another machine" in withheld.because


async def test_missing_right_is_found_before_anybody_is_asked_and_again_at_the_click(tmp_path: Path) -> None:
    async with yard(tmp_path, [worker()]) as here:
        await here.proposed()
        here.cluster.rights -= {("create", "pods/eviction")}
        with pytest.raises(MissingRight, match="pods/eviction"):
            await here.approve()
    (tmp_path / "later").mkdir()
    async with yard(tmp_path / "later", [worker()]) as here:
        here.cluster.rights -= {("create", "pods/eviction"), ("patch", "nodes")}
        withheld = await here.proposed()
        assert isinstance(withheld, PlanWithheld)
        assert withheld.lacking == (
            'ClusterRole: - {apiGroups: [""], resources: ["nodes"], verbs: ["patch"]}',
            'ClusterRole: - {apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"]}',
        )


async def test_right_that_is_taken_away_in_the_middle_fails_the_step_at_once(tmp_path: Path) -> None:
    async with yard(tmp_path, [worker()]) as here:
        await here.proposed()
        await here.approve()
        here.cluster.rights -= {("patch", "nodes")}
        done = await here.run(here.runner())
        failed = done.steps[0].outcome
        assert isinstance(failed, StepFailed)
        assert 'cannot patch resource "nodes"' in failed.because
        assert here.cluster.evicted == [], "nothing is moved while new pods may come"


async def test_cluster_that_is_not_known_is_refused_by_name_and_never_guessed(tmp_path: Path) -> None:
    async with yard(tmp_path, [worker()]) as here:
        proposal = await here.proposed()
        assert isinstance(proposal, PlanProposed)
        here.kubeconfig.write_text(here.server.kubeconfig("another"))
        with pytest.raises(UnknownCluster, match="it has another"):
            await here.approve()
    (tmp_path / "later").mkdir()
    async with yard(tmp_path / "later", [worker()]) as here:
        here.node = Node("n1", "10.0.0.7", 22, labels={**LABELS, "kubernetes_context": "staging"})
        withheld = await here.proposed()
        assert isinstance(withheld, PlanWithheld)
        assert withheld.because.startswith("UnknownCluster: ")
        assert "no context 'staging'; it has prod" in withheld.because
        assert here.server.calls == []


async def test_node_that_is_not_ready_again_or_cordoned_again_is_not_cured(tmp_path: Path) -> None:
    for name, sick in (("ready", "is not Ready in its cluster"), ("cordoned", "was cordoned again")):
        (tmp_path / name).mkdir()
        async with yard(tmp_path / name, [daemon()]) as here:
            await here.proposed()
            await here.approve()
            runner = here.runner()
            await here.run(runner, until=lambda one: one.state == "verifying")
            if name == "ready":
                here.cluster.nodes[NAME].ready = lambda: False
            else:
                here.cluster.nodes[NAME].unschedulable = True
            done = await here.run(runner)
            assert isinstance(done.ending, Escalated)
            assert sick in done.ending.because


async def test_node_that_never_gets_ready_is_not_uncordoned(tmp_path: Path) -> None:
    async with yard(tmp_path, [daemon()]) as here:
        await here.proposed()
        await here.approve()
        runner = here.runner()
        await here.run(runner, until=lambda _: bool(here.machine.rebooted))
        here.machine.ready_at = 1e9
        done = await here.run(runner)
        assert isinstance(done.ending, Escalated)
        assert isinstance(done.steps[2].outcome, StepFailed)
        assert here.cluster.nodes[NAME].unschedulable


async def test_node_that_somebody_else_rebooted_is_neither_drained_nor_uncordoned(tmp_path: Path) -> None:
    async with yard(tmp_path, [worker()]) as here:
        await here.proposed()
        await here.approve()
        here.machine.reboot(0, 0)
        with_calls = len(here.calls("P"))
        done = await here.run(here.runner())
        assert done.state == "cancelled"
        assert len(here.calls("P")) == with_calls


@pytest.mark.parametrize(
    ("draining", "says"),
    [
        (Draining(), "no Kubernetes cluster is configured"),
        (Draining("the extra k8s is not installed", "prod"), "the extra k8s is not installed"),
        (Draining(""), "no label kubernetes_context names its cluster"),
    ],
)
async def test_without_a_cluster_the_plan_has_no_drain_and_says_so(
    tmp_path: Path, draining: Draining, says: str
) -> None:
    async with yard(tmp_path, [worker()]) as here:
        here.draining = draining
        plan = here.verdict().plan
        assert plan is not None
        assert [step.action for step in plan.steps] == ["reboot"]
        assert plan.notes == (f"{NAME} is not drained: {says}. Its pods are cut off by the reboot.",)
        here.node = replace(here.node, labels={})
        bare = here.verdict().plan
        assert bare is not None
        assert (bare.notes, bare.digest) == ((), plan.digest)


def test_refusals_have_names() -> None:
    assert [kind("x").name for kind in (CannotDrain, UnknownCluster)] == ["CannotDrain", "UnknownCluster"]
    assert issubclass(CannotDrain, Refused)
