"""A node that only people can repair is cordoned, over a real socket to a simulated cluster: kept from work only."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.actions import ACTIONS
from bot.actions.cluster_node import UNSCHEDULABLE
from bot.causes import CAUSES
from bot.domain.action import Step
from bot.domain.errors import NothingToUndo
from bot.domain.events import Escalated, PlanProposed, PlanWithheld, Resolved, StepFailed, StepSkipped, StepVerified
from bot.domain.node import Node
from bot.domain.policy import Approval
from bot.library.remedies import remedy_fault
from bot.response.decision.undo_proposer import UndoProposer
from bot.response.diagnosis.planning import DrainSettings
from bot.response.diagnosis.proposal import Proposer
from bot.view.plan_words import PlanWords
from tests.directories import Always
from tests.known import known, known_as
from tests.nodes.draining import NAME, PLAYBOOK, POLICY, DrainStage, worker

CORDON = f'PATCH /api/v1/nodes/{NAME} {{"spec":{{"unschedulable":true}}}}'
WHERE = {"node": NAME, "of_cluster": "prod"}


@pytest.fixture
def here(here: DrainStage) -> DrainStage:
    """A node whose cause offers a cordon and nothing else."""
    here.remedy = (Step("cordon"),)
    return here


def undoing(here: DrainStage) -> UndoProposer:
    return UndoProposer(POLICY, here.ledger, here.reach(), Always(here.node))


async def test_node_takes_no_new_pods_keeps_its_own_and_is_handed_to_a_person(here: DrainStage) -> None:
    proposal = known_as(await here.proposed(worker()), PlanProposed)
    (step,) = proposal.plan.steps
    assert (step.action, dict(step.args), step.commands) == ("cordon", WHERE, (CORDON,))
    assert "cures nothing" in proposal.plan.notes[0]
    await here.approve()
    done = await here.run()
    assert isinstance(done.steps[0].outcome, StepVerified)
    assert (here.calls("PATCH"), here.cluster.evicted, here.machine.boot) == ([CORDON], [], 0)
    assert isinstance(done.ending, Escalated), "it is still here, and resolved would say otherwise"
    assert f"Carried out, but no cure: Cordon {NAME}" in done.ending.because
    assert "lockup has to be ended by a person" in done.ending.because
    assert done.ending.try_next.endswith("Afterwards: zombie undo one")


async def test_undo_opens_what_it_cordoned_and_only_that(here: DrainStage) -> None:
    await here.approved(worker())
    done = await here.run(here.runner())
    undo = await undoing(here).propose(done, Approval("terminal:bob", "the card was replaced"))
    (step,) = known(undo.proposal).plan.steps
    assert (step.action, dict(step.args)) == ("uncordon", WHERE)
    assert here.cluster.nodes[NAME].unschedulable, "nothing is done before somebody says yes"
    await here.responder().decide(undo.id, Approval("terminal:ann", "open it"))
    runner = here.runner()
    while (again := await runner.advance(undo.id)) is not None:
        here.world.now += again.after
    assert isinstance((await here.record.find(undo.id)).ending, Resolved)
    assert here.cluster.patched == [f"{NAME} unschedulable=True", f"{NAME} unschedulable=None"]


async def test_undo_leaves_what_somebody_else_cordoned_after_the_bot_could_not(here: DrainStage) -> None:
    await here.approved(worker())
    here.cluster.rights -= {("patch", "nodes")}
    done = await here.run()
    assert isinstance(done.steps[0].outcome, StepFailed)
    here.cluster.nodes[NAME].unschedulable = True
    assert not PlanWords(ACTIONS).undo(done).steps
    with pytest.raises(NothingToUndo):
        await undoing(here).propose(done, Approval("terminal:bob", "clean up"))


async def test_node_that_somebody_else_cordoned_is_not_offered(here: DrainStage) -> None:
    withheld = known_as(await here.proposed(worker(), cordoned=True), PlanWithheld)
    assert withheld.because.endswith("is cordoned already: nothing is left to do.")


async def test_node_that_somebody_cordoned_since_is_never_opened(here: DrainStage) -> None:
    await here.approved(worker())
    here.cluster.nodes[NAME].unschedulable = True
    done = await here.run()
    assert isinstance(done.steps[0].outcome, StepSkipped)
    assert here.cluster.patched == []
    assert isinstance(done.ending, Escalated)
    assert f"Nothing was done, and no cure: Cordon {NAME}: that is so already; " in done.ending.because
    assert "zombie undo" not in done.ending.try_next
    with pytest.raises(NothingToUndo):
        await undoing(here).propose(done, Approval("terminal:bob", "open it"))
    assert ACTIONS["cordon"].inverse(WHERE, {UNSCHEDULABLE: "true"}) == ()


async def test_node_that_the_bot_keeps_cordoned_is_told_as_that(here: DrainStage) -> None:
    await here.approved(worker())
    await here.run()
    proposer = Proposer(POLICY, here.reach(), here.ledger, Always(here.node))
    again = known_as(await proposer.event(here.verdict(), PLAYBOOK), Escalated)
    assert again.try_next == "It keeps work away and cures nothing: a person has to see to the node."
    here.world.now += timedelta(hours=25)
    later = known_as(await proposer.event(here.verdict(), PLAYBOOK), PlanWithheld)
    assert later.because.endswith("cordoned already: nothing is left to do. Incident one did the same before.")


async def test_node_that_somebody_opens_while_it_is_watched_is_told(here: DrainStage) -> None:
    await here.approved(worker())
    await here.run(until=lambda incident: bool(incident.samples))
    here.cluster.nodes[NAME].unschedulable = False
    done = await here.run()
    assert f"{NAME} was uncordoned" in known_as(done.ending, Escalated).because


@pytest.mark.parametrize(
    ("node", "draining"),
    [
        (Node("n1", "10.0.0.7", 22), DrainSettings("", "prod")),  # no label
        (Node("n1", "10.0.0.7", 22, labels={"kubernetes_node": NAME}), DrainSettings("", "")),  # of which cluster?
        (Node("n1", "10.0.0.7", 22, labels={"kubernetes_node": NAME}), DrainSettings()),  # none is configured
    ],
)
async def test_node_of_no_known_cluster_is_not_offered_a_cordon(
    here: DrainStage, node: Node, draining: DrainSettings
) -> None:
    here.node, here.draining = node, draining
    assert here.verdict().plan is None
    assert await here.proposed(worker()) is None


def test_playbook_may_offer_it_only_for_causes_that_say_so() -> None:
    for name in ("gpu-fault", "filesystem-read-only"):
        assert remedy_fault(CAUSES[name], ["cordon"], ACTIONS, CAUSES) is None
    fault = remedy_fault(CAUSES["io-stall"], ["cordon"], ACTIONS, CAUSES) or ""
    assert "helps only" in fault
    assert "gpu-fault" in fault
    assert "essential-unit-stopped" in (remedy_fault(CAUSES["io-stall"], ["start_unit"], ACTIONS, CAUSES) or "")
