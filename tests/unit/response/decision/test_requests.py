"""What people may wish beside a yes: calling off, answering, taking back; and why not, on record."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.domain.errors import LedgerUnavailable, Refused, UnknownIncident
from bot.domain.events import GIVE_UP, GO_ON, Cancelled, Escalated, QuestionAnswered, QuestionAsked, Resolved
from bot.domain.house_events import HOUSE
from bot.domain.incident import Incident
from bot.domain.policy import Approval
from bot.ledger import audit
from bot.ledger.incidents import mark_changed
from tests.schedules.stage import POLICY, Stage
from tests.unit.response.requesting import ANN, ASKER, BOB, STRANGER, approve, do, incident, refusals, run

# --- calling off


@pytest.mark.parametrize("by", [ASKER, ANN])
@pytest.mark.parametrize("approved", [False, True])
def test_asker_or_approver_calls_it_off_before_anything_is_done(stage: Stage, by: Approval, approved: bool) -> None:
    if approved:
        approve(stage)
    done = do(stage, stage.responder().cancel("one", by))
    assert isinstance(done, Incident)
    assert isinstance(done.ending, Cancelled)
    assert done.ending.because == f"{by.by} called it off: {by.reason}"
    assert stage.ledger.read("one")[-1].by == by.by


def test_stranger_calls_nothing_off(stage: Stage) -> None:
    refused = do(stage, stage.responder().cancel("one", STRANGER))
    assert isinstance(refused, Refused)
    assert refused.name == "NotAnApprover"
    assert incident(stage).state == "proposed"
    assert refusals(stage) == [("cancel", "NotAnApprover")]


def test_what_has_begun_is_not_called_off(stage: Stage) -> None:
    approve(stage)
    run(stage)
    refused = do(stage, stage.responder().cancel("one", ANN))
    assert isinstance(refused, Refused)
    assert refused.name == "AlreadyDecided"
    assert "resolved" in refused.sentence


# --- a parked question


def parked(stage: Stage, ending: str = "other-key") -> Incident:
    """The node comes back from its reboot with another host key."""
    stage.nodes["n1"].ending = ending
    approve(stage)
    remediation = stage.remediation()
    for _ in range(200):
        do(stage, remediation.advance("one"))
        if incident(stage).state == "unknown":
            return incident(stage)
        stage.world.now += timedelta(seconds=1)
    raise AssertionError("nobody was asked")


def test_answer_goes_on_from_where_it_was_parked_by_looking_once_more(stage: Stage) -> None:
    assert parked(stage).parked_from == "acting"
    done = do(stage, stage.responder().answer("one", GO_ON, ANN))
    assert isinstance(done, Incident)
    assert done.state == "acting"
    assert isinstance(stage.ledger.read("one")[-1].event, QuestionAnswered)


@pytest.mark.parametrize("ending", ["other-key", "other-machine"])
def test_another_machine_is_asked_about_again_whatever_the_answer_was(stage: Stage, ending: str) -> None:
    parked(stage, ending)
    for _ in range(3):
        do(stage, stage.responder().answer("one", GO_ON, ANN))
        stage.world.now += timedelta(seconds=20)  # whoever ran it is taken for dead
        do(stage, stage.remediation().advance("one"))
        assert isinstance(stage.ledger.read("one")[-1].event, QuestionAsked)
    assert stage.nodes["n1"].done_as_stranger == 0


def test_node_that_is_itself_again_is_gone_on_with(stage: Stage) -> None:
    parked(stage)
    stage.nodes["n1"].ending = "cured"  # somebody put the right machine back
    do(stage, stage.responder().answer("one", GO_ON, ANN))
    assert isinstance(run(stage).ending, Resolved)


@pytest.mark.parametrize("answer", [GO_ON, GIVE_UP])
def test_answer_to_an_earlier_question_answers_no_later_one(stage: Stage, answer: str) -> None:
    first = parked(stage).asked_at
    stage.world.now += timedelta(seconds=20)
    do(stage, stage.responder().answer("one", GO_ON, ANN, first))
    stage.world.now += timedelta(seconds=20)  # whoever ran it is taken for dead
    do(stage, stage.remediation().advance("one"))
    open_now = incident(stage)
    assert open_now.state == "unknown"
    assert open_now.asked_at != first
    refused = do(stage, stage.responder().answer("one", answer, ANN, first))
    assert isinstance(refused, Refused)
    assert (refused.name, open_now.question is not None) == ("StaleRequest", True)
    assert refused.sentence.startswith("That was about an earlier question. Open is: ")
    assert incident(stage).seq == open_now.seq
    assert refusals(stage)[-1] == ("answer", "StaleRequest")
    assert isinstance(do(stage, stage.responder().answer("one", answer, ANN, open_now.asked_at)), Incident)


def test_giving_up_hands_it_to_a_person_with_the_reason(stage: Stage) -> None:
    parked(stage)
    done = do(stage, stage.responder().answer("one", GIVE_UP, replace(ANN, reason="it was replaced")))
    assert isinstance(done, Incident)
    assert isinstance(done.ending, Escalated)
    assert done.ending.because == "terminal:ann gave it up: it was replaced"


@pytest.mark.parametrize(
    ("answer", "by", "name"),
    [
        (GO_ON, STRANGER, "NotAnApprover"),
        (GO_ON, ASKER, "NotAnApprover"),
        (GO_ON, replace(ANN, reason=" "), "ReasonMissing"),
        ("reboot it again", ANN, "CannotTell"),
    ],
)
def test_answer_that_does_not_count(stage: Stage, answer: str, by: Approval, name: str) -> None:
    parked(stage)
    refused = do(stage, stage.responder().answer("one", answer, by))
    assert isinstance(refused, Refused)
    assert refused.name == name
    assert incident(stage).state == "unknown"
    assert refusals(stage)[-1] == ("answer", name)


def test_answer_without_a_question_changes_nothing(stage: Stage) -> None:
    refused = do(stage, stage.responder().answer("one", GO_ON, ANN))
    assert isinstance(refused, Refused)
    assert refused.name == "AlreadyDecided"


# --- taking back


def cured(stage: Stage) -> Incident:
    approve(stage)
    done = run(stage)
    assert done.state == "resolved"
    return done


def test_undo_is_a_plan_of_its_own_that_a_second_person_approves(stage: Stage) -> None:
    cured(stage)
    opened = do(stage, stage.responder().undo("one", ANN))
    assert isinstance(opened, Incident), opened
    assert (opened.state, opened.undoes, opened.alert.asked_by) == ("proposed", "one", "terminal:ann")
    assert opened.proposal is not None
    (step,) = opened.proposal.plan.steps
    assert step.commands == ("sudo -n systemctl enable -- ecs.service", "sudo -n systemctl start -- ecs.service")
    assert opened.verdict is not None
    assert "Not undone: reboot" in opened.verdict.summary
    refused = do(stage, stage.responder().decide(opened.id, ANN))
    assert isinstance(refused, Refused)
    assert refused.name == "SelfApproval"
    assert isinstance(do(stage, stage.responder().decide(opened.id, BOB)), Incident)
    done = run(stage, opened.id)
    assert isinstance(done.ending, Resolved), done.ending
    assert "as it was before" in done.ending.summary
    node = stage.nodes["n1"]
    assert (node.enabled, node.active, sum(node.reboots.values())) == (True, True, 1)


def test_undo_that_was_asked_for_twice_is_one(stage: Stage) -> None:
    cured(stage)
    opened = do(stage, stage.responder().undo("one", ANN))
    refused = do(stage, stage.responder().undo("one", BOB))
    assert isinstance(refused, Refused)
    assert (refused.name, opened.id in refused.sentence) == ("AlreadyDecided", True)
    do(stage, stage.responder().decline(opened.id, BOB))
    again = do(stage, stage.responder().undo("one", BOB))
    assert isinstance(again, Incident)
    assert again.id != opened.id, "what was declined may be wished for once more"


def test_what_was_taken_back_today_is_not_taken_back_again(stage: Stage) -> None:
    cured(stage)
    opened = do(stage, stage.responder().undo("one", ANN))
    do(stage, stage.responder().decide(opened.id, BOB))
    assert run(stage, opened.id).state == "resolved"
    stage.nodes["n1"].enabled = stage.nodes["n1"].active = False  # somebody stopped it once more
    refused = do(stage, stage.responder().undo("one", ANN))
    assert isinstance(refused, Refused)
    assert refused.name == "AlreadyTried"


def test_undo_is_on_record_with_its_proposal_or_not_at_all(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    cured(stage)
    before, changed = stage.ledger.head(HOUSE), iter((mark_changed,))
    monkeypatch.setattr("bot.ledger.ledger.mark_changed", lambda *known: next(changed, dies)(*known))
    with pytest.raises(LedgerUnavailable):
        do(stage, stage.responder().undo("one", ANN))
    assert [found.id for found in stage.ledger.incidents()] == ["one"]
    assert stage.ledger.head(HOUSE) == before


def dies(*_: object) -> None:
    raise LedgerUnavailable("The disk is full.")


def half_proposed(stage: Stage) -> Incident:
    """An undo of an older program, which died after its first entry."""
    cured(stage)
    opened = do(stage, stage.responder().undo("one", ANN))
    first = stage.ledger.read(opened.id)[0].event
    do(stage, stage.responder().decline(opened.id, BOB))
    name = hashlib.sha256(b"undo\none\n2").hexdigest()[:12]
    stage.ledger.append(name, 0, first, "terminal:ann")
    return incident(stage, name)


def test_undo_that_died_on_the_way_is_gone_on_with(stage: Stage) -> None:
    half = half_proposed(stage)
    opened = do(stage, stage.responder().undo("one", BOB))
    assert isinstance(opened, Incident)
    assert (opened.id, opened.state, opened.alert.asked_by) == (half.id, "proposed", "terminal:ann")


def test_undo_that_nobody_goes_on_with_is_called_off(stage: Stage) -> None:
    assert isinstance(run(stage, half_proposed(stage).id).ending, Cancelled)


def enabled_again(stage: Stage) -> None:
    stage.nodes["n1"].enabled = stage.nodes["n1"].active = True


def forgotten(stage: Stage) -> None:
    stage.policy = replace(POLICY, units=frozenset())


def without_rights(stage: Stage) -> None:
    stage.nodes["n1"].may = False


def away(stage: Stage) -> None:
    stage.nodes["n1"].down_until = stage.world.now + timedelta(hours=1)


def another(stage: Stage) -> None:
    stage.nodes["n1"].ending = "other-machine"


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (enabled_again, "StateChanged"),
        (forgotten, "ProtectedUnit"),
        (without_rights, "MissingRight"),
        (away, "CannotTell"),
        (another, "StateChanged"),
    ],
)
def test_undo_is_offered_only_while_it_makes_sense(stage: Stage, change: Any, name: str) -> None:
    cured(stage)
    change(stage)
    refused = do(stage, stage.responder().undo("one", ANN))
    assert isinstance(refused, Refused), refused
    assert refused.name == name
    assert refusals(stage) == [("undo", name)]
    assert [one.id for one in stage.ledger.incidents()] == ["one"], "nothing was opened"


def test_undo_of_what_did_nothing_is_refused(stage: Stage) -> None:
    refused = do(stage, stage.responder().undo("one", ANN))
    assert isinstance(refused, Refused)
    assert refused.name == "NothingToUndo"


def test_unit_that_moved_between_undo_and_yes_calls_it_off(stage: Stage) -> None:
    cured(stage)
    opened = do(stage, stage.responder().undo("one", ANN))
    enabled_again(stage)
    refused = do(stage, stage.responder().decide(opened.id, BOB))
    assert isinstance(refused, Refused)
    assert refused.name == "StateChanged"
    assert isinstance(incident(stage, opened.id).ending, Cancelled)


# --- on record


def test_request_about_an_incident_that_is_not_there_is_on_record(stage: Stage) -> None:
    async def wish() -> str:
        try:
            await stage.responder().decide("n0such", ANN)
        except UnknownIncident:
            return "unknown"
        return ""

    assert do(stage, wish()) == "unknown"
    assert refusals(stage) == [("approve", "UnknownIncident")]


def test_record_of_all_this_is_whole(stage: Stage) -> None:
    cured(stage)
    do(stage, stage.responder().undo("one", ANN))
    do(stage, stage.responder().undo("one", STRANGER))
    assert audit(stage.ledger._database).broken == ()
