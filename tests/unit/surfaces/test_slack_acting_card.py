"""Cards of incidents that are acted upon: every state says what it is, keeps Slack's limits, and obeys no node."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.demo.slack.validation import check_message, check_view
from bot.domain.events import (
    Cancelled,
    Declined,
    Escalated,
    Expired,
    IncidentEvent,
    PlanProposed,
    PlanWithheld,
    QuestionAsked,
    StepFailed,
    Triaged,
)
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.plan import Plan, Step
from bot.domain.transitions import State
from bot.response.policy import Policy
from bot.response.proposal import ACTING_IS_OFF
from bot.surfaces.slack.acting_card import acting_card
from bot.surfaces.slack.aftermath import replies
from bot.surfaces.slack.card import plain
from bot.surfaces.slack.dialog import covered, reason_dialog
from bot.surfaces.slack.message import FIRST_WORDS, Message
from bot.surfaces.slack.telling import Telling
from tests import incidents
from tests.incidents import APPROVED, OPENING, PLAN, PROPOSED, QUESTION, STARTED, TRIAGED, VERDICT, WAYS, entries
from tests.unit.surfaces.test_slack_card import marked_up, strings, taken_by_slack
from tests.unit.surfaces.verdicts import HOSTILE

POLICY = Policy(
    acting=True,
    approvers=frozenset(("U0BOB00001",)),
    approver_groups=frozenset(("S0SRE00001",)),
    approval_expires=timedelta(minutes=15),
)
TELLING = Telling(POLICY, head="ab12cd34ef56")


def told(*events: IncidentEvent, stream: str = "7k3m9x2qpv") -> Incident:
    return fold(entries(events, stream))


def shown(incident: Incident, telling: Telling = TELLING) -> Message:
    message = acting_card([incident], telling)
    assert message is not None
    taken_by_slack(message)
    taken_by_slack(plain(message))
    return message


def words(message: Message) -> str:
    return " ".join(strings(json.loads(json.dumps(list(message.blocks)))))


def actions(value: Any) -> Iterator[tuple[str, str]]:
    """The buttons and menus of some blocks, with their values."""
    if isinstance(value, dict):
        if "action_id" in value:
            yield value["action_id"], str(value.get("value", ""))
        for one in value.values():
            yield from actions(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from actions(one)


def buttons(message: Message) -> list[str]:
    return [action for action, _ in actions(list(message.blocks))]


def part(message: Message, kind: str) -> list[dict[str, Any]]:
    """Every rich text element of one kind."""

    def walk(value: Any) -> Iterator[dict[str, Any]]:
        if isinstance(value, dict):
            if value.get("type") == kind:
                yield value
            for one in value.values():
                yield from walk(one)
        elif isinstance(value, list | tuple):
            for one in value:
                yield from walk(one)

    return list(walk(list(message.blocks)))


def test_proposed_shows_the_exact_commands_who_may_say_yes_and_until_when() -> None:
    incident = told(*WAYS[State.PROPOSED])
    message = shown(incident)
    for command in (command for step in PLAN.steps for command in step.commands):
        assert command in words(message)
    assert part(message, "usergroup") == [{"type": "usergroup", "usergroup_id": "S0SRE00001"}]
    assert {one["user_id"] for one in part(message, "user")} == {"U0BOB00001", "U012ASKER"}
    assert "Needs 1 of " in words(message)
    assert ", not " in words(message)
    assert incident.proposed_at is not None
    (date,) = part(message, "date")
    assert date["timestamp"] == int((incident.proposed_at + timedelta(minutes=15)).timestamp())
    assert "boot 3b1cd2f4" in words(message)
    assert "everything that runs on the node ends" in words(message)
    assert PLAN.lasting_fix in words(message)
    assert buttons(message) == ["approve", "decline"]


def test_value_of_a_button_says_nothing_of_node_or_command() -> None:
    for _, value in actions(list(shown(told(*WAYS[State.PROPOSED])).blocks)):
        assert value == OPENING.group


def test_first_words_on_a_locked_phone() -> None:
    first = shown(told(*WAYS[State.PROPOSED])).text[:FIRST_WORDS]
    for word in ("node-gpu-01", "CRITICAL", "leaked-memory-cgroups", "disable ecs.service, then reboot"):
        assert word in first


def test_checking_says_who_said_yes_and_takes_the_buttons_away() -> None:
    incident = told(*WAYS[State.PROPOSED])
    message = shown(incident, replace(TELLING, checking={incident.id: "slack:T0/U0BOB00001"}))
    assert "checking… <@U0BOB00001> said yes" in message.text
    assert buttons(message) == []


def test_approved_says_by_whom_why_and_what_it_waits_for() -> None:
    incident = told(*WAYS[State.APPROVED])
    message = shown(incident, replace(TELLING, waits_for={incident.id: "BudgetSpent: 1 node is acted on already."}))
    assert "Approved by <@U012APPRO> at 09:30 UTC: “it is drained”." in message.text
    assert "It waits: BudgetSpent: 1 node is acted on already." in message.text
    assert "It waits: BudgetSpent" in words(message)
    assert buttons(message) == []


def test_acting_shows_each_step_with_its_proof() -> None:
    message = shown(told(*WAYS[State.ACTING][:-1], STARTED, incidents.VERIFIED))
    assert "Step 1, disable ecs.service: done, and proved after 2 s. Step 2, reboot: to come." in message.text
    assert "ecs.service is off" in words(message)
    under_way = shown(told(*WAYS[State.ACTING]))
    assert "Step 1, disable ecs.service: under way." in under_way.text


def test_verifying_says_how_long_and_whether_it_holds() -> None:
    message = shown(told(*WAYS[State.VERIFYING]))
    assert "watched until" in message.text
    assert "1 look so far: at the last one the cure holds." in message.text
    assert "260 memory cgroups" in words(message)


def test_question_has_its_answers_as_buttons_and_a_node_that_is_not_known_a_menu() -> None:
    asked = shown(told(*WAYS[State.APPROVED], QUESTION))
    assert "A question: Is the node back?" in asked.text
    assert buttons(asked) == ["answer-0", "answer-1"]
    anyhow = shown(told(*WAYS[State.APPROVED], QuestionAsked("Another machine answers.")))
    assert [value for value in words(anyhow).split() if value in ("go", "give")] == ["go", "give"]
    menu = shown(told(incidents.WITHOUT_NODE, QuestionAsked("Which node?", ("node-1", "node-2"))))
    assert buttons(menu) == ["pick_node"]
    assert "node-2" in words(menu)


@pytest.mark.parametrize(
    ("ending", "says"),
    [
        (
            Declined("the job has to finish"),
            "Declined: node-gpu-01: CRITICAL, leaked-memory-cgroups (confirmed). Declined by",
        ),
        (Expired("Nobody decided in time."), "Expired: node-gpu-01"),
        (Cancelled("The node is not as it was.", ("boot_id: a → b",)), "boot_id: a → b."),
        (Escalated("The node is gone.", "Look at its console."), "The node is gone. Look at its console."),
    ],
)
def test_ends_say_how_and_carry_the_head_of_the_record(ending: IncidentEvent, says: str) -> None:
    message = shown(told(*WAYS[State.PROPOSED], ending))
    assert says in message.text
    assert "leaked-memory-cgroups" in message.text
    assert "record ab12cd34ef56" in words(message)
    assert buttons(message) == []


def test_resolved_begins_so_and_has_its_table_in_the_thread() -> None:
    incident = told(*WAYS[State.RESOLVED])
    message = shown(incident, replace(TELLING, undoable=frozenset((incident.id,))))
    assert message.text.startswith("Resolved: node-gpu-01")
    assert list(actions(list(message.blocks))) == [("undo", incident.id)]
    (reply,) = replies(incident)
    taken_by_slack(reply.message)
    assert not reply.message.broadcast
    assert "memory cgroups: 68,700 → 260" in reply.message.text


def test_acted_but_not_fixed_is_said_in_the_channel_too() -> None:
    failed = (*WAYS[State.ACTING], StepFailed(1, "still active"), Escalated("Step 1 failed.", "Look at its console."))
    (reply,) = replies(told(*failed))
    taken_by_slack(reply.message)
    assert reply.message.broadcast
    assert "acted, but not fixed" in reply.message.text
    assert "Look at its console." in reply.message.text
    assert list(replies(told(*WAYS[State.PROPOSED], Escalated("Tried before.")))) == [], "nothing was done"


def test_withheld_shows_the_missing_line_and_no_button() -> None:
    line = "zombie ALL=(root) NOPASSWD: /usr/bin/systemctl reboot"
    message = shown(told(OPENING, TRIAGED, PlanWithheld("The login may not.", (line,))))
    assert line in words(message)
    assert "The login may not." in words(message)
    assert f"Lacking: {line}." in message.text
    assert VERDICT.summary in words(message), "the verdict stands as it stood"
    assert "68,700 memory cgroups" in words(message)
    assert buttons(message) == []


def test_what_the_check_said_stands_where_nothing_is_offered_or_not_all_is_read() -> None:
    off = told(OPENING, TRIAGED, PlanWithheld(ACTING_IS_OFF))
    reading = told(OPENING, stream="second")
    for group in ([off], [reading], [told(*WAYS[State.PROPOSED]), reading], [told(OPENING, TRIAGED)], []):
        assert acting_card(group, TELLING) is None


def test_reopened_says_so() -> None:
    again = replace(OPENING, reopens="old0000000")
    assert shown(told(again, TRIAGED, PROPOSED)).text.startswith("Reopened: node-gpu-01")


def group(*ways: tuple[IncidentEvent, ...]) -> list[Incident]:
    """Incidents of one group, each on a node of its own."""
    found = []
    for number, way in enumerate(ways):
        name = f"node-{number:02}"
        events: list[IncidentEvent] = []
        for event in way:
            if isinstance(event, Triaged):
                event = replace(event, verdict=replace(VERDICT, node=name))
            if isinstance(event, PlanProposed):
                event = PlanProposed.of(replace(PLAN, node=name), event.binds, 1)
            if isinstance(event, type(APPROVED)):
                digest = PlanProposed.of(replace(PLAN, node=name), PROPOSED.binds, 1).digest
                event = replace(event, digest=digest)
            events.append(replace(event, node=name) if event is OPENING else event)
        found.append(told(*events, stream=f"incident-{number}"))
    return found


def test_several_are_a_table_whose_button_covers_those_still_proposed() -> None:
    several = group(
        WAYS[State.PROPOSED], WAYS[State.ACTING], WAYS[State.PROPOSED], (*WAYS[State.PROPOSED], Declined("no"))
    )
    message = acting_card(several, TELLING)
    assert message is not None
    taken_by_slack(message)
    for one in several:
        assert one.node in words(message)
    assert "4 nodes: 2 wait for approval, 1 acting, 1 declined" in message.text
    assert "Approve 2 plans" in words(message)
    assert buttons(message) == ["approve", "decline"]


def test_a_hundred_nodes_are_one_card() -> None:
    message = acting_card(group(*[WAYS[State.PROPOSED]] * 100), TELLING)
    assert message is not None
    taken_by_slack(message)
    assert "100 nodes: 100 wait for approval" in message.text


def test_group_whose_nodes_are_all_cured_begins_with_resolved() -> None:
    message = acting_card(group(WAYS[State.RESOLVED], WAYS[State.RESOLVED]), TELLING)
    assert message is not None
    assert message.text.startswith("Resolved: 2 nodes")


def test_dialog_names_every_node_and_every_command_whole() -> None:
    long = Plan("node-00", (Step("reboot", {}, ("x" * 9000 + " END",)),))
    proposed = fold(entries((replace(OPENING, node="node-00"), TRIAGED.__class__(replace(VERDICT, node="node-00")))))
    incident = replace(proposed, state=State.PROPOSED, proposal=PlanProposed.of(long, {}))
    several = [incident, *group(*[WAYS[State.PROPOSED]] * 60)]
    view = reason_dialog("approve", "sealed", covered(several))
    check_view(json.loads(json.dumps(view)), "modal")
    told_in_view = " ".join(strings(view["blocks"]))
    assert " END" in told_in_view
    assert len(covered(several)) >= 20
    for one in covered(several):
        assert one.node in told_in_view


def test_dialog_that_is_of_no_plan_keeps_the_limits() -> None:
    for wish in ("undo", "brake on", "brake off", "answer", "decline"):
        check_view(json.loads(json.dumps(reason_dialog(wish, "sealed", (), [HOSTILE * 40], HOSTILE))), "modal")


_words = st.one_of(st.text(max_size=80), st.just(HOSTILE), st.text('<&>`*\n\t"\\', max_size=2500), st.just("x" * 5000))
_steps = st.lists(
    st.builds(Step, st.sampled_from(["reboot", "disable_unit", "drain", "?"]), st.dictionaries(st.just("unit"), _words),
              st.lists(_words, max_size=9).map(tuple)), max_size=5).map(tuple)  # fmt: skip


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(sorted(WAYS)), _steps, _words, st.booleans())
def test_no_incident_breaks_a_limit(state: State, steps: tuple[Step, ...], said: str, alone: bool) -> None:
    incident = told(*WAYS[state])
    verdict = replace(VERDICT, summary=said, cause=said) if incident.verdict is not None else None
    changes: dict[str, Any] = {}
    if incident.proposal is not None:
        changes["proposal"] = PlanProposed.of(Plan(said, steps, said), {"address": said, "boot_id": said})
    if incident.triage is not None and verdict is not None:
        changes["triage"] = replace(incident.triage, verdict=verdict)
    if incident.decision is not None:
        changes["decision"] = replace(incident.decision, event=replace(incident.decision.event, reason=said))
    if incident.ending is not None and hasattr(incident.ending, "because"):
        changes["ending"] = replace(cast(Any, incident.ending), because=said)
    incident = replace(incident, node=said, **changes)
    message = acting_card(
        [incident] if alone else [replace(incident, id=f"i{number}") for number in range(30)], TELLING
    )
    if message is None:
        return
    for one in (message, *(reply.message for reply in replies(incident))):
        taken_by_slack(one)
        taken_by_slack(plain(one))
        assert not re.search(r"<(?!@[UW][A-Z0-9]+>)", one.text), "the only markup is the name of whoever decided"
        assert not list(marked_up(list(one.blocks)))
    check_message(message.text, json.loads(json.dumps(list(message.blocks))))
    check_view(json.loads(json.dumps(reason_dialog("approve", "s", covered([incident])))), "modal")
