"""Several incidents on one card, the dialog that decides them, and limits that no incident breaks."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.chat.decisions import left_out
from bot.chat.dialog import LONGEST, plans_that_fit
from bot.chat.dialog import reason_dialog as document_dialog
from bot.demo.slack.validation import check_message, check_view
from bot.domain.action import EndedItem, Plan, PlanImpact, Step
from bot.domain.events import (
    Declined,
    IncidentEvent,
    PlanProposed,
    Triaged,
)
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.transitions import State
from bot.domain.verdict import Confidence, Evidence, Status
from bot.extras.waves.chat_card import RESUME, TITLES
from bot.surfaces.incidents import entry_line
from bot.surfaces.slack import drawing as slack
from bot.surfaces.slack.drawing import without_blocks
from bot.surfaces.teams import drawing as teams
from bot.view.plan_words import PlanView
from bot.view.view import group_view
from tests.examples import up_to
from tests.known import known
from tests.record.incidents import APPROVED, OPENING, PLAN, PROPOSED, TRIAGED, VERDICT, WAYS, entries
from tests.slack.drawn import acting_card, covered, incident_card, reason_dialog, replies
from tests.unit.surfaces.cards import CONTEXT, actions, shown, told, words
from tests.unit.surfaces.test_slack_card import marked_up, strings, taken_by_slack
from tests.unit.surfaces.verdicts import HOSTILE


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


def plans(*incidents: Incident) -> list[PlanView]:
    views = [CONTEXT.words.of_incident(incident) for incident in incidents]
    return [view for view in views if view is not None]


def test_several_are_a_table_whose_button_covers_those_still_proposed() -> None:
    several = group(
        WAYS[State.PROPOSED], WAYS[State.ACTING], WAYS[State.PROPOSED], (*WAYS[State.PROPOSED], Declined("no"))
    )
    message = known(acting_card(several, CONTEXT))
    taken_by_slack(message)
    for one in several:
        assert one.node in words(message)
    assert "4 nodes: 4 critical; 2 wait for approval, 1 acting, 1 declined" in message.text
    assert "Review and approve 2 plans" in words(message)
    singly = [f"{OPENING.group}/incident-{number}" for number in (0, 2) for _ in ("approve", "decline")]
    assert actions(message.blocks) == [
        *zip(["approve", "decline"] * 3, [OPENING.group, OPENING.group, *singly], strict=True),
        ("who-else", "incident-0"),
        ("check_again", "incident-0"),
    ]


def test_table_has_severity_node_cause_and_what_is_offered_the_worst_first() -> None:
    sick = group(WAYS[State.RESOLVED], WAYS[State.PROPOSED], WAYS[State.PROPOSED])
    lesser = replace(VERDICT, node="node-01", status=Status.DEGRADED)
    sick[1] = replace(sick[1], triage=replace(known(sick[1].triage), verdict=lesser))
    message = known(acting_card(sick, CONTEXT))
    (table,) = [block for block in message.blocks if block["type"] == "table"]
    rows = [[cell["text"] for cell in row] for row in table["rows"]]
    offered = "waits for approval: disable ecs.service, then reboot"
    assert rows == [
        ["Status", "Node", "Cause", "What now"],
        ["🔴 critical", "node-02", "leaked-memory-cgroups (confirmed)", offered],
        ["🟡 degraded", "node-01", "leaked-memory-cgroups (confirmed)", offered],
        ["✅ resolved", "node-00", "leaked-memory-cgroups (confirmed)", "The leak is gone."],
    ]
    assert not any("preformatted" in text for text in strings(list(message.blocks)))


def test_likely_verdicts_say_what_would_settle_them_under_the_table_with_their_nodes() -> None:
    read = group(*[WAYS[State.PROPOSED]] * 2, WAYS[State.TRIAGED], WAYS[State.ACTING], WAYS[State.PROPOSED])
    for number, settles in enumerate(("a profile of core 17", "a profile of core 17", "a second look", "no more", "")):
        verdict = replace(
            VERDICT, node=f"node-{number:02}", confidence=Confidence.LIKELY if settles else VERDICT.confidence
        )
        triage = known(read[number].triage)
        read[number] = replace(read[number], triage=replace(triage, verdict=replace(verdict, settled_by=settles)))
    message = incident_card(group_view(read, CONTEXT))
    taken_by_slack(message)
    said = str(words(message))
    (listed,) = [each for block in message.blocks for each in block.get("elements", ()) if "list" in each["type"]]
    assert ["".join(piece["text"] for piece in item["elements"]) for item in listed["elements"]] == [
        "node-00, node-01: Likely, not confirmed: a profile of core 17 would settle it.",
        "node-02: Likely, not confirmed: a second look would settle it.",
    ]
    assert "no more" not in said, "nothing is settled while it acts"
    approve = [at for at, block in enumerate(message.blocks) if '"approve"' in json.dumps(block)]
    assert approve[0] < 6, "what is decided stands in the first six blocks"


def test_node_that_was_not_read_has_a_cause_that_is_not_known() -> None:
    read = group(*[WAYS[State.TRIAGED]] * 3)
    found = (Status.HEALTHY, Status.UNKNOWN, Status.UNREACHABLE)
    for number, (incident, status) in enumerate(zip(read, found, strict=True)):
        assert incident.triage is not None
        verdict = replace(VERDICT, node=incident.node, status=status, cause=None, confidence=None, plan=None)
        read[number] = replace(incident, triage=replace(incident.triage, verdict=verdict))
    message = incident_card(group_view(read, CONTEXT))
    (table,) = [block for block in message.blocks if block["type"] == "table"]
    causes = {row[1]["text"]: row[2]["text"] for row in table["rows"][1:]}
    assert causes == {"node-00": "none", "node-01": "not known", "node-02": "not known"}


def test_a_hundred_nodes_are_one_card() -> None:
    message = known(acting_card(group(*[WAYS[State.PROPOSED]] * 100), CONTEXT))
    taken_by_slack(message)
    assert "100 nodes: 100 critical; 100 wait for approval" in message.text
    (table,) = [block for block in message.blocks if block["type"] == "data_table"]
    shown = len(table["rows"]) - 1
    assert shown >= 20
    assert f"And {100 - shown} more: /zombie status" in words(message), "what is not shown is counted"


def test_group_whose_nodes_are_all_cured_begins_with_resolved() -> None:
    message = known(acting_card(group(WAYS[State.RESOLVED], WAYS[State.RESOLVED]), CONTEXT))
    assert message.text.startswith("Resolved: 2 nodes")


def test_card_offers_no_report_where_its_extra_is_left_out() -> None:
    lacking = frozenset({"report"})
    for ended in (group(WAYS[State.RESOLVED]), group(WAYS[State.RESOLVED], WAYS[State.RESOLVED])):
        offered, without = (acting_card(ended, replace(CONTEXT, absent=absent)) for absent in (frozenset(), lacking))
        assert offered is not None
        assert without is not None
        assert '"report"' in json.dumps(offered.blocks)
        assert '"report"' not in json.dumps(without.blocks)


def test_card_offers_no_profile_where_its_extra_is_left_out() -> None:
    busy = replace(VERDICT, evidence=(Evidence("steal", "cpu", "core 39 is busy"),))
    found = group((OPENING, replace(TRIAGED, verdict=busy), *WAYS[State.PROPOSED][2:]))
    offered, without = (acting_card(found, replace(CONTEXT, absent=frozenset(gone))) for gone in ((), ("profile",)))
    assert offered is not None
    assert without is not None
    assert '"profile"' in json.dumps(offered.blocks)
    assert '"profile"' not in json.dumps(without.blocks)


def test_dialog_names_every_node_and_every_command_whole() -> None:
    long = Plan("node-00", (Step("reboot", {}, ("x" * 9000 + " END",)),))
    proposed = fold(entries((replace(OPENING, node="node-00"), TRIAGED.__class__(replace(VERDICT, node="node-00")))))
    incident = replace(proposed, state=State.PROPOSED, proposal=PlanProposed.of(long, {}))
    several = plans(incident, *group(*[WAYS[State.PROPOSED]] * 60))
    view = reason_dialog("approve", "sealed", covered(several))
    check_view(json.loads(json.dumps(view)), "modal")
    told_in_view = " ".join(strings(view["blocks"]))
    assert " END" in told_in_view
    assert len(covered(several)) >= 20
    for one in covered(several):
        assert one.node in told_in_view


def test_dialog_names_every_database_that_a_yes_ends_however_many_there_are() -> None:
    stores = [f"store-{number:02}" for number in range(120)]
    rest = [f"job-{number:02}" for number in range(20)]
    ends = PlanImpact((*(EndedItem(name, "keeps") for name in stores), *(EndedItem(name, "process") for name in rest)))
    (incident,) = group(WAYS[State.PROPOSED])
    assert incident.proposal is not None
    incident = replace(incident, proposal=replace(incident.proposal, plan=replace(incident.proposal.plan, ends=ends)))
    view = reason_dialog("approve", "sealed", covered(plans(incident)))
    check_view(json.loads(json.dumps(view)), "modal")
    said = " ".join(strings(view["blocks"]))
    assert [name for name in stores if name not in said] == []
    assert (rest[11] in said, rest[12] in said, "and 8 more" in said) == (True, False, True)
    (plan,) = plans(incident)
    assert [name for name in stores if name not in plan.ends_words()] == [], "nor are they left out in a terminal"


def test_dialog_says_what_ends_then_why_then_the_commands_and_what_it_is_bound_to_last() -> None:
    ends = PlanImpact((EndedItem("etcd.service", "keeps"), EndedItem("ray::train_step", "gpu", 24, 8, 39_600)))
    (incident,) = group(WAYS[State.PROPOSED])
    assert incident.proposal is not None
    plan = replace(incident.proposal.plan, ends=ends)
    binds = {**incident.proposal.binds, "boot_id": "b00t", "address": "10.0.0.7:22"}
    incident = replace(incident, proposal=replace(incident.proposal, plan=plan, binds=binds))
    view = reason_dialog("approve", "sealed", plans(incident))
    check_view(json.loads(json.dumps(view)), "modal")
    shown = json.dumps(view["blocks"], ensure_ascii=False)
    order = (
        "etcd.service",
        "24 × ray::train_step on 8 GPUs, running for 11 h",
        "Why: ",
        "systemctl disable",
        '"input"',
    )
    places = [shown.index(word) for word in (*order, plan.digest, "b00t", "10.0.0.7:22")]
    assert places[:5] == sorted(places[:5])
    assert min(places[5:]) > places[4], "digest, boot and address stand below the reason"
    assert [block["element"]["focus_on_load"] for block in view["blocks"] if block["type"] == "input"] == [False]
    message = known(acting_card([incident], CONTEXT))
    taken_by_slack(message)
    assert "24 × ray::train_step on 8 GPUs, running 11 h" in words(message), "shorter, for a phone"


def test_dialog_of_several_plans_begins_with_their_sum() -> None:
    several = plans(*group(*[WAYS[State.PROPOSED]] * 3))
    view = reason_dialog("approve", "sealed", several)
    first = json.dumps(view["blocks"][0])
    assert "3 disables, 3 reboots, on 3 nodes: node-00, node-01, node-02" in first


def test_dialog_that_would_be_refused_cannot_be_sent() -> None:
    view = reason_dialog("approve", "sealed", plans(*group(WAYS[State.PROPOSED])), (), "SelfApproval: not you.")
    check_view(json.loads(json.dumps(view)), "modal")
    assert "submit" not in view
    assert all(block["type"] != "input" for block in view["blocks"])
    assert "SelfApproval: not you." in " ".join(strings(view["blocks"][:1]))


def test_dialog_that_is_of_no_plan_keeps_the_limits() -> None:
    for wish in ("undo", "brake on", "brake off", "answer", "decline"):
        check_view(json.loads(json.dumps(reason_dialog(wish, "sealed", (), [HOSTILE * 40], HOSTILE))), "modal")


_words = st.one_of(st.text(max_size=80), st.just(HOSTILE), st.text('<&>`*\n\t"\\', max_size=2500), st.just("x" * 5000))
_step = st.builds(
    Step,
    st.sampled_from(["reboot", "disable_unit", "drain", "?"]),
    st.dictionaries(st.just("unit"), _words),
    st.lists(_words, max_size=9).map(tuple),
)
_steps = st.lists(_step, max_size=5).map(tuple)


@settings(max_examples=up_to(120), deadline=None)
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
        [incident] if alone else [replace(incident, id=f"i{number}") for number in range(30)], CONTEXT
    )
    if message is None:
        return
    for one in (message, *(reply.message for reply in replies(incident, of_several=True))):
        taken_by_slack(one)
        taken_by_slack(without_blocks(one))
        assert not re.search(r"<(?!@[UW][A-Z0-9]+>)", one.text), "the only markup is the name of whoever decided"
        assert not marked_up(one)
    check_message(message.text, json.loads(json.dumps(list(message.blocks))))
    check_view(json.loads(json.dumps(reason_dialog("approve", "s", covered(plans(incident))))), "modal")


def test_what_else_stops_stands_whole_on_the_card_and_in_the_dialog() -> None:
    names = ", ".join(f"unit-{number:02}-{'x' * 15}.service" for number in range(20))
    also = f"with ecs.service stop {names}; *ecs.timer* can start ecs.service again"
    proposed = PlanProposed.of(PROPOSED.plan, {**PROPOSED.binds, "also, step 1": also})
    incident = told(OPENING, TRIAGED, proposed)
    assert f"Step 1: {also}." in words(shown(incident))
    view = reason_dialog("approve", "sealed", covered(plans(incident)))
    check_view(json.loads(json.dumps(view)), "modal")
    shown_as = [block["text"] for block in view["blocks"] if also in json.dumps(block, ensure_ascii=False)]
    assert [text["type"] for text in shown_as] == ["plain_text"]
    story = [entry_line(entry) for entry in entries((OPENING, TRIAGED, proposed))]
    assert any("Step 1: with ecs.service stop unit-00-" in told_line for told_line in story)


def test_notes_and_what_else_stops_are_never_shortened_in_the_dialog_however_long() -> None:
    names = ", ".join(f"unit-{number:02}-{'x' * 220}.service" for number in range(20))
    notes = tuple(f"note {number} {'y' * 600} end of {number}" for number in range(4))
    proposed = PlanProposed.of(
        replace(PROPOSED.plan, notes=notes), {**PROPOSED.binds, "also, step 1": f"with it stop {names}, and the last"}
    )
    view = reason_dialog("approve", "sealed", covered(plans(told(OPENING, TRIAGED, proposed))))
    check_view(json.loads(json.dumps(view)), "modal")
    said = " ".join(strings(view["blocks"]))
    assert "and the last." in said
    assert all(f"end of {number}" in said for number in range(4))


def test_dialog_of_a_wave_opens_at_its_top() -> None:
    """Its plans stand above the reason; with the cursor in the reason they would be out of sight."""
    for wish, focus in (("approve", False), ("wave-resume", False), ("brake on", True), ("answer", True)):
        of_wave: dict[str, Any] = {"titles": TITLES[RESUME], "read_first": True} if wish == RESUME else {}
        blocks = reason_dialog(wish, "sealed", (), ["words"], **of_wave)["blocks"]
        assert [block["element"]["focus_on_load"] for block in blocks if block["type"] == "input"] == [focus]


@pytest.mark.parametrize("notes", [0, 1, 4, 12])
@pytest.mark.parametrize("fits", [slack.fits, teams.fits])
def test_dialog_opens_beside_any_number_of_plans_that_would_be_refused(fits: Any, notes: int) -> None:
    offered = [replace(plan, notes=("a note. " * 12,) * notes) for plan in plans(*group(*[WAYS[State.PROPOSED]] * 60))]
    words = left_out([(f"node-{at}", f"SelfApproval: {'not you. ' * 20}") for at in range(99)])
    assert words[-1] == "96 more would be refused, and are left out."
    several = plans_that_fit(offered, partial(fits, dialog=True), words)
    assert several
    dialog, sealed = document_dialog("approve", several, words), "s" * LONGEST
    if fits == slack.fits:
        check_view(json.loads(json.dumps(slack.dialog_view(dialog, sealed))), "modal")
    else:
        task = json.dumps(teams.dialog_task(dialog, sealed, "opened"), ensure_ascii=False, separators=(",", ":"))
        assert len(task) <= teams.LARGEST
