"""Events become bodies and are read back as what they were; what cannot be read is said to be so."""

import contextlib
import json
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.entry import EVENTS, Event, body_of, canonical_body, event_of, kind_of
from bot.domain.errors import UnreadableEntry
from bot.domain.events import AlertReceived, Triaged
from bot.domain.json_form import MOST_LINES, MOST_TEXT
from bot.domain.probe import Snapshot
from bot.domain.verdict import Evidence, Verdict
from bot.extras.captures.events import KINDS as CAPTURE_KINDS
from bot.extras.marks.marks import KINDS as MARK_KINDS
from bot.extras.waves.events import KINDS
from tests.examples import up_to
from tests.known import known_as
from tests.record.incidents import (
    BEGAN_AT,
    CAPTURE_EVENTS,
    HOUSE_EVENTS,
    INCIDENT_EVENTS,
    MARK_EVENTS,
    PLAN,
    TRIAGED,
    VERDICT,
    WAVE_EVENTS,
)
from tests.unit.surfaces import verdicts

ALL_KINDS = {**KINDS, **CAPTURE_KINDS, **MARK_KINDS}


def kept(event: Event) -> Event:
    """The event as it comes back from the text that is kept."""
    return event_of(kind_of(event), json.loads(canonical_body(body_of(event))), events=ALL_KINDS)


OF_OTHERS = (*WAVE_EVENTS, *CAPTURE_EVENTS, *MARK_EVENTS)


@pytest.mark.parametrize("event", [*INCIDENT_EVENTS, *HOUSE_EVENTS, *OF_OTHERS], ids=kind_of)
def test_event_is_read_back_as_what_it_was(event: Event) -> None:
    # An example that leaves a field at its default would not show that the field is kept.
    defaults = {field.name for field in fields(event) if getattr(event, field.name) in (field.default, "", ())}
    assert defaults <= {"attempt", "approvals_needed", "asked_by"}
    assert kept(event) == event


@settings(max_examples=up_to(150), deadline=None)
@given(verdicts.arbitrary)
def test_verdict_is_read_back_whole(verdict: Verdict) -> None:
    back = known_as(kept(Triaged(verdict)), Triaged)
    assert back.verdict == verdict
    assert (back.verdict.plan and back.verdict.plan.digest) == (verdict.plan and verdict.plan.digest)


def test_verdict_is_kept_in_the_words_of_the_document() -> None:
    body = body_of(replace(TRIAGED, verdict=replace(VERDICT, took=timedelta(seconds=5.25))))
    assert body["form"] == 1
    assert body["taken_at"] == "2026-11-21T09:29:54+00:00"
    verdict = body["verdict"]
    assert (verdict["status"], verdict["confidence"], verdict["took_seconds"]) == ("critical", "confirmed", 5.25)
    assert verdict["evidence"][0] == {
        "finding": "dying",
        "probe": "cgroups",
        "says": "68,700 memory cgroups, 240 alive",
        "source": ["memory\t4\t68700\t1"],
    }
    assert verdict["plan"]["digest"] == PLAN.digest


def test_snapshot_is_left_out() -> None:
    read = replace(VERDICT, snapshot=Snapshot(VERDICT.node, BEGAN_AT, timedelta(seconds=5), {"cpu": object()}))
    back = known_as(kept(Triaged(read)), Triaged)
    assert back.verdict == VERDICT


def test_endless_text_is_cut_and_says_so() -> None:
    lines = tuple(str(number) for number in range(MOST_LINES + 7))
    long = replace(VERDICT, evidence=(Evidence("f", "p", "x" * (MOST_TEXT + 5), lines),))
    back = known_as(kept(Triaged(long)), Triaged)
    (evidence,) = back.verdict.evidence
    assert evidence.says == "x" * MOST_TEXT + "… and 5 more characters"
    assert evidence.source == (*lines[:MOST_LINES], "… and 7 more")


def test_body_without_a_later_field_is_read_with_its_default() -> None:
    body = {"form": 1, "node": "n", "alert": {"kind": "grafana", "id": "7"}}
    event = known_as(event_of("AlertReceived", body), AlertReceived)
    assert (event.node, event.group, event.alert.text) == ("n", "", "")


def test_field_that_is_not_known_yet_is_passed_over() -> None:
    assert event_of("BrakePulled", {"form": 1, "reason": "r", "mood": "calm"}) == event_of(
        "BrakePulled", {"form": 1, "reason": "r"}
    )


def test_older_form_is_lifted_step_by_step() -> None:
    lifts = {
        ("BrakePulled", 1): lambda body: {"why": body["because"]},
        ("BrakePulled", 2): lambda body: {"reason": body["why"]},
    }
    event = event_of("BrakePulled", {"form": 1, "because": "rollout"}, {"BrakePulled": 3}, lifts)
    assert event == EVENTS["BrakePulled"]("rollout")


@pytest.mark.parametrize(
    ("kind", "body", "says"),
    [
        ("Teleported", {"form": 1}, "kind 'Teleported'"),
        ("BrakePulled", {"form": 2, "reason": "r"}, "form 2"),
        ("BrakePulled", {"reason": "r"}, "form None"),
        ("BrakePulled", {"form": 1}, "BrakePulled has no reason"),
        ("BrakePulled", {"form": 1, "reason": 5}, "BrakePulled.reason is int, not str"),
        ("SampleTaken", {"form": 1, "holds": 1}, "SampleTaken.holds is int, not bool"),
        ("StepVerified", {"form": 1, "number": True}, "StepVerified.number is bool, not int"),
        ("StepVerified", {"form": 1, "number": 1, "took_seconds": 1e300}, "took_seconds"),
        ("AlertReceived", {"form": 1, "node": "n", "alert": {"kind": 7, "id": "7"}}, "alert.kind is int"),
        ("AlertJoined", {"form": 1, "alert": None}, "AlertJoined.alert is NoneType"),
        ("QuestionAsked", {"form": 1, "question": "?", "options": "ab"}, "options is str, not list"),
    ],
)
def test_body_that_cannot_be_read_says_where(kind: str, body: dict[str, Any], says: str) -> None:
    with pytest.raises(UnreadableEntry, match=r".") as no:
        event_of(kind, body)
    assert says in no.value.sentence


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=up_to(300), deadline=None)
@given(st.sampled_from((*INCIDENT_EVENTS, *HOUSE_EVENTS, *OF_OTHERS)), st.data())
def test_damaged_body_is_read_or_said_to_be_unreadable(event: Event, data: st.DataObject) -> None:
    body = json.loads(canonical_body(body_of(event)))
    place: Any = body
    while True:  # somewhere in the body, at any depth, a value is another
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        deeper = place[key]
        if isinstance(deeper, dict | list) and deeper and data.draw(st.booleans()):
            place = deeper
            continue
        place[key] = data.draw(_json)
        break
    with contextlib.suppress(UnreadableEntry):
        assert isinstance(event_of(kind_of(event), body, events=ALL_KINDS), type(event))
