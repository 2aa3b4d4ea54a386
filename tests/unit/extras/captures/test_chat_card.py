"""The card of a capture in every state, what its thread says, and that no word of a node is markup there."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.chat.document import TEXT
from bot.chat.drawing import length
from bot.chat.service import Message
from bot.domain.incident import IncidentSummary
from bot.domain.transitions import State
from bot.extras.captures.capture_fold import RollingCapture, RollingState, incident_of
from bot.extras.captures.capture_watch import CaptureLookResult
from bot.extras.captures.chat_card import (
    MOST_SHOWN,
    SHOW,
    STOP,
    capture_card,
    capture_of,
    card_name,
    caught_reply,
    listed,
    not_recorded,
)
from bot.extras.captures.chat_cards import MOST_TOLD, _told_of
from bot.extras.captures.events import (
    CaptureEnded,
    CaptureStarting,
    CaptureStopping,
    SymptomCaught,
)
from bot.extras.captures.recorder_commands import RollingRequest
from bot.extras.captures.words import lines
from bot.surfaces.slack.drawing import ALL_BLOCKS, draw
from tests.record.incidents import BEGAN_AT

ID, ALICE, BOB = "7k3m9x2qpv", "slack:T0/U0ALICE001", "slack:T0/U0BOB00001"
HOSTILE = ("<!channel>", "<script>alert(1)</script>", "*b* `c` ~d~", "\x1b[2J", "\u202ex", "&lt;!here&gt;", "x" * 9000)
STARTED = CaptureStarting(ID, "boot", "machine", "key", 100.0)
RUNNING = RollingCapture(
    ID,
    "node-1",
    RollingRequest(12),
    ALICE,
    BEGAN_AT,
    state=RollingState.RUNNING,
    started=STARTED,
    started_at=BEGAN_AT,
    since_usec=100_000_000,
)
IN_STATE = {
    RollingState.STARTING: replace(RUNNING, state=RollingState.STARTING, since_usec=0),
    RollingState.RUNNING: RUNNING,
    RollingState.STOPPING: replace(
        RUNNING, state=RollingState.STOPPING, stopped_by=BOB, stopping=CaptureStopping(ID, "", 0.4, 100.0)
    ),
    RollingState.ENDED: replace(RUNNING, state=RollingState.ENDED, ended=CaptureEnded(ID, f"{BOB} stopped it")),
}
BUTTONS = {
    RollingState.STARTING: [SHOW, STOP],
    RollingState.RUNNING: [SHOW, STOP],
    RollingState.STOPPING: [SHOW],
}


def caught(sentence: str = "reset at 12:03:07.412 UTC; core 39 ran kubelet", unread: str = "") -> SymptomCaught:
    return SymptomCaught(ID, "nic-reset", BEGAN_AT + timedelta(minutes=5), 400.0, sentence, unread)


def actions(message: Message) -> list[str]:
    rows = [block for block in message.blocks if block["type"] == "actions"]
    return [element["action_id"] for row in rows for element in row["elements"]]


@pytest.mark.parametrize("state", RollingState)
def test_every_state_has_its_words_and_its_buttons(state: RollingState) -> None:
    message = draw(capture_card(CaptureLookResult(IN_STATE[state])))
    assert actions(message) == BUTTONS.get(state, [])
    assert "node-1" in message.text
    assert '"user_id": "U0ALICE001"' in json.dumps(message.blocks)
    assert "slack:T0" not in json.dumps(message.blocks), "people stand by the names that each reader knows them by"


def test_figures_and_what_was_caught_stand_on_it() -> None:
    news = CaptureLookResult(replace(RUNNING, caught=(caught(),)), 0.4, 100.0, 42_000_000, 2)
    message = draw(capture_card(news))
    text = json.dumps(message.blocks)
    assert "It has recorded 100 s and costs 0.40 % of one core; its ring holds 2 segments, 42.0 MB." in text
    assert "core 39 ran kubelet" in text
    assert "1 caught; the last: reset at 12:03:07.412 UTC" in message.text
    assert f"It ends by itself {news.rolling.until:%Y-%m-%d %H:%M} UTC" in text
    assert '"type": "date"' not in text, "one clock on a card: the kernel log's"


def test_before_the_first_look_of_a_program_nobody_says_that_nothing_was_caught() -> None:
    assert "Nothing was caught" not in "".join(lines(CaptureLookResult(RUNNING)))
    assert lines(CaptureLookResult(RUNNING, 0.4, 100.0))[-1] == "Nothing was caught so far."


def test_of_much_that_was_caught_the_newest_stands_on_it_below_what_is_unread_and_how_much_there_is() -> None:
    many = tuple(replace(caught(f"reset no. {number}"), at_mono=1140.0 * number) for number in range(1, 39))
    rolling = replace(RUNNING, caught=many)
    news = CaptureLookResult(rolling, 0.4, 42_000.0, 42_000_000, 12, 0.004, ("the kernel's log is unread",))
    shown = draw(capture_card(news)).blocks
    said = f"38 caught, of which the last {MOST_SHOWN}; all: zombie capture show {ID}"
    for text in (json.dumps(shown), "\n".join(lines(news, MOST_SHOWN))):
        assert text.index("Not yet: the kernel's log is unread.") < text.index(said) < text.index("reset no. 38.")
        assert "reset no. 33." not in text
    assert [each for each in lines(news) if each.startswith("* ")] == [f"* reset no. {at}." for at in range(1, 39)]
    *told, more = _told_of(rolling)
    assert tuple(told) == many[:MOST_TOLD]
    assert more.sentence == f"More was caught, which is not told here: zombie capture show {ID}"
    *_, again = _told_of(replace(rolling, caught=many[1:]))
    assert (again.symptom, again.at_mono) == (more.symptom, more.at_mono), "said once, whichever is the next"
    assert _told_of(replace(rolling, caught=many[:MOST_TOLD])) == many[:MOST_TOLD]


def test_what_no_look_read_of_the_log_never_takes_the_place_of_what_was_caught() -> None:
    gaps = tuple(replace(caught("200 lines", f"part {n}"), symptom="log-unread", at_mono=60.0 * n) for n in range(90))
    rolling = replace(RUNNING, caught=(*gaps[:60], caught(), *gaps[60:]))
    assert _told_of(rolling) == (gaps[0], caught())
    message, texts = draw(capture_card(CaptureLookResult(rolling))), lines(CaptureLookResult(rolling), MOST_SHOWN)
    assert "1 caught; the last: reset at" in message.text
    for text in (json.dumps(message.blocks), "\n".join(texts)):
        assert "200 lines; not read: part 0; 89 more times, the last: part 89." in text
        assert "core 39 ran kubelet" in text
    assert "1 caught" in listed([rolling])


@pytest.mark.parametrize("words", HOSTILE, ids=range(len(HOSTILE)))
def test_no_words_are_markup_or_too_long(words: str) -> None:
    rolling = replace(
        RUNNING,
        node=words,
        state=RollingState.ENDED,
        caught=tuple(replace(caught(words, words), at_mono=400.0 + 20 * number) for number in range(40)),
        ended=CaptureEnded(ID, words, words, (words,) * 40),
    )
    messages = (
        capture_card(CaptureLookResult(rolling, waits=(words,) * 40)),
        caught_reply(rolling.caught[0], SUMMARY, "https://example.slack.com/archives/C1/p1"),
        caught_reply(rolling.caught[0], replace(SUMMARY, cause=words), ""),
        not_recorded(words, words, ALICE),
    )
    for message in map(draw, messages):
        assert len(message.text) <= TEXT
        assert sum(map(length, message.blocks)) <= ALL_BLOCKS
        assert "<" not in message.text
        told = json.dumps(message.blocks, ensure_ascii=False)
        assert '"mrkdwn"' not in told
        for sign in ("\x1b", "\\u001b", "\u202e"):
            assert sign not in told + message.text
    assert "\x1b" not in listed([rolling] * 60)


SUMMARY = IncidentSummary(
    "abcdef012345", "node-1", "", State.PROPOSED, "leaked-memory-cgroups", "slack", "x", BEGAN_AT, BEGAN_AT, False
)


def test_reply_leads_to_the_incident() -> None:
    linked = json.dumps(draw(caught_reply(caught(), SUMMARY, "https://example.slack.com/archives/C1/p1")).blocks)
    assert "https://example.slack.com/archives/C1/p1" in linked
    assert "incident abcdef012345" in linked
    assert "zombie incidents show abcdef012345" in json.dumps(draw(caught_reply(caught(), SUMMARY, "")).blocks)
    assert "belongs" not in json.dumps(draw(caught_reply(caught(), None, "")).blocks)


def test_it_belongs_to_the_newest_incident_of_the_node_that_was_open_then_or_soon_after() -> None:
    ended = replace(SUMMARY, id="ended", ended=True, updated_at=BEGAN_AT + timedelta(minutes=1))
    later = replace(SUMMARY, id="later", opened_at=BEGAN_AT + timedelta(minutes=20))
    other = replace(SUMMARY, id="other", node="node-2")
    at = BEGAN_AT + timedelta(minutes=5)
    for among, belongs in (
        ((SUMMARY, other), SUMMARY.id),
        ((SUMMARY, later), "later"),
        ((ended,), None),
        ((other,), None),
        ((replace(SUMMARY, opened_at=at + timedelta(minutes=31)),), None),
    ):
        found = incident_of(among, "node-1", at, at)
        assert (found.id if found is not None else None) == belongs


def test_names_of_cards_lead_back_to_their_captures_and_nothing_else_does() -> None:
    assert capture_of(card_name(ID)) == ID
    for name in (ID, "capture-", "capture-<x>", "wave-7k3m9x2qpv", "capture-" + "a" * 40):
        assert capture_of(name) == ""
