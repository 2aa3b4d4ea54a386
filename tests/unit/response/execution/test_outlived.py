"""A yes that outlived what it was said to, and plans that would come to a button by a side door."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.actions import ACTIONS
from bot.domain.alert import Alert
from bot.domain.events import (
    AlertCleared,
    AlertJoined,
    AlertReceived,
    Cancelled,
    Escalated,
    Expired,
)
from bot.domain.house_events import HOUSE, CauseMuted
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.verdict import Verdict
from bot.response.decision.preflight import Preflight
from bot.response.decision.recheck import RecheckResult
from bot.response.execution.node_access import NodeStatus
from bot.view.context import NOTHING
from bot.view.plan_words import PlanWords
from bot.view.view import group_view
from tests.directories import Nowhere
from tests.known import known, known_as
from tests.schedules.stage import HEALTHY, POLICY, Stage
from tests.schedules.whole_look import WholeLook
from tests.unit.response.requesting import (
    ANN,
    ASKER,
    BOB,
    MINUTE,
    allowed,
    approve,
    begin,
    carried_on,
    do,
    doubted,
    happens,
    incident,
    pull,
    refusals,
    refused,
    release,
    run,
    to_the_end,
)

# --- how long a yes lives


def test_yes_that_comes_on_record_after_its_time_is_refused(stage: Stage) -> None:
    """The bot stood still while it looked at the node once more."""
    responder = stage.responder()
    reach = responder.reach

    async def slow(node: Node, playbook: str) -> Verdict:
        verdict = await stage.diagnose(node, playbook)
        stage.world.now += 10 * MINUTE
        return verdict

    preflight = Preflight(reach, stage, WholeLook(reach, slow))
    assert refused(stage, replace(responder, preflight=preflight).decide("one", ANN)).name == "ApprovalExpired"
    assert isinstance(incident(stage).ending, Expired)
    assert refusals(stage) == [("approve", "ApprovalExpired")]


def test_yes_that_was_written_down_too_late_lets_nothing_begin(stage: Stage) -> None:
    """The bot stood still between its last look at the clock and the record."""
    stage.world.now += 10 * MINUTE
    approve(stage)
    assert isinstance(run(stage).ending, Expired)
    assert stage.nodes["n1"].enabled


def test_yes_from_a_clock_that_was_hours_ahead_lives_no_longer(stage: Stage) -> None:
    stage.world.now += timedelta(hours=9)
    approve(stage)
    stage.world.now -= timedelta(hours=9)
    assert isinstance(run(stage).ending, Expired)


def test_yes_lives_by_the_ledgers_clock_where_the_bots_is_an_hour_behind(stage: Stage) -> None:
    stage.world.skew = timedelta(hours=-1)
    approve(stage)
    stage.nodes["n1"].down_until = stage.world.now + 10 * MINUTE
    assert isinstance(run(stage).ending, Expired)
    assert stage.nodes["n1"].enabled


@pytest.mark.parametrize("behind", ["", "the brake", "its node"])
def test_yes_of_a_proposal_from_a_clock_that_was_hours_ahead_lets_nothing_begin(stage: Stage, behind: str) -> None:
    """Nobody can say how old it is, nor does it wait until the time that the clock had."""
    stage.world.now += timedelta(hours=9)
    stage.propose("two", "n1")
    approve(stage, "two")
    stage.world.now -= timedelta(hours=9)
    if behind == "the brake":
        pull(stage)
    elif behind:
        stage.nodes["n1"].down_until = stage.world.now + timedelta(hours=8)
    if behind:
        do(stage, stage.remediation().advance("two"))
        stage.world.now += timedelta(hours=9)
    if behind == "the brake":
        release(stage)
    assert isinstance(run(stage, "two").ending, Expired)
    assert stage.nodes["n1"].enabled


# --- what comes on record between the yes and the first step


def mute(stage: Stage, cause: str = "leaked-memory-cgroups", selector: str = "n*") -> None:
    accepted = CauseMuted(cause, selector, stage.world.now + timedelta(days=1), "it is replaced on Monday")
    stage.ledger.append.now(HOUSE, None, accepted, "terminal:eve")


def test_plan_whose_cause_is_accepted_after_the_yes_does_not_begin(stage: Stage) -> None:
    approve(stage)
    mute(stage, "io-stall")
    mute(stage, selector="n2")
    mute(stage)
    done = run(stage)
    assert "leaked-memory-cgroups is muted on n*" in known_as(done.ending, Cancelled).because
    assert stage.nodes["n1"].enabled


@pytest.mark.parametrize("what", ["mute", "over"])
def test_plan_that_has_begun_is_finished_whatever_is_accepted_or_over_meanwhile(stage: Stage, what: str) -> None:
    stage.propose("two", "n1", alert=Alert("pagerduty", "Q1"))
    approve(stage, "two")
    do(stage, stage.remediation().advance("two"))
    if what == "mute":
        mute(stage)
    else:
        happens(stage, AlertCleared("pagerduty", "Q1"), "two")
    assert run(stage, "two").state == "resolved"


def test_plan_whose_cause_comes_into_doubt_after_the_yes_waits_and_begins_once_it_is_lifted(stage: Stage) -> None:
    reasons = doubted(stage)
    reasons.append("was wrong.")
    approve(stage)
    waits = known(do(stage, stage.remediation().advance("one")))
    assert waits.because == "CauseInDoubt: leaked-memory-cgroups was wrong."
    assert stage.nodes["n1"].enabled
    reasons.clear()
    assert run(stage).state == "resolved"


@pytest.mark.parametrize("came", ["doubt", "mute"])
def test_plan_whose_cause_is_doubted_or_accepted_while_the_node_is_read_for_the_yes_does_not_begin(
    stage: Stage, came: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The yes has just looked at the node, so the step looks no more; the record may know more by then."""
    reasons = doubted(stage)
    responder, remediation = stage.responder(), stage.remediation()
    reach = remediation.stepping.reach = responder.reach
    lately: dict[str, NodeStatus] = {}  # there is no event loop that would say how old it is
    monkeypatch.setattr(reach, "remember", lately.__setitem__)
    monkeypatch.setattr(reach, "recall", lambda name: lately.pop(name, None))

    class Looks(WholeLook):
        async def read_in_stages(self, incident: Incident, node: Node) -> AsyncGenerator[RecheckResult, None]:
            async for result in super().read_in_stages(incident, node):
                if came == "mute":
                    mute(stage)
                else:
                    reasons.append("was wrong.")
                steps = known(incident.proposal).plan.steps
                yield replace(result, seen=await reach.look(node, steps[:1], steps))

    preflight = Preflight(reach, stage, Looks(reach, stage.diagnose))
    assert do(stage, replace(responder, preflight=preflight).decide("one", ANN)).state == "approved"
    assert lately
    do(stage, remediation.advance("one"))
    assert stage.nodes["n1"].enabled
    assert incident(stage).steps == ()


def test_plan_whose_cause_comes_into_doubt_while_the_step_reads_the_node_does_not_begin(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    reasons = doubted(stage)
    approve(stage)
    remediation = stage.remediation()
    look = remediation.stepping.reach.look

    async def looks(*what: Any) -> NodeStatus:
        reasons.append("was wrong.")
        return await look(*what)

    monkeypatch.setattr(remediation.stepping.reach, "look", looks)
    waits = do(stage, remediation.advance("one"))
    assert waits is not None
    assert waits.because == "CauseInDoubt: leaked-memory-cgroups was wrong."
    assert stage.nodes["n1"].enabled


@pytest.mark.parametrize("both", [False, True], ids=["one of two alerts", "all alerts"])
def test_plan_whose_source_says_after_the_yes_that_it_is_over_does_not_begin(stage: Stage, both: bool) -> None:
    """It waited, as for the brake or for its turn, and the node got well by itself or by somebody's hand."""
    stage.propose("two", "n1", alert=Alert("pagerduty", "Q1"))
    stage.ledger.append.now("two", 3, AlertJoined(Alert("pagerduty", "Q2")), "bot")
    approve(stage, "two")
    for number in range(1 + both):
        stage.ledger.append.now("two", 5 + number, AlertCleared("pagerduty", f"Q{number + 1}"), "bot")
    done = run(stage, "two")
    assert stage.nodes["n1"].enabled is both
    if both:
        assert done.ending == Cancelled("Its source says that the alert is over.")
    else:
        assert done.state == "resolved"


@pytest.mark.parametrize("name", ["n1", "n1.local"])
def test_plan_of_a_node_that_another_incident_has_cured_since_the_yes_does_not_begin(stage: Stage, name: str) -> None:
    """It waited, as for a budget; what cured the node was another plan, and its program died right after its end."""
    stage.nodes[name] = stage.nodes["n1"]
    whole = stage.plan(name, stage.nodes["n1"].boot_id)
    stage.propose("two", name, plan=replace(whole, steps=whole.steps[:1]))
    approve(stage)
    approve(stage, "two")
    assert run(stage, "two").state == "resolved"
    assert incident(stage).state == "approved"
    done = run(stage)
    assert sum(stage.nodes["n1"].reboots.values()) == 0
    assert f"Incident two has cured {name} " in known_as(done.ending, Cancelled).because


@pytest.mark.parametrize("well", [True, False])
def test_node_is_read_again_before_a_plan_that_waited_long_for_its_turn_begins(stage: Stage, well: bool) -> None:
    """Behind the brake, a budget or a busy node: people may have cured it meanwhile."""
    approve(stage)
    pull(stage)
    do(stage, stage.remediation().advance("one"))
    stage.world.now += MINUTE
    if well:
        stage.verdict = lambda name: HEALTHY  # type: ignore[method-assign]
    release(stage)
    done = run(stage)
    assert sum(stage.nodes["n1"].reboots.values()) == (not well)
    if well:
        assert isinstance(done.ending, Cancelled)
        assert done.ending.because == "Read again before acting: there is nothing left to cure."
        assert "status: critical → healthy" in done.ending.differences
    else:
        assert done.state == "resolved"


def test_node_is_read_again_twice_a_minute_while_its_plan_waits_for_its_turn(stage: Stage) -> None:
    approve(stage)
    pull(stage)
    remediation, looks = stage.remediation(), 0
    real = stage.verdict

    def verdict(name: str) -> Verdict:
        nonlocal looks
        looks += 1
        return real(name)

    stage.verdict = verdict  # type: ignore[method-assign]
    for _ in range(36):
        do(stage, remediation.advance("one"))
        stage.world.now += timedelta(seconds=5)
    assert looks == 5, "in three minutes, of which the yes is young for half of one"


# --- a step that was not needed


@pytest.fixture
def only_skipped(stage: Stage) -> Stage:
    """People switched the unit off while the brake held the plan up: of its steps only the reboot is left."""
    approve(stage)
    pull(stage)
    stage.world.now += timedelta(seconds=20)
    stage.nodes["n1"].enabled = stage.nodes["n1"].active = False
    do(stage, stage.remediation().advance("one"))
    assert [step.started for step in incident(stage).steps] == [None]
    return stage


def test_yes_lives_no_longer_for_it(only_skipped: Stage) -> None:
    only_skipped.world.now += POLICY.approval_expires - timedelta(seconds=10)
    release(only_skipped)
    assert isinstance(run(only_skipped).ending, Expired)
    assert not only_skipped.nodes["n1"].reboots


def test_plan_is_called_off_after_it_all_the_same(only_skipped: Stage) -> None:
    done = allowed(only_skipped, only_skipped.responder().cancel("one", ASKER))
    assert isinstance(done.ending, Cancelled)
    view = group_view((done,), replace(NOTHING, words=PlanWords(ACTIONS)))
    assert "Nothing was changed on the node." in str(view.incidents[0].sentences)


def test_reboot_by_others_after_it_calls_the_rest_off(only_skipped: Stage) -> None:
    only_skipped.nodes["n1"].reboot(by_us=False)
    assert isinstance(run(only_skipped).ending, Cancelled)


# --- taking back


def resolved(stage: Stage) -> None:
    approve(stage)
    assert run(stage).state == "resolved"


def test_as_many_have_to_agree_to_taking_back_as_to_anything(stage: Stage) -> None:
    resolved(stage)
    stage.policy = replace(POLICY, approvals=2)
    opened = allowed(stage, stage.responder().undo("one", ASKER))
    assert known(opened.proposal).approvals_needed == 2
    assert do(stage, stage.responder().decide(opened.id, ANN)).state == "proposed"
    assert do(stage, stage.responder().decide(opened.id, BOB)).state == "approved"


def test_nobody_proposes_to_take_back_where_nobody_acts(stage: Stage) -> None:
    resolved(stage)
    stage.policy = replace(POLICY, acting=False)
    assert refused(stage, stage.responder().undo("one", ASKER)).name == "NotAnApprover"
    assert [one.id for one in stage.ledger.incidents.now()] == ["one"], "nothing was opened"


# --- what a unit is called besides


def test_unit_that_is_a_protected_one_by_another_name_is_not_stopped(stage: Stage) -> None:
    node = stage.nodes["n1"]
    node.names = "ecs.service docker.service"
    approve(stage)
    done = run(stage)
    assert node.enabled, "it was stopped"
    assert "docker.service" in known_as(done.ending, Cancelled).because


# --- two programs, two inventories


def test_program_that_does_not_know_the_node_leaves_a_step_to_the_one_at_work(stage: Stage) -> None:
    approve(stage)
    at_work, other = stage.remediation(), stage.remediation()
    other.nodes = Nowhere()
    assert do(stage, at_work.advance("one")) is not None
    again = do(stage, other.advance("one"))
    assert again is not None, incident(stage).ending
    assert incident(stage).state == "acting"
    assert to_the_end(stage, by=at_work).state == "resolved"


def test_step_whose_runner_died_while_the_clock_was_hours_ahead_waits_for_nobody(stage: Stage) -> None:
    """Its last sign of life is of a time that comes yet; nothing writes another."""
    approve(stage)
    died = stage.remediation()
    do(stage, died.advance("one"))
    stage.world.now += timedelta(hours=5)
    do(stage, stage.recorder.beat("one", died.stepping.runner))
    stage.world.now -= timedelta(hours=5)
    began_at = stage.world.now
    assert run(stage).state == "resolved"
    assert stage.world.now - began_at < 5 * MINUTE


def test_node_that_nobody_knows_any_more_is_handed_over_in_the_end(stage: Stage) -> None:
    approve(stage)
    do(stage, stage.remediation().advance("one"))
    left = stage.remediation()
    left.nodes = Nowhere()
    assert all(again.after > timedelta(0) for again in carried_on(stage, by=left))
    assert isinstance(incident(stage).ending, Escalated)


# --- a newer program


@pytest.mark.parametrize("begun", [False, True])
def test_plan_of_a_newer_program_is_not_held_for_ever_by_an_older_one(stage: Stage, begun: bool) -> None:
    approve(stage)
    if begun:
        begin(stage, "newer")
    older = stage.remediation()
    older.stepping.reach.actions = {}
    assert all(again.after > timedelta(0) for again in carried_on(stage, by=older))
    assert isinstance(incident(stage).ending, Escalated if begun else Cancelled)
    assert stage.ledger.current_hold.now("n1") is None


@pytest.mark.parametrize("wish", ["approve", "undo"])
def test_plan_of_a_newer_program_is_refused_by_its_name_and_on_record(stage: Stage, wish: str) -> None:
    if wish == "undo":
        resolved(stage)
    responder = stage.responder()
    responder.reach.actions = {}
    refused(stage, responder.decide("one", ANN) if wish == "approve" else responder.undo("one", ANN))
    assert refusals(stage) == [(wish, "CannotTell")]


def test_check_of_a_terminal_that_died_before_its_verdict_is_called_off(stage: Stage) -> None:
    alert = Alert("terminal", "check", "terminal:asker")
    stage.ledger.append.now("two", 0, AlertReceived(alert, "n1", "group-two"), "terminal:asker")
    assert isinstance(run(stage, "two").ending, Cancelled)
