"""Cards of incidents that are acted upon: every state says what it is, keeps Slack's limits, and obeys no node."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from bot.chat.blocks import PROFILE
from bot.chat.dialog import plans_that_fit
from bot.chat.service import Message
from bot.chat.thread import approval_replies
from bot.domain.action import Plan, Step
from bot.domain.events import (
    Cancelled,
    Compared,
    Declined,
    Escalated,
    Expired,
    IncidentEvent,
    PlanProposed,
    PlanWithheld,
    QuestionAsked,
    Resolved,
    SampleTaken,
    StepFailed,
)
from bot.domain.incident import Incident
from bot.domain.transitions import State
from bot.domain.verdict import Confidence, Evidence
from bot.response.diagnosis.proposal import ACTING_IS_OFF
from bot.surfaces.slack.drawing import BLOCKS, escaped
from bot.surfaces.slack.drawing import added as added_to
from bot.surfaces.slack.drawing import fits as slack_fits
from bot.surfaces.teams.drawing import fits as teams_fits
from bot.view.standing import undo_warning
from bot.view.view import group_view
from tests.known import known
from tests.record import incidents
from tests.record.incidents import APPROVED, BOOT, OPENING, PLAN, PROPOSED, QUESTION, STARTED, TRIAGED, VERDICT, WAYS
from tests.slack.drawn import acting_card, details, incident_card, reason_dialog, replies
from tests.unit.surfaces.cards import CONTEXT, actions, buttons, part, shown, told, words
from tests.unit.surfaces.test_slack_card import FIRST_WORDS, strings, taken_by_slack


def card_of(incident: Incident) -> Message:
    """The card of an incident, also while it is a verdict alone."""
    return incident_card(group_view([incident], CONTEXT))


def test_thread_tells_each_yes_once_also_of_nodes_that_are_approved_a_moment_after_the_first() -> None:
    incident, said, posted = told(*WAYS[State.APPROVED]), set[str](), list[tuple[str, ...]]()
    yes = known(incident.approval)
    group = list[Incident]()
    for number, seconds in enumerate((0, 2, 4, 60), 1):  # the last is another yes
        decision = replace(yes, at=yes.at + timedelta(seconds=seconds))
        group.append(replace(incident, id=f"i{number}", node=f"node-{number}", decision=decision))
        for reply in approval_replies(group, said) if number != 2 else ():
            posted.append(reply.nodes)
            said.add(reply.part)
    assert posted == [("node-1",), ("node-2", "node-3"), ("node-4",)]
    assert approval_replies(group, said) == ()


def test_proposed_is_short_and_leaves_commands_and_fences_to_the_dialog() -> None:
    incident = told(*WAYS[State.PROPOSED])
    message, plan = shown(incident), CONTEXT.words.of_incident(incident)
    assert plan is not None
    dialog = " ".join(strings(reason_dialog("approve", "sealed", [plan])["blocks"]))
    thread = " ".join(strings([list(reply.message.blocks) for reply in details(VERDICT)]))
    for command in (command for step in PLAN.steps for command in step.commands):
        assert command not in words(message)
        assert command in dialog
        assert command in thread
    assert plan.digest in dialog
    assert "boot 3b1cd2f4" in dialog
    assert BOOT not in words(message)
    for said in (dialog, thread):
        assert PLAN.lasting_fix in said


def test_dialog_shows_every_pod_that_a_drain_moves_as_a_yes_covers_each() -> None:
    """Of a node's pods the last by name may be the one that nothing starts again."""
    pods = [f"ray/worker-{number:03}: Ray cluster train-7 (worker)" for number in range(109)]
    pods.append(f"web/{'z' * 250}: loses emptyDir data; no controller would start it again")
    incident = told(*WAYS[State.PROPOSED])
    incident = replace(incident, proposal=replace(known(incident.proposal), affects=tuple(pods)))
    plan = known(CONTEXT.words.of_incident(incident))
    for fits in (slack_fits, teams_fits):
        assert plans_that_fit([plan], partial(fits, dialog=True)) == [plan]
    dialog = " ".join(strings(reason_dialog("approve", "sealed", [plan])["blocks"]))
    assert not [pod for pod in pods if pod not in dialog]
    assert "What the drain moves (110)" in dialog
    assert ", as of  date {time} 09:30 UTC" in dialog, "the list is the offer's"


def test_proposed_says_how_bad_what_it_is_what_a_yes_does_and_who_may_say_it() -> None:
    incident = told(*WAYS[State.PROPOSED])
    message = shown(incident)
    assert words(message).startswith("header plain_text 🔴 node-gpu-01: CRITICAL")
    assert VERDICT.summary in words(message)
    assert "Offer: disable ecs.service, then reboot." in words(message)
    assert "Work it moves (1): " in words(message)
    assert "ray/worker-0: Ray cluster train-7 (worker)." in words(message)
    assert part(message, "usergroup") == [{"type": "usergroup", "usergroup_id": "S0SRE00001"}]
    assert {one["user_id"] for one in part(message, "user")} == {"U0BOB00001", "U012ASKER"}
    for piece in ("Needs 1 approval (not by ", ", who asked) by ", ", or it lapses"):
        assert piece in words(message)
    assert incident.proposed_at is not None
    (date,) = part(message, "date")
    assert date["timestamp"] == int((incident.proposed_at + timedelta(minutes=15)).timestamp())
    assert "everything that runs on the node ends" in words(message)
    assert buttons(message) == ["approve", "decline", "who-else", "check_again"]


def test_above_its_button_stands_what_an_approval_needs_and_who_asked_is_said_once() -> None:
    message = shown(told(*WAYS[State.PROPOSED]))
    (at,) = [at for at, block in enumerate(message.blocks) if '"approve"' in json.dumps(block)]
    (said,) = message.blocks[at - 1]["elements"]
    assert [piece["user_id"] for piece in said["elements"] if piece["type"] == "user"] == ["U012ASKER", "U0BOB00001"]
    assert "who asked" in words(message)
    assert "Asked by" not in words(message), "nothing is said twice"
    approved = shown(told(*WAYS[State.APPROVED]))
    assert "Asked by" in words(approved)


def test_value_of_a_button_says_nothing_of_node_or_command() -> None:
    incident = told(*WAYS[State.PROPOSED])
    for action, value in actions(shown(incident).blocks):
        assert value == (incident.id if action in ("who-else", "check_again", PROFILE) else OPENING.group)


def test_first_words_on_a_locked_phone() -> None:
    first = shown(told(*WAYS[State.PROPOSED])).text[:FIRST_WORDS]
    for word in ("node-gpu-01", "CRITICAL", "leaked-memory-cgroups", "disable ecs.service, then reboot"):
        assert word in first


def test_checking_says_who_said_yes_and_takes_the_buttons_away() -> None:
    incident = told(*WAYS[State.PROPOSED])
    message = shown(incident, replace(CONTEXT, checking={incident.id: "slack:T0/U0BOB00001"}))
    assert "checking… <@U0BOB00001> said yes" in message.text
    assert buttons(message) == []


def test_approved_says_by_whom_why_and_what_it_waits_for() -> None:
    incident = told(*WAYS[State.APPROVED])
    message = shown(incident, replace(CONTEXT, waits_for={incident.id: "BudgetSpent: 1 node is acted on already."}))
    assert "Approved by <@U012APPRO> at 09:30 UTC: “it is drained”." in message.text
    assert "It waits: BudgetSpent: 1 node is acted on already." in message.text
    assert "It waits: BudgetSpent" in words(message)
    braked = replace(CONTEXT, waits_for={incident.id: "Braked: slack:T024/U0BOB00001 pulled the brake at 09:30 UTC."})
    assert "It waits: Braked: <@U0BOB00001> pulled the brake at 09:30 UTC." in shown(incident, braked).text
    assert buttons(message) == []


def test_acting_shows_each_step_with_its_proof() -> None:
    message = shown(told(*WAYS[State.ACTING][:-1], STARTED, incidents.VERIFIED))
    assert "Step 1, disable ecs.service: done, and proved after 2 s. Step 2, reboot: to come." in message.text
    assert "ecs.service is off" in words(message)
    under_way = shown(told(*WAYS[State.ACTING]))
    assert "Step 1, disable ecs.service: under way." in under_way.text


def test_between_two_steps_it_says_what_keeps_the_next_from_beginning() -> None:
    incident = told(*WAYS[State.ACTING], incidents.VERIFIED)
    message = shown(incident, replace(CONTEXT, waits_for={incident.id: "Braked: bob pulled the brake."}))
    assert "Acting. It waits: Braked: bob pulled the brake. Step 1" in message.text
    assert "It waits: Braked: bob pulled the brake." in words(message)
    assert "It waits" not in shown(incident).text


def test_verifying_says_how_long_and_whether_it_holds() -> None:
    message = shown(told(*WAYS[State.VERIFYING]))
    assert "watched until" in message.text
    assert "Read 1 time so far: the cure holds." in message.text
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
    assert buttons(message) == ["report", "check_again", "feedback-right", "feedback-wrong"], (
        "nothing is left to decide"
    )


@pytest.mark.parametrize("ending", [Cancelled("{} called it off: <rollout>"), Escalated("{} gave it up: <rollout>")])
def test_whoever_ended_it_is_called_by_name(ending: Cancelled | Escalated) -> None:
    by = "slack:T0TEAM0001/U0BOB00001"
    message = shown(told(*WAYS[State.PROPOSED], replace(ending, because=ending.because.format(by))))
    assert by not in message.text + words(message)
    assert f"<@U0BOB00001>{escaped(ending.because[2:])}" in message.text
    assert "U0BOB00001" in {one["user_id"] for one in part(message, "user")}
    taken_by_slack(message)


def test_name_that_a_node_prints_is_no_mention() -> None:
    message = shown(told(*WAYS[State.PROPOSED], Cancelled("host: slack:T0TEAM0001/U0BOB00001 → x")))
    assert "<@" not in message.text


def test_while_a_button_works_the_card_says_so_above_the_other_buttons_and_offers_it_no_second_time() -> None:
    incident = told(*WAYS[State.PROPOSED])
    assert ("profile", incident.id) in actions(shown(incident).blocks)
    message = shown(incident, replace(CONTEXT, working={incident.id: "Profiling core 17 for 10 s…"}))
    offered = [action for action, _ in actions(message.blocks)]
    assert "profile" not in offered
    assert "approve" in offered
    (said,) = [at for at, block in enumerate(message.blocks) if "Profiling core 17 for 10 s…" in strings(block)]
    assert said == max(at for at, block in enumerate(message.blocks) if "decline" in str(block)) + 1


def test_times_on_a_card_are_all_the_readers_own() -> None:
    braked = "Braked: slack:T0/U0BOB00001 pulled the brake at 09:45 UTC: a rollout"
    message = shown(told(*WAYS[State.APPROVED]), replace(CONTEXT, waits_for={"7k3m9x2qpv": braked}))
    dates = {date["fallback"]: date for date in part(message, "date")}
    assert dates["09:45 UTC"]["format"] == "{time}"
    assert "UTC" not in words(message).replace("09:45 UTC", "").replace("09:30 UTC", "")
    assert "pulled the brake at 09:45 UTC" in message.text, "a text has no reader's clock, and names its own"


@pytest.mark.parametrize("state", State)
def test_no_sign_alone_says_how_bad_it_is(state: State) -> None:
    incident = told(*WAYS[state])
    (title,) = [block["text"]["text"] for block in card_of(incident).blocks if block["type"] == "header"]
    for sign, word in (("🔴", "CRITICAL"), ("✅", "Resolved")):
        assert (sign in title) is (word in title)
    undone = replace(incident, undoes="0d1496b0ca39")
    (title,) = [block["text"]["text"] for block in card_of(undone).blocks if block["type"] == "header"]
    assert not any(sign in title for sign in "🟢🟡🔴⚪⚫"), "an undo judges no node"


def test_likely_verdict_says_what_would_settle_it_on_an_offer_and_without_one() -> None:
    likely = replace(TRIAGED.verdict, confidence=Confidence.LIKELY, settled_by="a profile of core 17")
    triaged = replace(TRIAGED, verdict=likely)
    found: tuple[IncidentEvent, ...] = (OPENING, triaged)
    for events in (found, (*found, PROPOSED)):
        message = card_of(told(*events))
        taken_by_slack(message)
        assert "Likely, not confirmed: a profile of core 17 would settle it." in words(message)
        approve = [at for at, block in enumerate(message.blocks) if '"approve"' in json.dumps(block)]
        assert all(at < 6 for at in approve), "what is decided stands in the first six blocks"
    assert "would settle it" not in words(card_of(told(OPENING, triaged, PROPOSED, APPROVED, STARTED)))


@pytest.mark.parametrize("sure", [Confidence.CONFIRMED, Confidence.LIKELY])
def test_harm_stands_first_each_under_its_label(sure: Confidence) -> None:
    found = replace(TRIAGED.verdict, confidence=sure, harm="traffic cut 16 times in 24 h", found="ecs.service leaks.")
    message = card_of(told(OPENING, replace(TRIAGED, verdict=found), PROPOSED))
    labels = [piece["text"] for piece in part(message, "text") if piece.get("style") == {"bold": True}]
    cause = "Cause: " if sure is Confidence.CONFIRMED else "Likely cause: "
    offer = "Offer: disable ecs.service, then reboot. "
    assert [each for each in labels if each in ("Harm: ", cause, offer)] == ["Harm: ", cause, offer]
    assert "Harm:  text traffic cut 16 times in 24 h. " in words(message)
    assert f"{cause} text ecs.service leaks. " in words(message)
    assert VERDICT.summary not in words(message), "nothing is said twice"
    assert f"Harm: traffic cut 16 times in 24 h. {cause}ecs.service leaks." in message.text


@pytest.mark.parametrize("settles", [True, False])
def test_profile_comes_before_approve_only_where_it_settles_the_verdict(settles: bool) -> None:
    likely = replace(
        TRIAGED.verdict,
        confidence=Confidence.LIKELY,
        settled_by="a profile of core 17, or anything else",
        profile_settles=settles,
    )
    message = card_of(told(OPENING, replace(TRIAGED, verdict=likely), PROPOSED))
    offered = [action for action, _ in actions(message.blocks) if action in ("profile", "approve")]
    assert offered == (["profile", "approve"] if settles else ["approve", "profile"])


def test_watched_node_shows_its_figures_so_far() -> None:
    figures = {"network device resets": "20", "longest time without a network device reset": "5460 s", "boot": "3b1c"}
    read = ("network device resets=0", "longest time without a network device reset=", "boot=77aa")
    proposed = PlanProposed.of(PLAN, PROPOSED.binds, 1, figures)
    sample = SampleTaken(True, (Evidence("figures", "verdict", "well", read),))
    watched = told(OPENING, TRIAGED, proposed, *WAYS[State.VERIFYING][3:-1], sample)
    assert watched.state is State.VERIFYING
    message = shown(watched)
    assert "network card resets:  text none since the reboot; not yet proof, " in words(message)
    assert " of 1 h 31 min watched (20 in the whole boot before)" in words(message)
    assert "disable ecs.service" in words(message), "beside the steps"


def test_resolved_begins_so_and_says_before_and_after_itself() -> None:
    incident = told(*WAYS[State.RESOLVED])
    message = shown(incident, replace(CONTEXT, undoes={incident.id: "bring back ecs.service"}))
    assert message.text.startswith("Resolved: node-gpu-01")
    assert "memory cgroups: 68,700 → 260" in message.text
    assert "68,700 → 260" in words(message)
    asked = [(action, incident.id) for action in ("report", "check_again", "undo")]
    assert actions(message.blocks) == [
        *asked,
        *((f"feedback-{word}", f"{word}-{incident.id}") for word in ("right", "wrong")),
    ]
    rows = [block for block in message.blocks if block["type"] == "actions"]
    assert len(rows) == 2, "on a phone a row of its own for each button is a screen"
    (changed,) = [at for at, block in enumerate(message.blocks) if "68,700" in str(block)]
    assert changed < message.blocks.index(rows[0]), "what came of it is seen before anybody undoes it"
    assert rows[0]["elements"][-1]["text"]["text"] == "Undo: bring back ecs.service"
    assert list(replies(incident)) == [], "nothing is said twice"


def test_resolved_says_the_harm_what_is_still_to_do_and_what_an_undo_may_bring_back() -> None:
    harmful = replace(TRIAGED, verdict=replace(TRIAGED.verdict, harm="core 17 is held in the kernel by kubelet"))
    opening, _, *rest = WAYS[State.RESOLVED]
    incident = told(opening, harmful, *rest)
    back = replace(CONTEXT, undoes={incident.id: "bring back ecs.service"})
    message = shown(incident, back)
    for said in (words(message), message.text):
        assert "Harm before the cure: core 17 is held in the kernel by kubelet." in said
        assert "Still to do, the lasting fix (ecs.service): Take the agent out of the image." in said
    warns = "An undo asks for approval. leaked-memory-cgroups may come back."
    (at,) = [at for at, block in enumerate(message.blocks) if warns in strings(block)]
    assert '"undo"' in json.dumps(message.blocks[at + 1]), "above the button that does it"
    assert warns not in words(shown(incident)), "where nothing can be undone"
    undone = words(shown(replace(incident, undoes="0d1496b0ca39"), back))
    assert not any(word in undone for word in ("Harm until", "Still to do", "An undo")), "an undo cured nothing"


def test_undo_says_what_it_starts_and_that_nothing_is_rebooted() -> None:
    cured = told(*WAYS[State.RESOLVED])
    for verbs, does in (("enable start", "starts again, now and at boot"), ("start", "starts again now")):
        back = Plan(cured.node, (Step("restore_unit", {"unit": "ecs.service", "verbs": verbs}),))
        said = f"Undo, after approval: ecs.service {does}. No reboot. leaked-memory-cgroups may come back."
        assert undo_warning(cured, back) == said


def test_first_sentence_of_a_cure_says_what_is_proven_and_what_is_not_yet() -> None:
    figures = (
        Compared("verdict", "critical leaked-memory-cgroups", "healthy"),
        Compared("network device resets", "20", "0"),
        Compared("longest time without a network device reset", "5460 s", ""),
        Compared("boot", "3b1c", "77aa"),
    )
    *way, _ = WAYS[State.RESOLVED]
    cured = told(*way, Resolved("It is cured.", figures))
    said = words(shown(cured))
    assert "leaked-memory-cgroups is gone: 1 of 1 readings in 10 min" in said
    assert "; not yet proven: network card resets: none in 10 min, proof needs 1 h 31 min. The bot no longer" in said
    assert "It is cured." not in said
    proven = (*figures[:2], Compared("longest time without a network device reset", "60 s", ""), figures[3])
    assert "not yet proven" not in words(shown(told(*way, Resolved("It is cured.", proven))))
    still = (Compared("verdict", "critical leaked-memory-cgroups", "degraded leaked-memory-cgroups"), *figures[1:])
    assert "is gone" not in words(shown(told(*way, Resolved("It is cured.", still))))


def test_of_several_nodes_each_has_its_table_in_the_thread_where_it_has_no_details() -> None:
    (reply,) = replies(told(*WAYS[State.RESOLVED]), of_several=True)
    taken_by_slack(reply.message)
    assert not reply.message.broadcast
    assert "memory cgroups: 68,700 → 260" in reply.message.text


def test_of_several_nodes_what_changed_is_folded_into_the_details_once_and_where_there_is_room() -> None:
    (reply,) = replies(told(*WAYS[State.RESOLVED]), of_several=True)
    stands = {"text": "node: details", "blocks": list(details(VERDICT)[0].message.blocks)}
    added = known(added_to(stands, reply.fold))
    taken_by_slack(added)
    assert added.blocks[-1]["title"]["text"] == "Before and after"
    assert "68,700 → 260" in str(added.blocks[-1]["child_blocks"])
    kept = json.loads(json.dumps({"text": added.text, "blocks": added.blocks}))
    assert added_to(kept, reply.fold) == added, "once"
    assert added_to({"text": "", "blocks": [added.blocks[0]] * BLOCKS}, reply.fold) is None


def test_acted_but_not_fixed_is_said_in_the_channel_too() -> None:
    failed = (*WAYS[State.ACTING], StepFailed(1, "still active"), Escalated("Step 1 failed.", "Look at its console."))
    (reply,) = replies(told(*failed))
    taken_by_slack(reply.message)
    assert reply.message.broadcast
    assert "acted, but not fixed" in reply.message.text
    assert "Look at its console." in reply.message.text
    assert list(replies(told(*WAYS[State.PROPOSED], Escalated("Tried before.")))) == [], "nothing was done"
    vain = StepFailed(1, "refused", never_ran=True)
    (reply,) = replies(told(*WAYS[State.ACTING], vain, Escalated("Step 1 failed: refused.")))
    assert "acted" not in str(reply.message.text)
    assert "Step 1 failed: refused." in str(reply.message.text)


@pytest.mark.parametrize(
    ("end", "part", "says"),
    [
        (Expired("It is too late."), "unbegun", "It is too late. Nothing was changed on the node."),
        (Cancelled("It was rebooted."), "unbegun", "It was rebooted. Nothing was changed on the node."),
        (Escalated("Tried before."), "unbegun", "A person has to take over: Tried before."),
        (QUESTION, "asked", "A question: Is the node back?"),
    ],
)
def test_whoever_said_yes_is_called_where_it_comes_to_nothing_or_a_question_stops_it(
    end: IncidentEvent, part: str, says: str
) -> None:
    incident = told(*WAYS[State.APPROVED], end)
    (reply,) = replies(incident)
    taken_by_slack(reply.message)
    assert reply.part.startswith(f"{part}-{incident.id}")
    assert reply.message.text.startswith("<@U012APPRO>: node-gpu-01: ")
    assert says in reply.message.text
    assert reply.message.broadcast is isinstance(end, Escalated)


def test_withheld_shows_the_missing_line_and_nothing_to_decide() -> None:
    line = "zombie ALL=(root) NOPASSWD: /usr/bin/systemctl reboot"
    message = shown(told(OPENING, TRIAGED, PlanWithheld("The login may not.", (line,))))
    assert line in words(message)
    assert "The login may not." in words(message)
    assert f"Lacking: {line}." in message.text
    assert VERDICT.summary in words(message), "the verdict stands as it stood"
    assert "68,700 memory cgroups" in words(message)
    assert buttons(message) == ["who-else", "check_again", "feedback-right", "feedback-wrong"]


def test_what_the_check_said_stands_where_nothing_is_offered_or_not_all_is_read() -> None:
    off = told(OPENING, TRIAGED, PlanWithheld(ACTING_IS_OFF))
    reading = told(OPENING, stream="second")
    for group in ([off], [reading], [told(*WAYS[State.PROPOSED]), reading], [told(OPENING, TRIAGED)], []):
        assert acting_card(group, CONTEXT) is None


def test_reopened_says_so() -> None:
    again = replace(OPENING, reopens="old0000000")
    assert shown(told(again, TRIAGED, PROPOSED)).text.startswith("Reopened: node-gpu-01")
