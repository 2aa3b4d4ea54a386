"""Whatever is told of an incident, in whatever order: no state is reached that must not be."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.entry import Event
from bot.domain.errors import ImpossibleEvent
from bot.domain.events import (
    AlertReceived,
    Approved,
    Cancelled,
    Declined,
    Endorsed,
    Expired,
    NodePicked,
    PlanProposed,
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
from bot.domain.incident import Incident
from bot.domain.transitions import TRANSITIONS, State
from bot.domain.verdict import Confidence
from tests.examples import up_to
from tests.record.incidents import (
    APPROVER,
    ASKER,
    CAPTURE_EVENTS,
    HEALTHY,
    HOUSE_EVENTS,
    INCIDENT_EVENTS,
    OPENING,
    PLAN,
    PROPOSED,
    VERDICT,
    WITHOUT_NODE,
    entry,
)

POSSIBLE = Triaged(replace(VERDICT, confidence=Confidence.POSSIBLE))
TOLD_BY_A_SOURCE = INCIDENT_EVENTS[1:3]
# Beside one good example of each event, those that are nearly right.
NEARLY = (
    WITHOUT_NODE,
    NodePicked("node-2"),
    Triaged(HEALTHY),
    POSSIBLE,
    replace(PROPOSED, approvals_needed=2),
    PlanProposed.of(replace(PLAN, steps=PLAN.steps[:1]), {"boot_id": "another"}),
    Endorsed(PROPOSED.digest, "yes"),
    Approved("00" * 32, "wrong plan"),
    Declined("wrong plan", "00" * 32),
    StepStarted(2),
    StepStarted(1, 2),
    StepStarted(2, 2),
    StepStarted(3),
    StepVerified(2),
    StepFailed(2, "no proof"),
    StepSkipped(1, "off already"),
    ValidationStarted(timedelta(minutes=10)),
    ValidationStarted(timedelta(0), waiting=1),
    SampleTaken(False),
)
EVENTS: tuple[Event, ...] = (*INCIDENT_EVENTS, *NEARLY, *HOUSE_EVENTS, *CAPTURE_EVENTS)
# Most steps go on by something that does not end the story, or few stories would come to a second chapter; the rest
# are anything at all.
ON, ANYTHING = True, False
told = st.lists(
    st.tuples(
        st.sampled_from((ON, ON, ON, ANYTHING)), st.integers(0, 10_000), st.sampled_from((APPROVER, ASKER, "bot"))
    ),
    min_size=10,
    max_size=60,
)
ENDS = {State.RESOLVED, State.DECLINED, State.EXPIRED, State.CANCELLED, State.ESCALATED}


def tell(story: list[tuple[bool, int, str]], first: AlertReceived) -> tuple[Incident, list[tuple[Event, str]]]:
    """Tell a story event by event, passing over what is refused; return what came of it and what was let through."""
    incident = fold([entry(first, 1)])
    history: list[tuple[Event, str]] = [(first, ASKER)]
    for on, number, by in story:
        choice = [event for event in EVENTS if goes_on(incident, event, by)] if on else EVENTS
        if not choice:
            continue
        event = choice[number % len(choice)]
        try:
            incident = fold_entry(incident, entry(event, incident.seq + 1, by=by))
        except ImpossibleEvent:
            continue
        history.append((event, by))
        check(incident, history)
    return incident, history


def goes_on(incident: Incident, event: Event, by: str) -> bool:
    """True when the event would be let through and is not the end."""
    if type(event) not in TRANSITIONS.get(incident.state, {}) or event in (POSSIBLE, *TOLD_BY_A_SOURCE):
        return False  # this only chooses where stories go; what is possible is judged by `check`
    try:
        return type(event) is Resolved or not fold_entry(incident, entry(event, incident.seq + 1, by=by)).ended
    except ImpossibleEvent:
        return False


def check(incident: Incident, history: list[tuple[Event, str]]) -> None:
    """What holds of every incident, said without the table and without the fold."""
    happened = [event for event, _ in history]
    kinds = [type(event).__name__ for event in happened]

    def before(kind: str, needed: str) -> bool:
        return kind not in kinds or (needed in kinds and kinds.index(needed) < kinds.index(kind))

    assert kinds.count("AlertReceived") == 1
    for once in ("Triaged", "PlanProposed", "PlanWithheld", "Approved", "ValidationStarted"):
        assert kinds.count(once) <= 1, f"{once} twice"
    assert before("PlanProposed", "Triaged")
    assert before("Approved", "PlanProposed")
    for doing in ("StepStarted", "StepSkipped", "ValidationStarted", "SampleTaken", "Resolved"):
        assert before(doing, "Approved"), f"{doing} without a yes"
    assert before("Resolved", "SampleTaken")
    steps = [event for event in happened if isinstance(event, StepStarted | StepSkipped)]
    numbers = [event.number for event in steps]
    assert numbers == sorted(numbers), "steps in another order than planned"
    begun = any(isinstance(event, StepStarted) for event in steps)
    assert not (begun and any(isinstance(event, Cancelled | Expired) for event in happened))
    proposals = [event for event in happened if isinstance(event, PlanProposed)]
    yes = [(event, by) for event, by in history if isinstance(event, Approved | Endorsed)]
    assert len({by for _, by in yes}) == len(yes), "one person said yes twice"
    assert "bot" not in {by for _, by in yes}
    for event, _ in yes:
        assert event.digest == proposals[0].digest
    if "Approved" in kinds:
        assert len(yes) >= proposals[0].approvals_needed
    planned = set(range(1, len(proposals[0].plan.steps) + 1)) if proposals else set()
    if "ValidationStarted" in kinds:
        at = kinds.index("ValidationStarted")
        first = {event.number for event in happened[:at] if isinstance(event, StepStarted | StepSkipped)}
        waiting = max(event.waiting for event in happened if isinstance(event, ValidationStarted))
        assert first == set(sorted(planned)[: len(planned) - waiting])
        assert not any(isinstance(event, StepFailed) for event in happened[:at])
        if set(numbers) - first:
            later = next(i for i, event in enumerate(happened) if i > at and type(event) in (StepStarted, StepSkipped))
            looks = [event.holds for event in happened[at:later] if isinstance(event, SampleTaken)]
            assert looks[-1:] == [True], "a step that waits for the cure began without it"
    if "Resolved" in kinds:
        assert set(numbers) == planned
        assert not any(isinstance(event, StepFailed) for event in happened)
    assert (incident.state in ENDS) <= incident.ended
    assert (incident.state is State.UNKNOWN) <= (incident.question is not None)
    for after_end in [kind for kind in kinds if kind not in ("AlertJoined", "AlertCleared", "ProfileTaken")][:-1]:
        assert after_end not in {"Resolved", "Declined", "Expired", "Cancelled", "Escalated", "PlanWithheld"}


@settings(max_examples=up_to(200), deadline=None)
@given(told, st.sampled_from((OPENING, WITHOUT_NODE)))
def test_no_story_reaches_an_impossible_state(story: list[tuple[bool, int, str]], first: AlertReceived) -> None:
    incident, history = tell(story, first)
    check(incident, history)


@settings(max_examples=up_to(60), deadline=None)
@given(told)
def test_story_read_again_is_the_same_incident(story: list[tuple[bool, int, str]]) -> None:
    incident, history = tell(story, OPENING)
    again = fold([entry(event, seq, by=by) for seq, (event, by) in enumerate(history, 1)])
    assert again == incident
