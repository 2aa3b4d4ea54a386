"""What a note on a page says."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from bot.domain.alert import Alert
from bot.domain.events import Escalated, QuestionAsked, StepFailed, StepVerified
from bot.domain.fold import fold
from bot.domain.incident import Incident, cleared_name, newest
from bot.domain.transitions import State
from bot.surfaces.pagerduty_note import facts, mark, note_text, pages_of, unfixed_alert, without_head
from tests.alerts.pages import judged, of_page, opened
from tests.known import known
from tests.record.incidents import entries
from tests.unit.surfaces.cards import CONTEXT
from tests.unit.surfaces.verdicts import FOUNDING, HOSTILE, MUTED

PAGE = "Q3B15VLMF3ASBD"


def note(incident: Incident, head: str = "") -> str:
    return note_text([incident], incident.id, head, CONTEXT)


def test_verdict_comes_with_its_evidence_and_what_is_wanted() -> None:
    text = note(of_page(PAGE, State.PROPOSED))
    assert text.splitlines()[0] == "node-gpu-01: CRITICAL, leaked-memory-cgroups (confirmed)"
    assert "- cgroups: 68,700 memory cgroups, 240 alive" in text
    assert "Waits for approval: disable ecs.service, then reboot" in text
    assert text.endswith("[zombie 7k3m9x2qpv]")


def test_muted_cause_is_told_as_muted_beside_what_is_left_open() -> None:
    incident = of_page(PAGE, State.TRIAGED)
    muted = replace(incident, triage=replace(known(incident.triage), verdict=replace(MUTED, node=incident.node)))
    text = note(muted)
    assert text.splitlines()[0].endswith("leaked-memory-cgroups (confirmed, muted)")
    assert "is muted until 2026-11-29 12:00 UTC by terminal:ann: replaced." in text
    for left in ("Undecided: io-stall", "Not read: containers (permission denied)", "Ruled out: cpu-steal"):
        assert left in text.splitlines()


def test_nothing_is_said_before_there_is_something_to_say() -> None:
    assert note(of_page(PAGE, State.OPENED)) == ""


@pytest.mark.parametrize("state", [state for state in State if state is not State.OPENED])
def test_every_state_is_told_in_words(state: State) -> None:
    text = note(of_page(PAGE, state), "ab" * 32)
    assert text.endswith(mark("7k3m9x2qpv"))
    assert len(text.splitlines()) >= 3
    incident = of_page(PAGE, state)
    assert ("record abababababab" in text) == incident.ended


def test_how_it_ended_comes_first() -> None:
    assert note(of_page(PAGE, State.RESOLVED)).startswith("Resolved: node-gpu-01")
    assert note(of_page(PAGE, State.ESCALATED)).startswith("Escalated: node-gpu-01")
    assert note(replace(of_page(PAGE, State.PROPOSED), reopens="6k3m9x2qpv")).startswith("Reopened: node-gpu-01")


def test_what_is_over_upstream_is_told_so() -> None:
    over = replace(of_page(PAGE, State.CANCELLED), cleared=frozenset({f"pagerduty:{PAGE}"}))
    assert note(over).startswith("Resolved: node-gpu-01")


def test_question_that_was_answered_is_no_node() -> None:
    asked = replace(of_page(PAGE, State.CANCELLED, incident="asked"), node="")
    assert [one.id for one in pages_of([asked, of_page(PAGE, after=1)])[PAGE]] == ["7k3m9x2qpv"]
    assert [one.id for one in pages_of([asked])[PAGE]] == ["asked"]


def test_many_nodes_are_one_note_with_the_worst_first() -> None:
    incidents = [
        judged(PAGE, replace(FOUNDING, node=f"node-{number}"), incident=f"i{number}", after=number)
        if number % 10 == 0
        else of_page(PAGE, State.OPENED, node=f"node-{number}", incident=f"i{number}", after=number)
        for number in range(50)
    ]
    text = note_text(incidents, "i0")
    assert text.startswith("50 nodes: 5 critical, 45 still reading")
    assert text.splitlines()[2].startswith("- node-0: CRITICAL")
    assert "more" in text
    assert text.endswith("[zombie i0]")
    assert len(text) < 2000


def test_secrets_and_control_characters_do_not_reach_the_note() -> None:
    text = note(judged(PAGE, replace(FOUNDING, summary=f"password=hunter2hunter2 {HOSTILE}")))
    assert "hunter2" not in text
    assert not {"\x1b", "\x00", "\u202e"} & set(text)


@pytest.mark.parametrize("words", [f"record 12:{'ab' * 16}", "[zombie 0123456789]"])
def test_no_line_of_a_nodes_words_is_taken_for_a_head_or_a_mark(words: str) -> None:
    lines = note(judged(PAGE, replace(FOUNDING, summary=words)), "9:" + "cd" * 16).splitlines()
    ours = [line for line in lines if line.startswith(("record ", "[zombie "))]
    assert ours == [f"record 9:{'cd' * 16}", "[zombie 7k3m9x2qpv]"]
    assert f"“{words}”" in lines


def test_control_characters_reach_neither_a_question_nor_a_raised_alert() -> None:
    asks = QuestionAsked(HOSTILE, (HOSTILE, "no"))
    asking = note(fold(entries((opened(PAGE), asks))))
    ending = Escalated(f"{HOSTILE} password=hunter2hunter2", HOSTILE)
    raised = known(unfixed_alert(replace(of_page(PAGE, State.ESCALATED), ending=ending)))
    text = asking + json.dumps(dict(raised.details), ensure_ascii=False) + raised.summary
    assert "x1b[31mred" in text
    assert not {"\x1b", "\x00", "\u202e", "\\u001b"} & {*text, *re.findall(r"\\u[0-9a-f]{4}", text)}
    assert "hunter2" not in text


def test_incident_that_joined_is_told_on_both_pages() -> None:
    first = of_page(PAGE)
    joined = replace(first, joined=(Alert("pagerduty", "Q9"), Alert("slack", "17.1", "slack:T/U")))
    assert {page: [one.id for one in told] for page, told in pages_of([joined]).items()} == {
        PAGE: [first.id],
        "Q9": [first.id],
    }


def test_node_that_was_opened_anew_is_told_as_it_is_now() -> None:
    old = of_page(PAGE, State.RESOLVED, incident="old")
    new = replace(of_page(PAGE, State.PROPOSED, incident="new", after=60), reopens="old")
    assert [one.id for one in pages_of([new, old])[PAGE]] == ["new"]
    third = replace(of_page(PAGE, State.PROPOSED, incident="third", after=-60), reopens="new")
    assert newest([third, new, old])[-1] == third, "the database's clock was set back"


@pytest.mark.parametrize("state", [State.ACTING, State.VERIFYING, State.ESCALATED])
def test_node_that_was_acted_on_when_its_alert_fired_again_stays_beside_it(state: State) -> None:
    new = replace(of_page(PAGE, State.TRIAGED, incident="new", after=60), reopens="old")
    old = replace(of_page(PAGE, state, incident="old"), updated_at=new.opened_at)
    assert newest([old, new]) == pages_of([new, old])[PAGE] == (old, new)
    says = note_text([old, new], "old", "", CONTEXT).splitlines()[0]
    assert says.startswith(("Reopened: 1 node: ", "1 node: "))
    assert facts([old, new])["nodes"] == "1"


def test_only_what_was_acted_on_and_not_fixed_is_raised() -> None:
    raised = known(unfixed_alert(of_page(PAGE, State.ESCALATED)))
    assert (raised.key, raised.source) == ("zombie-7k3m9x2qpv", "node-gpu-01")
    assert raised.summary.startswith("node-gpu-01: acted, but not fixed.")
    assert [state for state in State if unfixed_alert(of_page(PAGE, state))] == [State.ESCALATED]
    assert unfixed_alert(replace(of_page(PAGE, State.ESCALATED), steps=())) is None


def test_plan_of_which_nothing_ran_is_raised_as_that_and_only_while_its_alert_goes_on() -> None:
    begun = of_page(PAGE, State.ESCALATED)
    vain = replace(begun, steps=(replace(begun.steps[0], outcome=StepFailed(1, "refused", never_ran=True)),))
    raised = known(unfixed_alert(vain))
    assert raised.summary.startswith("node-gpu-01: approved, but nothing was run.")
    over = frozenset(cleared_name(alert.kind, alert.id) for alert in vain.alerts)
    assert unfixed_alert(replace(vain, cleared=over)) is None
    assert unfixed_alert(replace(begun, cleared=over)) is not None
    otherwise = replace(vain, steps=(replace(begun.steps[0], outcome=StepVerified(1, otherwise="by somebody else")),))
    raised = known(unfixed_alert(otherwise))
    assert raised.summary.startswith("node-gpu-01: acted, but not fixed."), "the plan had its try, whoever rebooted"


def test_facts_are_those_of_the_worst_node() -> None:
    told = facts([of_page(PAGE, State.OPENED, node="node-2", incident="i2"), of_page(PAGE, State.PROPOSED)])
    assert (told["status"], told["nodes"], told["cause"]) == ("critical", "2", "leaked-memory-cgroups")


@pytest.mark.parametrize("left", range(10, 50, 5))
def test_no_fact_or_raised_alert_ends_within_a_secret(left: int) -> None:
    token = " sk_" + f"live_0123{'Fake01' * 4}"
    told = facts([judged(PAGE, replace(FOUNDING, cause="x" * (200 - left) + token))])
    ending = Escalated("x" * (1000 - len("node-1: acted, but not fixed. ") - left) + token, "")
    raised = known(unfixed_alert(replace(of_page(PAGE, State.ESCALATED), ending=ending)))
    assert "0123" not in told["cause"] + raised.summary


def test_later_hash_of_the_record_alone_is_nothing_new() -> None:
    incident = of_page(PAGE, State.RESOLVED)
    assert note(incident, "a" * 64) != note(incident, "b" * 64)
    assert without_head(note(incident, "a" * 64)) == without_head(note(incident, "b" * 64) + "\n")
