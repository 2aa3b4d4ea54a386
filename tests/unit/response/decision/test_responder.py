"""A decision, step by step: what is looked at again, what ends the incident, and what the record says of a no."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.actions import ACTIONS
from bot.domain.claim import Claim
from bot.domain.events import Cancelled, Escalated, PlanProposed, PlanWithheld, StepStarted
from bot.domain.policy import Approval, Policy
from bot.domain.probe import Snapshot
from bot.domain.verdict import Confidence, Status, Verdict
from bot.probes.host import HostReading
from bot.response.diagnosis.proposal import Proposer
from bot.response.execution.node_access import NodeAccess
from bot.response.execution.remediation import Remediation
from tests.known import known_as
from tests.schedules.stage import HEALTHY, PLAYBOOK, POLICY, Stage
from tests.unit.response.requesting import (
    ANN,
    allowed,
    approve,
    begin,
    do,
    happens,
    incident,
    proposal,
    pull,
    refusals,
    refused,
    run,
)


def decide(stage: Stage, approval: Approval = ANN) -> Any:
    return stage.responder().decide("one", approval)


def test_yes_is_on_record_with_who_and_why(stage: Stage) -> None:
    done = allowed(stage, decide(stage, replace(ANN, os_user="root")))
    assert done.approval is not None
    assert (done.state, done.approval.by, done.approval.event.reason) == ("approved", "terminal:ann", "it leaks")
    assert refusals(stage) == []


def changed(**more: Any) -> Callable[[Stage], None]:
    """Let the node be judged otherwise when it is looked at again."""

    def change(stage: Stage) -> None:
        now = replace(stage.verdict("n1"), **more)
        stage.verdict = lambda name: now  # type: ignore[method-assign]

    return change


def rebooted(stage: Stage) -> None:
    stage.nodes["n1"].boot += 1


def stopped(stage: Stage) -> None:
    stage.nodes["n1"].active = False


def stops(name: str) -> Callable[[Stage], None]:
    """Let another unit stop with the plan's, which nobody was shown."""

    def change(stage: Stage) -> None:
        stage.nodes["n1"].consists_of = name

    return change


def late(stage: Stage) -> None:
    stage.world.now += timedelta(minutes=10)


def gone(stage: Stage) -> None:
    stage.nodes["n1"].down_until = stage.world.now + timedelta(hours=1)


def braked(stage: Stage) -> None:
    pull(stage)


def done_before(stage: Stage) -> None:
    stage.propose("two", "n1")
    allowed(stage, stage.responder().decide("two", ANN))
    begin(stage, name="two")
    happens(stage, Escalated("enough"), "two")


def cured_beside(stage: Stage) -> None:
    """Have another incident cure the node, and its program die before it could end this one."""
    stage.propose("two", "n1")
    assert allowed(stage, stage.responder().decide("two", ANN)).state == "approved"
    assert run(stage, "two").state == "resolved"


@pytest.mark.parametrize(
    ("change", "name", "ends"),
    [
        (rebooted, "StateChanged", "cancelled"),
        (changed(status=Status.DEGRADED), "StateChanged", "cancelled"),
        (changed(cause="io-stall"), "StateChanged", "cancelled"),
        (changed(confidence=Confidence.LIKELY), "StateChanged", "cancelled"),
        (changed(suspects=("other.service",)), "StateChanged", "cancelled"),
        (stopped, "StateChanged", "cancelled"),
        (stops("b.service"), "StateChanged", "cancelled"),
        (stops("ssh.service"), "WouldStopProtected", "cancelled"),
        (
            changed(status=Status.HEALTHY, cause=None, plan=None, ruled_out=HEALTHY.ruled_out),
            "AlreadyCured",
            "cancelled",
        ),
        (changed(status=Status.UNKNOWN, cause=None, plan=None), "StateChanged", "cancelled"),
        (late, "ApprovalExpired", "expired"),
        (gone, "CannotTell", "proposed"),
        (braked, "Braked", "proposed"),
        (done_before, "AlreadyTried", "escalated"),
    ],
)
def test_doubt_refuses_and_what_changed_ends_it(
    stage: Stage, change: Callable[[Stage], None], name: str, ends: str
) -> None:
    change(stage)
    no = refused(stage, decide(stage))
    assert no.name == name
    assert no.sentence
    assert incident(stage).state == ends
    assert refusals(stage)[-1] == ("approve", name)


def test_yes_to_what_another_incident_has_cured_since_is_no_relapse(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Remediation, "_cancel_superseded_proposals", dying)
    cured_beside(stage)
    asked = stage.nodes["n1"].asked
    no = refused(stage, decide(stage))
    assert (no.name, "Incident two has cured n1 since this was read" in no.sentence) == ("AlreadyCured", True)
    ending = incident(stage).ending
    assert isinstance(ending, Cancelled), "nobody is called for a node that is well"
    assert ending.because == no.sentence
    assert stage.nodes["n1"].asked == asked


async def dying(*_: object) -> None:
    """Stands for a program that dies before it ends what was proposed beside a cure."""


def test_figures_may_move(stage: Stage) -> None:
    changed(evidence=(), summary="71,000 dying by now")(stage)
    allowed(stage, decide(stage))


def offered(stage: Stage, policy: Policy = POLICY, **more: Any) -> Any:
    world, node = stage.world, stage.nodes["n1"]
    host = HostReading("5.4.0", node.boot_id, timedelta(days=3), node.machine_id)
    verdict: Verdict = replace(
        stage.verdict("n1"), snapshot=Snapshot("n1", world.now, timedelta(seconds=5), {"host": host}), **more
    )
    proposer = Proposer(policy, NodeAccess(stage.wire, ACTIONS), stage.recorder, stage)
    return do(stage, proposer.event(verdict, PLAYBOOK))


def test_proposal_binds_machine_boot_host_key_and_rules(stage: Stage) -> None:
    proposed = known_as(offered(stage), PlanProposed)
    assert proposed.is_unaltered
    assert set(proposed.binds) == {"address", "host_key", "boot_id", "machine_id", "playbook", "policy", "evidence"}
    assert proposed.binds["host_key"] == "SHA256:as-ever"
    assert proposed.binds["policy"] == POLICY.digest


def known_elsewhere(stage: Stage, name: str = "alias", begun: bool = False) -> None:
    """Put an incident of the same machine under another name on record, held by whoever began its plan."""
    stage.nodes[name] = stage.nodes["n1"]
    stage.propose("two", name)
    approve(stage, "two")
    found = proposal(stage, "two")
    if begun:
        plan, machine_id = found.plan, found.binds["machine_id"]
        named = Claim(name, plan.remedy, "r1", machine_id=machine_id, cure=plan.cure)
        stage.ledger.begin.now("two", 4, StepStarted(1, 1, "", (), "r1"), "bot", named)


def test_other_names_of_the_machine_stand_beside_the_plan(stage: Stage) -> None:
    proposed = known_as(offered(stage), PlanProposed)
    assert proposed.affects == ()
    known_elsewhere(stage)
    proposed = known_as(offered(stage), PlanProposed)
    assert proposed.affects == ("the same machine-id as alias: the same machine, or a copied image",)


def test_machine_that_is_acted_on_under_another_name_is_busy_and_its_plan_counts_as_tried(stage: Stage) -> None:
    known_elsewhere(stage, begun=True)
    busy = refused(stage, decide(stage))
    assert (busy.name, "its other name alias" in busy.sentence) == ("NodeBusy", True)
    happens(stage, Escalated("enough"), "two")
    assert isinstance(offered(stage), Escalated)
    assert refused(stage, decide(stage)).name == "AlreadyTried"
    assert incident(stage).state == "escalated"


@pytest.mark.parametrize(
    ("policy", "more", "because"),
    [
        (replace(POLICY, acting=False), {}, "does not act"),
        (replace(POLICY, approvers=frozenset()), {}, "Nobody may approve"),
        (replace(POLICY, units=frozenset()), {}, "not among the units"),
        (POLICY, {"confidence": Confidence.POSSIBLE}, "only possible"),
    ],
)
def test_plan_that_may_not_be_offered_is_withheld(
    stage: Stage, policy: Policy, more: dict[str, Any], because: str
) -> None:
    withheld = known_as(offered(stage, policy, **more), PlanWithheld)
    assert because in withheld.because


def test_missing_right_is_found_before_anybody_is_asked(stage: Stage) -> None:
    stage.nodes["n1"].may = False
    withheld = known_as(offered(stage), PlanWithheld)
    assert withheld.lacking == tuple(
        f"zombie ALL=(root) NOPASSWD: {folder}/systemctl {arguments}"
        for arguments in ("disable --now -- ecs.service", "reboot")
        for folder in ("/usr/bin", "/bin")
    )
    assert refused(stage, decide(stage)).name == "MissingRight"


def test_same_plan_within_a_day_goes_to_a_person(stage: Stage) -> None:
    done_before(stage)
    assert isinstance(offered(stage), Escalated)


def test_protected_unit_that_would_stop_with_it_leaves_nothing_to_approve(stage: Stage) -> None:
    stage.nodes["n1"].consists_of = "a.service ssh.service"
    withheld = known_as(offered(stage), PlanWithheld)
    assert withheld.because.startswith("WouldStopProtected: With ecs.service would stop ssh.service: ")


def test_what_else_would_stop_is_part_of_what_is_approved(stage: Stage) -> None:
    alone = offered(stage)
    stage.nodes["n1"].consists_of = "a.service b.service"
    proposed = offered(stage)
    assert isinstance(alone, PlanProposed)
    assert isinstance(proposed, PlanProposed)
    assert proposed.binds["also, step 1"] == "with ecs.service stop a.service, b.service"
    assert proposed.is_unaltered
    assert (proposed.plan.digest, proposed.digest != alone.digest) == (alone.plan.digest, True)


@pytest.mark.parametrize("name", ["b.service", "ssh.service"])
def test_what_would_stop_only_when_it_begins_is_not_stopped(stage: Stage, name: str) -> None:
    allowed(stage, decide(stage))
    stage.nodes["n1"].consists_of = name
    assert isinstance(ending := run(stage).ending, Cancelled)
    assert name in f"{ending.because} {ending.differences}"
    assert stage.nodes["n1"].enabled
