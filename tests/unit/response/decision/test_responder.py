"""A decision, step by step: what is looked at again, what ends the incident, and what the record says of a no."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.actions import ACTIONS
from bot.domain.claim import Claim
from bot.domain.errors import Refused
from bot.domain.events import Approved, Cancelled, Escalated, PlanProposed, PlanWithheld, StepStarted
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE, BrakePulled
from bot.domain.incident import Incident
from bot.domain.policy import Approval, Policy
from bot.domain.probe import Snapshot
from bot.domain.verdict import Confidence, Status, Verdict
from bot.probes.host import HostReading
from bot.response.diagnosis.proposal import Proposer
from bot.response.execution.node_access import NodeAccess
from bot.response.execution.remediation import Remediation
from tests.schedules.stage import HEALTHY, PLAYBOOK, POLICY, Stage
from tests.unit.response.conftest import Quiet

ANN = Approval("terminal:ann", "it leaks")


def decided(stage: Stage, approval: Approval = ANN) -> Incident | Refused:
    assert isinstance(stage.world, Quiet)
    return stage.world.do(stage.responder().decide("one", approval))  # type: ignore[no-any-return]


def state(stage: Stage) -> Incident:
    return fold(stage.ledger.read.now("one"))


def refusals(stage: Stage) -> list[str]:
    return [str(entry.body["refusal"]) for entry in stage.ledger.read.now(HOUSE) if entry.kind == "WishRefused"]


def test_yes_is_on_record_with_who_and_why(stage: Stage) -> None:
    done = decided(stage, replace(ANN, os_user="root"))
    assert isinstance(done, Incident)
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


def late(stage: Stage) -> None:
    stage.world.now += timedelta(minutes=10)


def gone(stage: Stage) -> None:
    stage.nodes["n1"].down_until = stage.world.now + timedelta(hours=1)


def braked(stage: Stage) -> None:
    stage.ledger.append.now(HOUSE, None, BrakePulled("a rollout"), "terminal:bob")


def done_before(stage: Stage) -> None:
    stage.propose("two", "n1")
    digest = fold(stage.ledger.read.now("two")).proposal
    assert digest is not None
    stage.world.do(stage.responder().decide("two", ANN))  # type: ignore[attr-defined]
    claim = Claim("n1", digest.plan.remedy, "r1")
    stage.ledger.begin.now("two", 4, StepStarted(1), "bot", claim)
    stage.ledger.append.now("two", 5, Escalated("enough"), "bot")


def cured_beside(stage: Stage) -> None:
    """Have another incident cure the node, and its program die before it could end this one."""
    stage.propose("two", "n1")
    assert stage.world.do(stage.responder().decide("two", ANN)).state == "approved"  # type: ignore[attr-defined]
    stage.run_by("two", "r1")
    stage.world.run()
    assert fold(stage.ledger.read.now("two")).state == "resolved"


@pytest.mark.parametrize(
    ("change", "name", "ends"),
    [
        (rebooted, "StateChanged", "cancelled"),
        (changed(status=Status.DEGRADED), "StateChanged", "cancelled"),
        (changed(cause="io-stall"), "StateChanged", "cancelled"),
        (changed(confidence=Confidence.LIKELY), "StateChanged", "cancelled"),
        (changed(suspects=("other.service",)), "StateChanged", "cancelled"),
        (stopped, "StateChanged", "cancelled"),
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
    refused = decided(stage)
    assert isinstance(refused, Refused), refused
    assert refused.name == name
    assert refused.sentence
    assert state(stage).state == ends
    assert refusals(stage)[-1] == name


def test_yes_to_what_another_incident_has_cured_since_is_no_relapse(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Remediation, "_cancel_superseded_proposals", dying)
    cured_beside(stage)
    asked = stage.nodes["n1"].asked
    refused = decided(stage)
    assert isinstance(refused, Refused)
    assert (refused.name, "Incident two has cured n1 since this was read" in refused.sentence) == ("AlreadyCured", True)
    ending = state(stage).ending
    assert isinstance(ending, Cancelled), "nobody is called for a node that is well"
    assert ending.because == refused.sentence
    assert stage.nodes["n1"].asked == asked


async def dying(*_: object) -> None:
    """Stands for a program that dies before it ends what was proposed beside a cure."""


def test_figures_may_move(stage: Stage) -> None:
    changed(evidence=(), summary="71,000 dying by now")(stage)
    assert isinstance(decided(stage), Incident)


def test_second_one_changes_nothing(stage: Stage) -> None:
    decided(stage)
    seq = state(stage).seq
    refused = decided(stage, replace(ANN, by="terminal:bob"))
    assert isinstance(refused, Refused)
    assert refused.name == "AlreadyDecided"
    assert refused.sentence.startswith("terminal:ann approved it")
    assert state(stage).seq == seq


def offered(stage: Stage, policy: Policy = POLICY, **more: Any) -> Any:
    world = stage.world
    assert isinstance(world, Quiet)
    node = stage.nodes["n1"]
    host = HostReading("5.4.0", node.boot_id, timedelta(days=3), node.machine_id)
    verdict: Verdict = replace(
        stage.verdict("n1"), snapshot=Snapshot("n1", world.now, timedelta(seconds=5), {"host": host}), **more
    )
    proposer = Proposer(policy, NodeAccess(stage.wire, ACTIONS), stage.recorder, stage)
    return world.do(proposer.event(verdict, PLAYBOOK))


def test_proposal_binds_machine_boot_host_key_and_rules(stage: Stage) -> None:
    proposed = offered(stage)
    assert isinstance(proposed, PlanProposed)
    assert proposed.is_unaltered
    assert set(proposed.binds) == {"address", "host_key", "boot_id", "machine_id", "playbook", "policy", "evidence"}
    assert proposed.binds["host_key"] == "SHA256:as-ever"
    assert proposed.binds["policy"] == POLICY.digest


def known_elsewhere(stage: Stage, name: str = "alias", begun: bool = False) -> None:
    """Put an incident of the same machine under another name on record, held by whoever began its plan."""
    stage.nodes[name] = stage.nodes["n1"]
    stage.propose("two", name)
    found = fold(stage.ledger.read.now("two")).proposal
    assert found is not None
    stage.ledger.append.now("two", 3, Approved(found.digest, "it leaks"), "terminal:ann")
    if begun:
        plan, machine_id = found.plan, found.binds["machine_id"]
        named = Claim(name, plan.remedy, "r1", machine_id=machine_id, cure=plan.cure)
        stage.ledger.begin.now("two", 4, StepStarted(1, 1, "", (), "r1"), "bot", named)


def test_other_names_of_the_machine_stand_beside_the_plan(stage: Stage) -> None:
    proposed = offered(stage)
    assert isinstance(proposed, PlanProposed)
    assert proposed.affects == ()
    known_elsewhere(stage)
    proposed = offered(stage)
    assert isinstance(proposed, PlanProposed)
    assert proposed.affects == ("the same machine-id as alias: the same machine, or a copied image",)


def test_machine_that_is_acted_on_under_another_name_is_busy_and_its_plan_counts_as_tried(stage: Stage) -> None:
    known_elsewhere(stage, begun=True)
    busy = decided(stage)
    assert isinstance(busy, Refused)
    assert (busy.name, "its other name alias" in busy.sentence) == ("NodeBusy", True)
    stage.ledger.append.now("two", 5, Escalated("enough"), "bot")
    again = offered(stage)
    assert isinstance(again, Escalated)
    tried = decided(stage)
    assert isinstance(tried, Refused)
    assert tried.name == "AlreadyTried"
    assert state(stage).state == "escalated"


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
    withheld = offered(stage, policy, **more)
    assert isinstance(withheld, PlanWithheld)
    assert because in withheld.because


def test_missing_right_is_found_before_anybody_is_asked(stage: Stage) -> None:
    stage.nodes["n1"].may = False
    withheld = offered(stage)
    assert isinstance(withheld, PlanWithheld)
    assert withheld.lacking == tuple(
        f"zombie ALL=(root) NOPASSWD: {folder}/systemctl {arguments}"
        for arguments in ("disable --now -- ecs.service", "reboot")
        for folder in ("/usr/bin", "/bin")
    )
    refused = decided(stage)
    assert isinstance(refused, Refused)
    assert (refused.name, state(stage).state) == ("MissingRight", "proposed")


def test_same_plan_within_a_day_goes_to_a_person(stage: Stage) -> None:
    done_before(stage)
    assert isinstance(offered(stage), Escalated)


def test_protected_unit_that_would_stop_with_it_leaves_nothing_to_approve(stage: Stage) -> None:
    stage.nodes["n1"].consists_of = "a.service ssh.service"
    withheld = offered(stage)
    assert isinstance(withheld, PlanWithheld)
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


@pytest.mark.parametrize(("name", "refusal"), [("b.service", "StateChanged"), ("ssh.service", "WouldStopProtected")])
def test_what_would_stop_by_now_and_was_not_shown_ends_it(stage: Stage, name: str, refusal: str) -> None:
    stage.nodes["n1"].consists_of = name
    refused = decided(stage)
    assert isinstance(refused, Refused)
    assert (refused.name, name in refused.sentence) == (refusal, True)
    assert isinstance(ending := state(stage).ending, Cancelled)
    assert name in ending.differences[0]


@pytest.mark.parametrize("name", ["b.service", "ssh.service"])
def test_what_would_stop_only_when_it_begins_is_not_stopped(stage: Stage, name: str) -> None:
    assert isinstance(decided(stage), Incident)
    stage.nodes["n1"].consists_of = name
    stage.run_by("one", "r")
    stage.world.run()
    assert isinstance(ending := state(stage).ending, Cancelled)
    assert name in f"{ending.because} {ending.differences}"
    assert stage.nodes["n1"].enabled
