"""The view of an incident in each state, and that no surface loses its headline, its plan or its choices."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.action import Plan, Step
from bot.domain.command import slow_words
from bot.domain.events import (
    Escalated,
    IncidentEvent,
    PlanWithheld,
    ProfileTaken,
    QuestionAsked,
    StepFailed,
    ValidationStarted,
)
from bot.domain.incident import Incident
from bot.domain.policy import Policy
from bot.domain.transitions import State
from bot.domain.verdict import Status
from bot.response.diagnosis.progress import ReadingProgress
from bot.response.diagnosis.proposal import ACTING_IS_OFF
from bot.surfaces.document import node_document
from bot.surfaces.incidents import incident_body, incident_text
from bot.surfaces.pagerduty_note import note_text
from bot.view.context import ViewContext
from bot.view.plan_words import PlanWords
from bot.view.standing import ANSWER, APPROVE, DECLINE, PICK, UNDO, Choice, approval_dialog_words, choice_words
from bot.view.view import GroupView, IncidentView, group_view, incident_view
from bot.view.words import NEEDS_PERSON_FIRST, WORST_FIRST, Instant, plain
from tests.examples import up_to
from tests.known import known
from tests.record.incidents import (
    HOLDS,
    OPENING,
    QUESTION,
    STARTED,
    STEPS,
    TRIAGED,
    VERDICT,
    VERIFIED,
    WAYS,
    WITHOUT_NODE,
    entries,
)
from tests.slack.drawn import incident_card
from tests.unit.surfaces.cards import CONTEXT, WORDS, buttons, told, words

PLAN_WORDS = "disable ecs.service, then reboot"
NODE = "node-gpu-01"
CAUSE = "leaked-memory-cgroups (confirmed)"
CRITICAL = f"{NODE}: CRITICAL, {CAUSE}"


def view(*events: IncidentEvent, context: ViewContext = CONTEXT) -> IncidentView:
    return incident_view(told(*events), context)


@pytest.mark.parametrize(
    ("state", "headline", "story"),
    [
        (State.OPENED, f"{NODE}: reading…", ""),
        (State.TRIAGED, CRITICAL, f"What would help: {PLAN_WORDS}."),
        (
            State.PROPOSED,
            CRITICAL,
            f"Waits for approval: {PLAN_WORDS}. Nothing is done before that.",
        ),
        (State.APPROVED, CRITICAL, "“it is drained”. It has not begun yet."),
        (
            State.ACTING,
            CRITICAL,
            "Acting. Step 1, disable ecs.service: under way. Step 2, reboot: ",
        ),
        (State.VERIFYING, CRITICAL, "All steps are done, and the node is watched until 09:40 UTC."),
        (
            State.RESOLVED,
            f"Resolved: {NODE}: {CAUSE}",
            (
                "The leak is gone. Done: ecs.service disabled, node rebooted (it was so already). Still to do, the "
                "lasting fix (ecs.service): Take the agent out of the image. Approved by "
            ),
        ),
        (State.DECLINED, f"Declined: {CRITICAL}", "“no”. Nothing was changed on the node."),
        (State.EXPIRED, f"Expired: {CRITICAL}", "too late. Nothing was changed on the node."),
        (State.CANCELLED, f"Cancelled: {NODE}", "asked twice. Nothing was changed on the node."),
        (State.ESCALATED, f"Escalated: {CRITICAL}", "A person has to take over: no proof."),
        (State.UNKNOWN, NODE, "A question: Is the node back? Nothing more is sent to the node."),
    ],
)
def test_every_state_has_its_headline_and_its_story(state: State, headline: str, story: str) -> None:
    shown = view(*WAYS[state])
    assert shown.headline == headline
    assert story in plain(shown.story)


@pytest.mark.parametrize(
    ("status", "short"),
    [
        (Status.HEALTHY, "nothing to do"),
        (Status.DEGRADED, "no plan: look by hand"),
        (Status.UNKNOWN, "no plan: look by hand"),
        (Status.UNREACHABLE, "no plan: look by hand"),
    ],
)
def test_row_without_a_plan_says_whether_somebody_has_to_look(status: Status, short: str) -> None:
    shown = view(OPENING, replace(TRIAGED, verdict=replace(VERDICT, plan=None, status=status)))
    assert shown.short == short


def test_row_of_a_plan_that_is_not_offered_says_what_would_help() -> None:
    assert view(*WAYS[State.TRIAGED]).short == f"would help: {PLAN_WORDS}"


def test_step_that_waits_for_the_cure_to_hold_is_said_and_what_holds_it_back() -> None:
    way = (*WAYS[State.APPROVED], STARTED, VERIFIED, ValidationStarted(timedelta(0), waiting=1))
    watched = plain(view(*way).story)
    assert "The node is watched until 09:30 UTC; if the cure holds: reboot." in watched
    assert "All steps are done" not in watched
    braked = replace(CONTEXT, waits_for={told(*way).id: "Braked: bob pulled the brake."})
    assert "if the cure holds: reboot. It waits: Braked: bob pulled" in plain(view(*way, HOLDS, context=braked).story)
    where = {"node": "k8s-7", "of_cluster": "prod"}
    plan = WORDS.view(Plan(NODE, (Step("reboot"), Step("uncordon", where))))
    assert plan.impact.endswith("then pods may come again, once the cure has held.")
    assert WORDS.view(Plan(NODE, (Step("uncordon", where),))).impact.endswith(": pods may come again.")


def test_progress_and_a_verdict_that_is_not_on_record_yet_are_shown() -> None:
    reading = replace(CONTEXT, progress={NODE: ReadingProgress(told(OPENING), 3, 14)})
    assert view(OPENING, context=reading).headline == f"{NODE}: reading… 3 of 14 probes"
    slow = replace(CONTEXT, progress={NODE: ReadingProgress(told(OPENING), 3, 14, slow=slow_words(8.2))})
    assert view(OPENING, context=slow).headline == (
        f"{NODE}: reading… 3 of 14 probes, answers took 8 × as long as usual"
    )
    waiting = replace(CONTEXT, progress={NODE: ReadingProgress(told(OPENING), waiting="2 nodes are being read")})
    assert view(OPENING, context=waiting).headline == f"{NODE}: waiting: 2 nodes are being read"
    judged = view(OPENING, context=replace(CONTEXT, fresh={NODE: VERDICT}))
    assert (judged.headline, judged.severity) == (CRITICAL, VERDICT.status)


def test_node_that_is_read_again_for_a_profile_says_so() -> None:
    profiled = view(OPENING, ProfileTaken("Core 39 ran kubelet.", "cycles at 49 Hz for 10 s.", "", "{}"))
    assert plain(profiled.story).startswith("A profile changes the verdict, so the node is read again.")
    assert "profile" not in plain(view(OPENING).story)


def test_plan_has_the_words_the_impact_and_the_outcome_of_each_step() -> None:
    plan = known(view(*WAYS[State.ACTING][:-1], STARTED, StepFailed(1, "still active")).plan)
    first, second = plan.steps
    assert (first.words, first.outcome) == ("disable ecs.service", "failed: still active")
    assert first.impact == "ecs.service stops and does not start at boot"
    assert (second.words, second.outcome) == ("reboot", "to come")
    assert plan.impact.startswith(f"1 node, {NODE}: ecs.service stops and")
    told = f'logger -p user.notice -t "zombie[{view(OPENING).id}]"'
    assert plan.commands == tuple(line for step in STEPS for command in step.commands for line in (told, command))


def test_step_is_worded_by_what_it_acts_on() -> None:
    drain = Step("drain", {"node": "k8s-7", "of_cluster": "prod", "within": "10m", "with_bare_pods": "no"})
    assert WORDS.step(drain) == "drain k8s-7 prod"
    assert "within 10m" in WORDS.impact(drain)
    assert WORDS.step(Step("restore_unit", {"unit": "a.service", "verbs": "enable start"})) == "bring back a.service"
    assert PlanWords().plan(Plan(NODE, STEPS)) == "disable unit ecs.service, then reboot", "unknown ones by their names"


def kinds(group: GroupView) -> list[str]:
    return [choice.kind for choice in group.choices]


def test_choices_are_those_that_a_person_has_now() -> None:
    proposed = told(*WAYS[State.PROPOSED])
    assert kinds(group_view([proposed], CONTEXT)) == [APPROVE, DECLINE]
    checking = replace(CONTEXT, checking={proposed.id: "slack:T0/U0BOB00001"})
    assert kinds(group_view([proposed], checking)) == []
    two = [proposed, replace(proposed, id="second", node="node-2")]
    assert group_view(two, CONTEXT).choices[0] == Choice(
        APPROVE, OPENING.group, (NODE, "node-2"), incidents=(proposed.id, "second")
    )
    assert choice_words(group_view(two, CONTEXT).choices) == "approve 2 plans or decline 2 plans"
    asked = told(*WAYS[State.APPROVED], QUESTION)
    assert group_view([asked], CONTEXT).choices == (Choice(ANSWER, asked.id, (NODE,), ("yes", "no")),)
    nameless = told(WITHOUT_NODE, QuestionAsked("Which node?", ("node-1", "node-2")))
    assert kinds(group_view([nameless], CONTEXT)) == [PICK]
    ended = told(*WAYS[State.RESOLVED])
    assert kinds(group_view([ended], CONTEXT)) == []
    assert kinds(group_view([ended], replace(CONTEXT, undoes={ended.id: "bring back x"}))) == [UNDO]


def test_plans_that_are_decided_together_lapse_with_the_first_of_them() -> None:
    first = told(*WAYS[State.PROPOSED])
    assert first.proposed_at is not None
    later = replace(first, id="later00000", proposed_at=first.proposed_at + timedelta(minutes=5))
    lapses = Instant(first.proposed_at + timedelta(minutes=15))
    assert lapses in group_view([later, first], CONTEXT).needs
    assert lapses in approval_dialog_words([later, first], CONTEXT)[1]


def test_group_says_how_sick_its_nodes_are_and_then_how_they_stand() -> None:
    ways = (WAYS[State.PROPOSED], WAYS[State.RESOLVED], (*WAYS[State.PROPOSED], Escalated("no proof")))
    group = [replace(told(*way), id=f"i{number}", node=f"n{number}") for number, way in enumerate(ways)]
    shown = group_view(group, CONTEXT)
    assert shown.headline == "3 nodes: 2 critical; 1 escalated, 1 wait for approval, 1 resolved"
    assert [incident.id for incident in shown.incidents] == ["i2", "i0", "i1"], "those that need a person come first"
    assert not shown.shows_verdicts
    opened = told(OPENING)
    while_read = group_view([*group, opened], CONTEXT)
    assert while_read.headline == "4 nodes: 2 critical; 1 escalated, 1 wait for approval, 1 resolved, 1 still reading"
    rows = [while_read.row(incident) for incident in while_read.incidents]
    assert not any("would help" in row for row in rows), "what is being read words no other node's row"
    offered = group_view([group[0], opened], CONTEXT)
    assert (offered.shows_verdicts, "waits for approval" in offered.row(offered.incidents[0])) == (True, True)


def test_plan_that_is_only_shown_is_no_refusal() -> None:
    assert not view(OPENING, TRIAGED, PlanWithheld(ACTING_IS_OFF)).is_beyond_verdict
    withheld = view(OPENING, TRIAGED, PlanWithheld("The login may not", ("zombie ALL=(root) reboot",)))
    assert withheld.is_beyond_verdict
    says = "What would help is not offered: The login may not. Lacking: zombie ALL=(root) reboot."
    assert plain(withheld.story) == says


def test_every_status_and_state_has_its_place() -> None:
    assert set(NEEDS_PERSON_FIRST) == set(State)
    assert len(WORST_FIRST) == 5


def as_said(message: str) -> str:
    return " ".join(message.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").split())


@settings(max_examples=up_to(60), deadline=None)
@given(
    st.sampled_from(sorted(set(State) - {State.OPENED})),
    st.sampled_from(["ecs.service", "a&b.service", "x-1.service"]),
    st.booleans(),
)
def test_no_surface_loses_headline_plan_or_choices(state: State, unit: str, undoable: bool) -> None:
    incident = _with_unit(told(*WAYS[state]), unit)
    context = replace(CONTEXT, policy=Policy(), undoes={incident.id: "bring back x"} if undoable else {})
    group = group_view([incident], context)
    (shown,) = group.incidents
    card = incident_card(group)
    drawn = {
        "card": as_said(card.text + " " + words(card)),
        "note": as_said(note_text([incident], incident.id, "", context)),
        "terminal": as_said(incident_text(incident, entries(WAYS[state], incident.id), context=context)),
    }
    for surface, text in drawn.items():
        assert shown.headline in text, surface
        if shown.plan is not None and state in (State.TRIAGED, State.PROPOSED):
            assert shown.plan.words in text, surface
            assert f"disable {unit}, then reboot" in text, surface
        for choice in group.choices:
            if surface == "card":
                assert any(name.startswith(choice.kind) for name in buttons(card))
            else:
                assert choice.button_words in text, surface
    record: dict[str, Any] = incident_body(incident, entries(WAYS[state], incident.id))
    assert (record["node"], record["state"]) == (shown.node, shown.state.value), "a choice follows from the state"
    if shown.verdict is not None:
        body = node_document(shown.verdict)
        assert (body["status"], body["cause"]) == (shown.verdict.status.value, shown.verdict.cause)
        assert [step["commands"] for step in body["plan"]["steps"]] == [list(step.commands) for step in STEPS]


def _with_unit(incident: Incident, unit: str) -> Incident:
    """The same incident, of a plan about another unit."""
    plan = Plan(NODE, (replace(STEPS[0], args={"unit": unit}), STEPS[1]))
    if incident.triage is not None:
        verdict = replace(incident.triage.verdict, plan=plan)
        incident = replace(incident, triage=replace(incident.triage, verdict=verdict))
    if incident.proposal is not None:
        incident = replace(incident, proposal=replace(incident.proposal, plan=plan))
    return incident
