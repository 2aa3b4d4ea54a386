"""What people may wish beside a yes: calling off and answering; and why not, on record."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain.errors import UnknownIncident
from bot.domain.events import (
    GIVE_UP,
    GO_ON,
    Cancelled,
    Escalated,
    QuestionAnswered,
    QuestionAsked,
    Resolved,
    SampleTaken,
)
from bot.domain.incident import Incident
from bot.domain.policy import Approval
from bot.domain.verdict import Evidence
from bot.response.execution.validation import UNREADABLE
from tests.known import known_as
from tests.schedules.stage import Stage
from tests.unit.response.requesting import (
    ANN,
    ASKER,
    BOB,
    STRANGER,
    allowed,
    approve,
    do,
    incident,
    pull,
    refusals,
    refused,
    run,
)

# --- calling off


@pytest.mark.parametrize("by", [ASKER, ANN])
@pytest.mark.parametrize("approved", [False, True])
def test_asker_or_approver_calls_it_off_before_anything_is_done(stage: Stage, by: Approval, approved: bool) -> None:
    if approved:
        approve(stage)
    done = allowed(stage, stage.responder().cancel("one", by))
    assert known_as(done.ending, Cancelled).because == f"{by.by} called it off: {by.reason}"
    assert stage.ledger.read.now("one")[-1].by == by.by


def test_stranger_calls_nothing_off(stage: Stage) -> None:
    assert refused(stage, stage.responder().cancel("one", STRANGER)).name == "NotAnApprover"
    assert incident(stage).state == "proposed"
    assert refusals(stage) == [("cancel", "NotAnApprover")]


def test_what_has_begun_is_not_called_off(stage: Stage) -> None:
    approve(stage)
    run(stage)
    no = refused(stage, stage.responder().cancel("one", ANN))
    assert no.name == "AlreadyDecided"
    assert "resolved" in no.sentence


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
    done = allowed(stage, stage.responder().answer("one", GO_ON, ANN))
    assert done.state == "acting"
    assert isinstance(stage.ledger.read.now("one")[-1].event, QuestionAnswered)


@pytest.mark.parametrize("ending", ["other-key", "other-machine"])
def test_another_machine_is_asked_about_again_whatever_the_answer_was(stage: Stage, ending: str) -> None:
    parked(stage, ending)
    for _ in range(3):
        do(stage, stage.responder().answer("one", GO_ON, ANN))
        stage.world.now += timedelta(seconds=20)  # whoever ran it is taken for dead
        do(stage, stage.remediation().advance("one"))
        assert isinstance(stage.ledger.read.now("one")[-1].event, QuestionAsked)
    assert stage.nodes["n1"].done_as_stranger == 0


def test_node_that_is_itself_again_is_gone_on_with(stage: Stage) -> None:
    parked(stage)
    stage.nodes["n1"].ending = "cured"  # somebody put the right machine back
    do(stage, stage.responder().answer("one", GO_ON, ANN))
    assert isinstance(run(stage).ending, Resolved)


def test_watched_node_is_read_after_the_answer_though_the_last_look_failed_long_ago(stage: Stage) -> None:
    approve(stage)
    remediation = stage.remediation()
    while incident(stage).state != "verifying":
        do(stage, remediation.advance("one"))
        stage.world.now += timedelta(seconds=1)
    unread = SampleTaken(False, (Evidence(UNREADABLE, "look", "refused"),))
    for event in (unread, QuestionAsked("Another machine answers.", (GO_ON, GIVE_UP))):
        stage.ledger.append.now("one", incident(stage).seq, event, "bot")
    stage.world.now += timedelta(minutes=2)
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
    no = refused(stage, stage.responder().answer("one", answer, ANN, first))
    assert (no.name, open_now.question is not None) == ("StaleRequest", True)
    assert no.sentence.startswith("That was about an earlier question. Open is: ")
    assert incident(stage).seq == open_now.seq
    assert refusals(stage)[-1] == ("answer", "StaleRequest")
    assert isinstance(do(stage, stage.responder().answer("one", answer, ANN, open_now.asked_at)), Incident)


def test_giving_up_hands_it_to_a_person_with_the_reason(stage: Stage) -> None:
    parked(stage)
    done = allowed(stage, stage.responder().answer("one", GIVE_UP, replace(ANN, reason="it was replaced")))
    assert known_as(done.ending, Escalated).because == "terminal:ann gave it up: it was replaced"


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
    no = refused(stage, stage.responder().answer("one", answer, by))
    assert no.name == name
    assert incident(stage).state == "unknown"
    assert refusals(stage)[-1] == ("answer", name)


def test_answer_without_a_question_changes_nothing(stage: Stage) -> None:
    assert refused(stage, stage.responder().answer("one", GO_ON, ANN)).name == "AlreadyDecided"


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


# --- who moves the brake, and that a release is about the pull that is on


def test_approver_pulls_and_releases_the_brake(stage: Stage) -> None:
    pulled = do(stage, stage.responder().brake(True, ANN))
    assert (pulled.by, pulled.body["reason"]) == ("terminal:ann", "it leaks")
    assert do(stage, stage.responder().brake(False, BOB)) is None


@pytest.mark.parametrize("on", [True, False])
def test_nobody_else_moves_it(stage: Stage, on: bool) -> None:
    if not on:
        pull(stage)
    assert refused(stage, stage.responder().brake(on, STRANGER)).name == "NotAnApprover"
    assert refusals(stage) == [("brake on" if on else "brake off", "NotAnApprover")]
    assert (stage.ledger.brake_pull.now() is None) is on


def test_release_that_was_meant_for_an_earlier_pull_does_nothing_and_says_so(stage: Stage) -> None:
    first = do(stage, stage.responder().brake(True, ANN))
    do(stage, stage.responder().brake(False, BOB, pull=first.seq))
    second = do(stage, stage.responder().brake(True, ANN))
    no = refused(stage, stage.responder().brake(False, BOB, pull=first.seq))
    assert no.name == "StaleRequest"
    assert f"Pull #{second.seq} is on" in no.sentence
    assert stage.ledger.brake_pull.now() == second
    assert refusals(stage) == [("brake off", "StaleRequest")]
    assert do(stage, stage.responder().brake(False, BOB, pull=second.seq)) is None


@pytest.mark.parametrize(("after", "says"), [(-0.001, "before it"), (0.0, "right after it"), (59.9, "right after it")])
def test_release_from_before_the_pull_or_so_near_that_clocks_cannot_tell_does_nothing(
    stage: Stage, after: float, says: str
) -> None:
    pulled = do(stage, stage.responder().brake(True, ANN))
    early = stage.responder().brake(False, BOB, asked_at=pulled.at + timedelta(seconds=after))
    no = refused(stage, early)
    assert no.name == "StaleRequest"
    assert f"{says} was pulled" in no.sentence
    assert no.try_next == f"To release that pull: /zombie brake off #{pulled.seq}"
    later = stage.responder().brake(False, BOB, asked_at=pulled.at + timedelta(minutes=1))
    assert do(stage, later) is None


def test_whoever_may_be_in_a_group_that_cannot_be_asked_pulls_and_does_not_release(stage: Stage) -> None:
    pulled = do(stage, stage.responder().brake(True, STRANGER, anybody=True))
    assert pulled.by == STRANGER.by
    assert refused(stage, stage.responder().brake(False, STRANGER, anybody=True)).name == "NotAnApprover"
