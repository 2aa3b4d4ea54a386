"""What keeps a node from being drained: pods, labels, rights and clusters, each refused by its name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.actions import ACTIONS
from bot.demo.cluster.pod import Budget, DemoPod
from bot.domain.alert import BOT
from bot.domain.errors import CannotDrain, MissingRight, UnknownCluster
from bot.domain.events import Escalated, PlanProposed, PlanWithheld, Resolved, StepFailed
from bot.domain.node import Node
from bot.response.diagnosis.planning import DrainSettings
from bot.response.incident_record import as_evidence
from tests.nodes.draining import LABELS, NAME, DrainStage, worker

BARE = DemoPod("default", "debug", NAME)


async def test_pod_that_nothing_would_start_again_refuses_the_drain(here: DrainStage) -> None:
    withheld = await here.proposed(worker(), replace(BARE))
    assert isinstance(withheld, PlanWithheld)
    assert withheld.because.startswith("CannotDrain: No controller would start these pods")
    assert "default/debug" in withheld.because


async def test_pod_that_nothing_would_start_again_refuses_the_drain_after_the_proposal(here: DrainStage) -> None:
    await here.proposed(worker())
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


async def test_bare_pods_go_too_where_that_is_configured_and_stands_in_the_plan(here: DrainStage) -> None:
    here.draining = replace(here.draining, bare_pods=True)
    proposal = await here.proposed(replace(BARE))
    assert isinstance(proposal, PlanProposed)
    assert "also what no controller starts again" in proposal.plan.steps[0].commands[1]
    assert proposal.affects == ("default/debug: no controller would start it again",)
    await here.approve()
    assert isinstance((await here.run()).ending, Resolved)
    assert here.cluster.evicted == ["default/debug"]


async def test_label_that_names_another_machine_drains_nobody(here: DrainStage) -> None:
    here.cluster.nodes[NAME].boot_id = lambda: "99999999-0000-4000-8000-000000000007"
    withheld = await here.proposed(worker())
    assert isinstance(withheld, PlanWithheld)
    assert "kubernetes_node names another machine" in withheld.because


async def test_missing_right_is_found_at_the_click(here: DrainStage) -> None:
    await here.proposed(worker())
    here.cluster.rights -= {("create", "pods/eviction")}
    with pytest.raises(MissingRight, match="pods/eviction"):
        await here.approve()


async def test_missing_right_is_found_before_anybody_is_asked(here: DrainStage) -> None:
    here.cluster.rights -= {("create", "pods/eviction"), ("patch", "nodes")}
    withheld = await here.proposed(worker())
    assert isinstance(withheld, PlanWithheld)
    assert withheld.lacking == (
        'ClusterRole: - {apiGroups: [""], resources: ["nodes"], verbs: ["patch"]}',
        'ClusterRole: - {apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"]}',
    )


async def test_right_that_is_taken_away_in_the_middle_fails_the_step_at_once(here: DrainStage) -> None:
    await here.approved(worker())
    here.cluster.rights -= {("patch", "nodes")}
    done = await here.run()
    failed = done.steps[0].outcome
    assert isinstance(failed, StepFailed)
    assert 'cannot patch resource "nodes"' in failed.because
    assert here.cluster.evicted == [], "nothing is moved while new pods may come"


async def test_node_whose_drain_failed_at_a_call_is_told_to_stay_cordoned(here: DrainStage) -> None:
    await here.approved(worker(budgets=(Budget("ray", refuses=None),)))
    begun = await here.run(until=lambda _: bool(here.calls("POST")))
    assert begun.proposal is not None
    drain = begun.proposal.plan.steps[0]
    facts = (await here.reach().look(here.node, (drain,))).facts[0]
    seen = (as_evidence(ACTIONS["drain"], drain, facts),)
    failed = StepFailed(1, "its command failed: POST …: 401 Unauthorized", seen)
    await here.ledger.append("one", begun.seq, failed, BOT)
    done = await here.run()
    assert isinstance(done.ending, Escalated)
    assert f"{NAME} stays cordoned: kubectl uncordon {NAME}" in done.ending.try_next


async def test_cluster_that_is_not_known_any_more_is_refused_by_name_and_never_guessed(here: DrainStage) -> None:
    assert isinstance(await here.proposed(worker()), PlanProposed)
    here.kubeconfig.write_text(here.server.kubeconfig("another"))
    with pytest.raises(UnknownCluster, match="it has another"):
        await here.approve()


async def test_cluster_that_is_not_known_is_asked_for_nothing(here: DrainStage) -> None:
    here.node = Node("n1", "10.0.0.7", 22, labels={**LABELS, "kubernetes_context": "staging"})
    withheld = await here.proposed(worker())
    assert isinstance(withheld, PlanWithheld)
    assert withheld.because.startswith("UnknownCluster: ")
    assert "no context 'staging'; it has prod" in withheld.because
    assert here.server.calls == []


@pytest.mark.parametrize("name", ["n1/../../namespaces/x", "N1", "n1?dryRun=All"])
async def test_label_that_can_be_no_nodes_name_is_no_part_of_a_plan(here: DrainStage, name: str) -> None:
    """Labels of an inventory may come from tags, which many may write."""
    here.node = replace(here.node, labels={"kubernetes_node": name})
    plan = here.verdict().plan
    assert plan is not None
    assert [step.action for step in plan.steps] == ["reboot"]
    assert plan.notes[0].startswith(f"{name} is not drained: that cannot be a node's name in Kubernetes.")


@pytest.mark.parametrize(
    ("draining", "says"),
    [
        (DrainSettings(), "no Kubernetes cluster is configured"),
        (DrainSettings("the extra k8s is not installed", "prod"), "the extra k8s is not installed"),
        (DrainSettings(""), "no label kubernetes_context names its cluster"),
    ],
)
async def test_without_a_cluster_the_plan_has_no_drain_and_says_so(
    here: DrainStage, draining: DrainSettings, says: str
) -> None:
    here.draining = draining
    plan = here.verdict().plan
    assert plan is not None
    assert [step.action for step in plan.steps] == ["reboot"]
    assert plan.notes[:-2] == (f"{NAME} is not drained: {says}. Its pods are cut off by the reboot.",)
    assert plan.notes[-2].startswith("Not read before the reboot: ")
    here.node = replace(here.node, labels={})
    bare = here.verdict().plan
    assert bare is not None
    assert (bare.notes, bare.digest) == (plan.notes[-2:], plan.digest)
