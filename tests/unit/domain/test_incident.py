"""The table of transitions, walked whole, and what the fold knows of an incident."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.alert import Alert
from bot.domain.entry import EVENTS, OF_EXTRAS, Event, kind_of
from bot.domain.errors import ImpossibleEvent, UnreadableEntry
from bot.domain.events import (
    AlertCleared,
    AlertJoined,
    Approved,
    Cancelled,
    Declined,
    Endorsed,
    Escalated,
    IncidentEvent,
    NodePicked,
    PlanProposed,
    PlanWithheld,
    QuestionAnswered,
    QuestionAsked,
    Resolved,
    SampleTaken,
    StepFailed,
    StepSkipped,
    StepStarted,
    StepVerified,
    Triaged,
    ValidationStarted,
)
from bot.domain.fold import fold, fold_entry
from bot.domain.incident import Incident, Result
from bot.domain.transitions import State
from bot.domain.verdict import Confidence
from tests.record.incidents import (
    ALERT,
    APPROVED,
    APPROVER,
    ASKER,
    BEGAN_AT,
    CAPTURE_EVENTS,
    HEALTHY,
    HOLDS,
    HOUSE_EVENTS,
    INCIDENT_EVENTS,
    MARK_EVENTS,
    OPENING,
    PLAN,
    PROPOSED,
    QUESTION,
    RESOLVED,
    SECOND,
    STARTED,
    TRIAGED,
    VALIDATING,
    VERDICT,
    VERIFIED,
    WAVE_EVENTS,
    WAYS,
    WITHOUT_NODE,
    entries,
    entry,
)

# Event by event, where it leads from each of the states that are no end; a dot is nowhere.
GRID = """
                 opened    triaged   proposed  approved  acting    verifying  unknown
AlertReceived    .         .         .         .         .         .          .
AlertJoined      opened    triaged   proposed  approved  acting    verifying  unknown
AlertCleared     opened    triaged   proposed  approved  acting    verifying  unknown
ProfileTaken     opened    triaged   proposed  approved  acting    verifying  unknown
NodePicked       opened    .         .         .         .         .          opened
Triaged          triaged   .         .         .         .         .          .
PlanWithheld     .         triaged   .         .         .         .          .
PlanProposed     .         proposed  .         .         .         .          .
Endorsed         .         .         proposed  .         .         .          .
Approved         .         .         approved  .         .         .          .
Declined         .         .         declined  .         .         .          .
Expired          .         expired   expired   expired   expired   expired    .
Cancelled        cancelled cancelled cancelled cancelled cancelled cancelled  cancelled
StepStarted      .         .         .         acting    acting    acting     .
StepVerified     .         .         .         .         acting    .          .
StepSkipped      .         .         .         acting    acting    acting     .
StepFailed       .         .         .         .         acting    .          .
ValidationStarted .        .         .         .         verifying .          .
SampleTaken      .         .         .         .         .         verifying  .
Resolved         .         .         .         .         resolved  resolved   .
Escalated        escalated escalated escalated escalated escalated escalated  escalated
QuestionAsked    unknown   .         .         unknown   unknown   unknown    .
QuestionAnswered .         .         .         .         .         .          opened
"""
COLUMNS = GRID.split("\n")[1].split()
LEADS_TO = {
    (State(column), kind): cell
    for kind, *cells in map(str.split, GRID.strip().split("\n")[1:])
    for column, cell in zip(COLUMNS, cells, strict=True)
}
OTHERS: tuple[Event, ...] = (*HOUSE_EVENTS, *WAVE_EVENTS, *CAPTURE_EVENTS, *MARK_EVENTS)  # in no incident
EXAMPLES: dict[str, Event] = {kind_of(event): event for event in (*INCIDENT_EVENTS, *OTHERS)}
KINDS = {*EVENTS, *OF_EXTRAS}


# The second step waited for the cure to hold, and it has.
WATCHED = ValidationStarted(timedelta(0), waiting=1)
OFF = StepSkipped(1, "it is off already")
HELD_SO_FAR = (*WAYS[State.APPROVED], STARTED, VERIFIED, WATCHED, HOLDS)


def ready_for(state: State, kind: str) -> tuple[IncidentEvent, ...]:
    """A way into the state in which, if any event of that kind can follow, its example can."""
    before_steps = WAYS[State.APPROVED]
    if state in (State.ACTING, State.VERIFYING) and kind in ("Expired", "Cancelled"):  # no step was needed so far
        return (*before_steps, OFF, *([WATCHED] if state is State.VERIFYING else ()))
    if state is State.ACTING:
        return {
            "StepStarted": (*before_steps, STARTED, VERIFIED),
            "StepSkipped": (*before_steps, STARTED, VERIFIED),
            "ValidationStarted": (*before_steps, STARTED, VERIFIED, SECOND),
            "Resolved": (*HELD_SO_FAR, SECOND),
        }.get(kind, WAYS[state])
    if state is State.VERIFYING and kind in ("StepStarted", "StepSkipped"):
        return HELD_SO_FAR
    if kind == "NodePicked":
        return {State.OPENED: (WITHOUT_NODE,), State.UNKNOWN: (WITHOUT_NODE, QUESTION)}.get(state, WAYS[state])
    if kind == "Endorsed" and state is State.PROPOSED:
        return (OPENING, TRIAGED, replace(PROPOSED, approvals_needed=2))
    return WAYS[state]


def example_for(state: State, kind: str) -> Event:
    if state in (State.ACTING, State.VERIFYING) and kind == "StepStarted":
        return StepStarted(2)
    if (state, kind) == (State.APPROVED, "StepSkipped"):
        return OFF
    return VALIDATING if kind == "ValidationStarted" else EXAMPLES[kind]


AFTER_THE_END = ("AlertJoined", "AlertCleared", "ProfileTaken")  # these change nothing of an end


def outcome(events: tuple[IncidentEvent, ...], event: Event) -> str:
    incident = fold(entries(events))
    try:
        return fold_entry(incident, entry(event, incident.seq + 1)).state.value
    except ImpossibleEvent:
        return "."


def test_every_event_and_every_state_have_their_place_in_the_grid() -> None:
    assert set(EXAMPLES) == KINDS
    assert set(WAYS) == set(State)
    assert {state for state, _ in LEADS_TO} == {state for state in State if not fold(entries(WAYS[state])).ended}
    assert {kind for _, kind in LEADS_TO} | {kind_of(event) for event in OTHERS} == KINDS


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_event_leads_where_the_grid_says_and_nowhere_else(kind: str) -> None:
    for state in State:
        way = ready_for(state, kind)
        assert fold(entries(way)).state is state
        stays = state.value if kind in AFTER_THE_END else "."
        assert outcome(way, example_for(state, kind)) == LEADS_TO.get((state, kind), stays), state


def test_answer_leads_back_to_where_the_incident_was_parked() -> None:
    for state in (State.APPROVED, State.ACTING, State.VERIFYING):
        parked = fold(entries((*WAYS[state], QUESTION)))
        assert (parked.state, parked.parked_from, parked.question) == (State.UNKNOWN, state, QUESTION)
        resumed = fold_entry(parked, entry(QuestionAnswered("yes"), parked.seq + 1))
        assert (resumed.state, resumed.parked_from, resumed.question) == (state, None, None)


@pytest.mark.parametrize("ended", [(OPENING, Triaged(HEALTHY)), (OPENING, TRIAGED, PlanWithheld("Acting is off."))])
def test_nothing_follows_a_verdict_without_a_plan_or_one_that_is_withheld(ended: tuple[IncidentEvent, ...]) -> None:
    assert fold(entries(ended)).ended
    assert {outcome(ended, event) for kind, event in EXAMPLES.items() if kind not in AFTER_THE_END} == {"."}


@pytest.mark.parametrize("state", [state for state in State if fold(entries(WAYS[state])).ended])
def test_what_a_source_tells_after_the_end_changes_nothing_of_it(state: State) -> None:
    ended = fold(entries(WAYS[state]))
    joined = Alert("pagerduty", "Q2")
    told = fold_entry(ended, entry(AlertJoined(joined), ended.seq + 1))
    assert (told.state, told.ending, told.ended, told.joined) == (state, ended.ending, True, (joined,))
    cleared = fold_entry(told, entry(AlertCleared(ALERT.kind, ALERT.id), told.seq + 1))
    assert not cleared.is_over, "the one that joined is not over"
    cleared = fold_entry(cleared, entry(AlertCleared(joined.kind, joined.id), cleared.seq + 1))
    assert (cleared.is_over, cleared.state, cleared.ending) == (True, state, ended.ending)


TWO_NEEDED = (OPENING, TRIAGED, replace(PROPOSED, approvals_needed=2))
YES = Endorsed(PROPOSED.digest, "yes")
JOINED = AlertJoined(Alert("pagerduty", "Q2"))
AFTER_FIRST = (*WAYS[State.APPROVED], STARTED, VERIFIED)
UNSURE = replace(TRIAGED, verdict=replace(VERDICT, confidence=Confidence.POSSIBLE))


@pytest.mark.parametrize(
    ("way", "event", "because"),
    [
        ((OPENING,), Triaged(replace(VERDICT, node="node-2")), "its node is node-gpu-01"),
        ((WITHOUT_NODE,), TRIAGED, "its node is not known yet"),
        ((OPENING,), NodePicked("node-2"), "it has its node"),
        ((WITHOUT_NODE, QUESTION), QuestionAnswered("that one"), "its node must be picked first"),
        ((OPENING, UNSURE), PROPOSED, "a cause that is only possible is not acted on"),
        ((OPENING, TRIAGED), PlanProposed.of(replace(PLAN, node="node-2"), {}), "the plan is for node-2"),
        ((OPENING, TRIAGED), PlanProposed.of(replace(PLAN, steps=()), {}), "the plan has no steps"),
        ((OPENING, TRIAGED), replace(PROPOSED, binds={}), "its digest does not match the recorded plan"),
        ((OPENING, TRIAGED), replace(PROPOSED, approvals_needed=0), "somebody must approve"),
        (WAYS[State.PROPOSED], Approved("00" * 32, "yes"), "it is for another plan"),
        (WAYS[State.PROPOSED], Declined("no", "00" * 32), "another plan was declined"),
        (WAYS[State.PROPOSED], YES, "this is the last approval that is needed"),
        (TWO_NEEDED, APPROVED, "2 approvals are needed"),
        ((*TWO_NEEDED, YES), APPROVED, f"{APPROVER} has approved already"),
        ((*WAYS[State.ACTING], QUESTION), Cancelled("stop"), "a step has begun"),
        (WAYS[State.APPROVED], StepStarted(2), "step 2 is not the next of 2"),
        (WAYS[State.APPROVED], StepStarted(1, 2), "its first attempt is number 1"),
        (WAYS[State.ACTING], StepStarted(2), "step 1 is open"),
        (WAYS[State.ACTING], StepStarted(1, 3), "step 1 is open"),
        (WAYS[State.ACTING], SECOND, "step 1 is open"),
        (WAYS[State.ACTING], replace(VERIFIED, number=2), "step 2 is not open"),
        (WAYS[State.ACTING], VALIDATING, "not all steps are done"),
        (AFTER_FIRST, VALIDATING, "not all steps are done"),
        ((*AFTER_FIRST, SECOND), StepStarted(3), "step 3 is not the next of 2"),
        ((*WAYS[State.ACTING], StepFailed(1, "no proof")), StepStarted(2), "a step has failed"),
        ((*WAYS[State.ACTING], StepFailed(1, "no proof")), VALIDATING, "a step has failed"),
        ((*WAYS[State.VERIFYING], SampleTaken(False)), RESOLVED, "the last look did not find it cured"),
        (WAYS[State.VERIFYING][:-1], RESOLVED, "the last look did not find it cured"),
        (WAYS[State.RESOLVED], Escalated("again"), "it has ended"),
        ((*AFTER_FIRST, WATCHED), StepStarted(2), "the cure has not held yet"),
        ((*HELD_SO_FAR, SampleTaken(False)), StepSkipped(2, "it is open"), "the cure has not held yet"),
        (
            (*AFTER_FIRST, ValidationStarted(timedelta(minutes=10), waiting=1), HOLDS),
            StepStarted(2),
            "the cure has not held yet",
        ),
        (
            (*AFTER_FIRST, ValidationStarted(timedelta(seconds=2), waiting=1), HOLDS, JOINED, JOINED),
            StepStarted(2),
            "the cure has not held yet",  # a source told of another alert at its end, and nobody looked
        ),
        (HELD_SO_FAR, Resolved("It is cured."), "steps are left"),
        ((*HELD_SO_FAR, StepStarted(2)), Resolved("It is cured."), "steps are left"),
        ((*HELD_SO_FAR, StepStarted(2), StepFailed(2, "no")), Resolved("It is cured."), "a step has failed"),
        ((*HELD_SO_FAR, SECOND), ValidationStarted(timedelta(0)), "it was watched before"),
        (AFTER_FIRST, ValidationStarted(timedelta(0), waiting=2), "not all steps are done"),
        (AFTER_FIRST, ValidationStarted(timedelta(0)), "not all steps are done"),
        (WAYS[State.OPENED], HOUSE_EVENTS[2], "this state does not allow it"),
    ],
)
def test_refused_event_is_told_why(way: tuple[IncidentEvent, ...], event: Event, because: str) -> None:
    incident = fold(entries(way))
    with pytest.raises(ImpossibleEvent) as refused:
        fold_entry(incident, entry(event, incident.seq + 1))
    assert refused.value.sentence.endswith(f"which is {incident.state}: {because}.")


def test_only_a_person_says_yes() -> None:
    incident = fold(entries(WAYS[State.PROPOSED]))
    with pytest.raises(ImpossibleEvent, match="only a person can approve"):
        fold_entry(incident, entry(APPROVED, incident.seq + 1, by="bot"))


def test_second_yes_of_two_approves() -> None:
    waiting = fold(entries((*TWO_NEEDED, YES)))
    assert [one.by for one in waiting.endorsements] == [APPROVER]
    approved = fold_entry(waiting, entry(APPROVED, waiting.seq + 1, by=ASKER))
    assert (approved.state, approved.approval and approved.approval.by) == (State.APPROVED, ASKER)


def test_step_without_an_end_on_record_may_be_tried_again() -> None:
    acting = fold(entries(WAYS[State.ACTING]))
    again = fold_entry(acting, entry(StepStarted(1, 2, STARTED.boot_id), acting.seq + 1))
    assert [(step.number, step.attempt, step.outcome) for step in again.steps] == [(1, 2, None)]
    assert again.step_under_way == again.steps[0]


def test_resolved_incident_tells_its_story() -> None:
    whole = fold(entries(WAYS[State.RESOLVED]))
    assert (whole.alert, whole.node, whole.group, whole.verdict) == (ALERT, VERDICT.node, OPENING.group, VERDICT)
    assert (whole.proposal, whole.decision and whole.decision.event) == (PROPOSED, APPROVED)
    assert [(step.number, step.outcome) for step in whole.steps] == [(1, VERIFIED), (2, SECOND)]
    assert (whole.validation, whole.samples, whole.ending) == (VALIDATING, (HOLDS,), RESOLVED)
    assert whole.opened_at == BEGAN_AT + timedelta(seconds=1)
    assert whole.updated_at == BEGAN_AT + timedelta(seconds=len(WAYS[State.RESOLVED]))
    assert whole.validation_ends_at == BEGAN_AT + timedelta(seconds=8, minutes=10)
    summary = whole.summary
    assert (summary.state, summary.cause, summary.ended) == (State.RESOLVED, "leaked-memory-cgroups", True)


def folded(*events: Event) -> Incident:
    return fold(entries(events))


def test_incident_begins_with_an_alert_and_only_once() -> None:
    for events in ((), (TRIAGED,), (HOUSE_EVENTS[0],), (OPENING, OPENING)):
        with pytest.raises(ImpossibleEvent):
            folded(*events)


def test_entry_of_another_stream_or_place_is_refused() -> None:
    incident = folded(OPENING)
    for wrong in (entry(TRIAGED, 2, "another000"), entry(TRIAGED, 3), entry(TRIAGED, 1)):
        with pytest.raises(ImpossibleEvent, match="is not what follows"):
            fold_entry(incident, wrong)


def test_time_that_no_calendar_has_cannot_follow() -> None:
    incident = fold(entries(WAYS[State.RESOLVED][: WAYS[State.RESOLVED].index(VALIDATING)]))
    last = entry(replace(VALIDATING, window=timedelta(days=290_000)), incident.seq + 1)
    with pytest.raises(
        ImpossibleEvent, match=r"ValidationStarted cannot follow in incident .*: date value out of range"
    ):
        fold_entry(incident, replace(last, at=datetime(9999, 1, 1, tzinfo=UTC)))


def test_entry_of_a_newer_program_stops_the_fold() -> None:
    newer = replace(entry(TRIAGED, 2), kind="Teleported")
    with pytest.raises(UnreadableEntry, match="Teleported"):
        fold_entry(folded(OPENING), newer)


# --- a step that waited until the cure has held


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
        ((*AFTER_FIRST, SECOND, ValidationStarted(timedelta(0)), HOLDS, Escalated("no cure")), Result.CONTAINED),
        ((*HELD_SO_FAR, StepStarted(2), StepVerified(2), Resolved("It is cured.")), Result.CURED),
    ],
)
def test_how_a_node_stands_says_whether_it_is_cured_and_whether_it_was_given_back(
    way: tuple[IncidentEvent, ...], result: Result | None
) -> None:
    assert fold(entries(way)).result is result
