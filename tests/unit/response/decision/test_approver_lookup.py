"""How many people have to say yes, and that one person is one voice under whatever name."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.actions import ACTIONS
from bot.chat.connection import NoChat
from bot.chat.people import ChatApproverLookup
from bot.domain.alert import BOT, Alert
from bot.domain.errors import CannotTell, SelfApproval
from bot.domain.events import (
    AlertJoined,
    AlertReceived,
    Endorsed,
    NodePicked,
    PlanProposed,
    PlanWithheld,
    QuestionAsked,
    Triaged,
)
from bot.domain.fold import fold
from bot.domain.policy import Approval, Policy
from bot.domain.probe import Snapshot
from bot.ledger import audit
from bot.probes.host import HostReading
from bot.response.decision import guards
from bot.response.diagnosis.proposal import Proposer
from bot.response.execution.node_access import NodeAccess
from tests.known import known_as
from tests.schedules.parts import CountingNode
from tests.schedules.stage import PLAYBOOK, POLICY, Stage
from tests.unit.response.requesting import allowed, do, incident, refusals, refused

ANN, ANN_IN_SLACK = Approval("terminal:ann", "it leaks"), Approval("slack:T1/U1", "it leaks")
BOB = Approval("slack:T1/U2", "it leaks too")
TWO = replace(
    POLICY,
    approvals=2,
    approvers=frozenset(("slack:U1", "slack:U2", "terminal:ann")),
    same_person={"terminal:ann": "slack:U1"},
)


def offered(
    stage: Stage, policy: Policy, opened: dict[str, Alert], group: str = "g", ago: timedelta = timedelta(0)
) -> Any:
    """Open incidents of one group, the first of them read that long ago, and return what becomes of its plan."""
    stage.policy = policy
    first = next(iter(opened))
    for name, alert in opened.items():
        stage.nodes.setdefault(name, CountingNode(stage.world, name, "cured"))
        received = AlertReceived(alert, name, group, PLAYBOOK.name)
        stage.ledger.append.now(f"of-{name}", 0, received, alert.asked_by or BOT)
    host = HostReading("5.4.0", stage.nodes[first].boot_id, timedelta(days=3))
    snapshot = Snapshot(first, stage.world.now - ago, timedelta(seconds=5), {"host": host})
    verdict = replace(stage.verdict(first), snapshot=snapshot)
    stage.ledger.append.now(f"of-{first}", 1, Triaged(replace(verdict, snapshot=None), PLAYBOOK.name, 1), BOT)
    proposer = Proposer(policy, NodeAccess(stage.wire, ACTIONS), stage.recorder, stage, clock=stage.world.clock)
    event = do(stage, proposer.event(verdict, PLAYBOOK, fold(stage.ledger.read.now(f"of-{first}"))))
    stage.ledger.append.now(f"of-{first}", 2, event, BOT)
    return event


ASKED = Alert("slack", "m1", "slack:T1/U9")
ALARM = Alert("pagerduty", "Q1", "")
STRANGER = Alert("pagerduty", "Q2", "pagerduty:PUSER1")
SEVERAL = replace(TWO, approvals=1, approvals_for_several=2)


@pytest.mark.parametrize(
    ("policy", "opened", "needed"),
    [
        (POLICY, {"x1": ASKED}, 1),
        (POLICY, {"x1": ALARM}, 1),
        (POLICY, {"x1": STRANGER}, 2),
        (TWO, {"x1": ASKED}, 2),
        (SEVERAL, {"x1": ASKED}, 1),
        (SEVERAL, {"x1": ASKED, "x2": ASKED, "x3": ASKED}, 2),
    ],
    ids=["asked", "an alarm", "raised by nobody we know", "two, says the policy", "one node", "several nodes"],
)
def test_as_many_have_to_say_yes_as_the_policy_wants(
    stage: Stage, policy: Policy, opened: dict[str, Alert], needed: int
) -> None:
    event = known_as(offered(stage, policy, opened), PlanProposed)
    assert event.approvals_needed == needed


def test_plan_that_nobody_could_approve_is_not_offered(stage: Stage) -> None:
    alone = replace(POLICY, approvers=frozenset(("slack:U1", "terminal:ann")), same_person={"terminal:ann": "slack:U1"})
    event = known_as(offered(stage, alone, {"x1": STRANGER}), PlanWithheld)
    assert event.because == "2 people have to approve this, and [policy] names 1."


@pytest.mark.parametrize("second", [ANN, ANN_IN_SLACK], ids=["by the same name", "in Slack"])
def test_one_person_is_one_voice_whatever_the_name(stage: Stage, second: Approval) -> None:
    offered(stage, TWO, {"x1": ASKED})
    first = allowed(stage, stage.responder().decide("of-x1", ANN))
    assert (first.state, len(first.endorsements)) == ("proposed", 1)
    no = refused(stage, stage.responder().decide("of-x1", second))
    assert no.name == "NotEnoughApprovers"
    assert "1 of 2" in no.sentence
    assert refusals(stage) == [("approve", "NotEnoughApprovers")]
    assert incident(stage, "of-x1").state == "proposed"


def test_second_person_lets_it_run(stage: Stage) -> None:
    offered(stage, TWO, {"x1": ASKED})
    do(stage, stage.responder().decide("of-x1", ANN))
    done = allowed(stage, stage.responder().decide("of-x1", BOB))
    assert done.state == "approved"
    assert [one.by for one in (*done.endorsements, done.decision) if one] == ["terminal:ann", "slack:T1/U2"]


def test_one_no_is_enough(stage: Stage) -> None:
    offered(stage, TWO, {"x1": ASKED})
    do(stage, stage.responder().decide("of-x1", ANN))
    done = allowed(stage, stage.responder().decline("of-x1", BOB))
    assert done.state == "declined"


CAROL = Approval("slack:T1/U3", "and so do I")
THREE = replace(TWO, approvers=TWO.approvers | {"slack:U3"}, approvals=1)


def told(stage: Stage, *events: Any) -> None:
    """Have something happen to the incident after its plan was proposed."""
    for event in events:
        stage.ledger.append.now("of-x1", len(stage.ledger.read.now("of-x1")), event, BOT)


def test_stranger_who_is_named_after_the_proposal_makes_another_voice_necessary(stage: Stage) -> None:
    event = offered(stage, THREE, {"x1": ALARM})
    assert event.approvals_needed == 1
    told(stage, AlertJoined(STRANGER))
    first = allowed(stage, stage.responder().decide("of-x1", BOB))
    assert (first.state, first.approvals_needed) == ("proposed", 2)
    second = allowed(stage, stage.responder().decide("of-x1", CAROL))
    assert second.state == "approved"


def test_node_that_is_added_after_the_proposal_makes_it_several(stage: Stage) -> None:
    offered(stage, replace(THREE, approvals_for_several=2), {"x1": ALARM})
    stage.ledger.append.now("of-x2", 0, AlertReceived(ALARM, "x2", "g", PLAYBOOK.name), BOT)
    first = allowed(stage, stage.responder().decide("of-x1", BOB))
    assert (first.state, first.approvals_needed) == ("proposed", 2)


def test_whoever_picked_the_node_has_asked(stage: Stage) -> None:
    stage.policy = THREE
    stage.nodes["x1"] = CountingNode(stage.world, "x1", "cured")
    stage.ledger.append.now("of-x1", 0, AlertReceived(ALARM, "", "g", PLAYBOOK.name), BOT)
    stage.ledger.append.now("of-x1", 1, QuestionAsked("Which node?", ("x1", "x2")), BOT)
    stage.ledger.append.now("of-x1", 2, NodePicked("x1"), BOB.by)
    picked = fold(stage.ledger.read.now("of-x1"))
    assert guards.has_asked(THREE, picked, BOB)
    assert not guards.has_asked(THREE, picked, CAROL)
    with pytest.raises(SelfApproval):
        guards.check_self_approval(THREE, picked, BOB)


def test_earlier_voice_that_turns_out_to_have_asked_counts_no_more(stage: Stage) -> None:
    offered(stage, replace(THREE, approvals=2), {"x1": ALARM})
    do(stage, stage.responder().decide("of-x1", BOB))
    told(stage, AlertJoined(Alert("pagerduty", "Q1", BOB.by)))
    second = allowed(stage, stage.responder().decide("of-x1", ANN))
    assert (second.state, second.approvals_needed) == ("proposed", 3)
    assert second.endorsements[-1].event == Endorsed(
        second.proposal.digest if second.proposal else "", ANN.reason, "", 3, (BOB.by,)
    )
    third = allowed(stage, stage.responder().decide("of-x1", CAROL))
    assert third.state == "approved"
    assert audit(stage.ledger.database).broken == ()


def test_earlier_voice_whose_login_turns_out_to_have_asked_counts_no_more(stage: Stage) -> None:
    """A name in a terminal is only claimed: bob's login said ann's yes, and now it is bob who raised a page of it."""
    policy = replace(
        POLICY,
        approvals=2,
        approvers=frozenset(("terminal:ann", "terminal:bob", "terminal:carol", "terminal:dan")),
        same_person={"terminal:bob": "slack:U2"},
    )
    offered(stage, policy, {"x1": ALARM})
    do(stage, stage.responder().decide("of-x1", replace(ANN, os_user="bob")))
    told(stage, AlertJoined(Alert("pagerduty", "Q1", "slack:T1/U2")))
    second = allowed(stage, stage.responder().decide("of-x1", Approval("terminal:carol", "it leaks", os_user="carol")))
    assert (second.state, second.approvals_needed) == ("proposed", 3)
    last = known_as(second.endorsements[-1].event, Endorsed)
    assert last.lapsed == ("terminal:ann",)


def test_voice_that_only_a_group_names_is_not_counted_where_nobody_can_be_asked(stage: Stage) -> None:
    grouped = replace(TWO, approvers=frozenset(("terminal:ann",)), approver_groups=frozenset(("slack:S1",)))
    offered(stage, grouped, {"x1": ALARM})
    do(stage, stage.responder().decide("of-x1", replace(BOB, groups=frozenset(("slack:S1",)))))
    assert refused(stage, stage.responder().decide("of-x1", ANN)).name == "CannotTell"
    assert incident(stage, "of-x1").state == "proposed"


@pytest.mark.parametrize(
    ("by", "is_known"), [("slack:T1/U7", False), ("slack:T1/U1", True), ("terminal:ann", True), ("terminal:eve", True)]
)
def test_without_their_chat_it_is_not_known_whether_a_group_names_who_said_yes(by: str, is_known: bool) -> None:
    """A program without a chat that runs a wave would stop it otherwise, for a yes that counts."""
    lookup = ChatApproverLookup(NoChat(), replace(TWO, approver_groups=frozenset(("slack:S1",))))
    if is_known:
        assert asyncio.run(lookup.again(by)) == Approval(by, "")
        return
    with pytest.raises(CannotTell, match="cannot be asked about here"):
        asyncio.run(lookup.again(by))


def test_plan_of_a_node_that_was_read_too_long_ago_is_not_offered(stage: Stage) -> None:
    """The ledger was away meanwhile; what a reboot would end now is on no card, and jobs that came are no drift."""
    assert isinstance(offered(stage, POLICY, {"x1": ALARM}, ago=POLICY.approval_expires / 2), PlanProposed)
    late = known_as(offered(stage, POLICY, {"x2": ALARM}, ago=timedelta(hours=3)), PlanWithheld)
    assert late.because.startswith("The node was read 3 h ago, and what would end there now is not known")
