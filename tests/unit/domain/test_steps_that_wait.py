"""Steps that wait until the cure has held: what of them may be recorded, and when."""

from datetime import timedelta

import pytest

from bot.domain.alert import Alert
from bot.domain.entry import Event
from bot.domain.errors import ImpossibleEvent
from bot.domain.events import (
    AlertJoined,
    Escalated,
    IncidentEvent,
    QuestionAsked,
    Resolved,
    SampleTaken,
    StepFailed,
    StepSkipped,
    StepStarted,
    StepVerified,
    ValidationStarted,
)
from bot.domain.fold import fold, fold_entry
from bot.domain.incident import Result
from bot.domain.transitions import State
from tests.record.incidents import HOLDS, SECOND, STARTED, VERIFIED, WAYS, entries, entry

FIRST_DONE = (*WAYS[State.APPROVED], STARTED, VERIFIED)
JOINED = AlertJoined(Alert("pagerduty", "Q2"))
WATCHED = ValidationStarted(timedelta(0), waiting=1)
HELD_SO_FAR = (*FIRST_DONE, WATCHED, HOLDS)


def test_step_that_waited_is_done_after_the_cure_has_held_and_ends_the_incident() -> None:
    done = fold(entries((*HELD_SO_FAR, StepStarted(2), StepVerified(2), Resolved("It is cured."))))
    assert (done.state, done.steps_left) == (State.RESOLVED, 0)


@pytest.mark.parametrize(
    ("way", "result"),
    [
        (HELD_SO_FAR, None),
        ((*HELD_SO_FAR, SampleTaken(False), Escalated("no answer")), Result.NOT_FIXED),
        ((*HELD_SO_FAR, Escalated("the brake stayed on")), Result.NOT_GIVEN_BACK),
        ((*HELD_SO_FAR, StepStarted(2), StepFailed(2, "no")), Result.NOT_GIVEN_BACK),
        ((*HELD_SO_FAR, StepStarted(2), QuestionAsked("What is it?")), Result.NOT_GIVEN_BACK),
        ((*HELD_SO_FAR, StepStarted(2), Escalated("it is gone")), Result.NOT_GIVEN_BACK),
        ((*FIRST_DONE, SECOND, ValidationStarted(timedelta(0)), HOLDS, Escalated("no cure")), Result.CONTAINED),
        ((*HELD_SO_FAR, StepStarted(2), StepVerified(2), Resolved("It is cured.")), Result.CURED),
    ],
)
def test_how_a_node_stands_says_whether_it_is_cured_and_whether_it_was_given_back(
    way: tuple[IncidentEvent, ...], result: Result | None
) -> None:
    assert fold(entries(way)).result is result


@pytest.mark.parametrize(
    ("way", "event", "because"),
    [
        ((*FIRST_DONE, WATCHED), StepStarted(2), "the cure has not held yet"),
        ((*HELD_SO_FAR, SampleTaken(False)), StepSkipped(2, "it is open"), "the cure has not held yet"),
        (
            (*FIRST_DONE, ValidationStarted(timedelta(minutes=10), waiting=1), HOLDS),
            StepStarted(2),
            "the cure has not held yet",
        ),
        (
            (*FIRST_DONE, ValidationStarted(timedelta(seconds=2), waiting=1), HOLDS, JOINED, JOINED),
            StepStarted(2),
            "the cure has not held yet",  # a source told of another alert at its end, and nobody looked
        ),
        (HELD_SO_FAR, Resolved("It is cured."), "steps are left"),
        ((*HELD_SO_FAR, StepStarted(2)), Resolved("It is cured."), "steps are left"),
        ((*HELD_SO_FAR, StepStarted(2), StepFailed(2, "no")), Resolved("It is cured."), "a step has failed"),
        ((*HELD_SO_FAR, SECOND), ValidationStarted(timedelta(0)), "it was watched before"),
        (
            FIRST_DONE,
            ValidationStarted(timedelta(0), waiting=2),
            "not all steps are done",
        ),
        (FIRST_DONE, ValidationStarted(timedelta(0)), "not all steps are done"),
    ],
)
def test_refused_event_is_told_why(way: tuple[IncidentEvent, ...], event: Event, because: str) -> None:
    incident = fold(entries(way))
    with pytest.raises(ImpossibleEvent) as refused:
        fold_entry(incident, entry(event, incident.seq + 1))
    assert refused.value.sentence.endswith(f": {because}.")
