"""That a node had the same cause before stands on card, note, dialog and terminal, before anybody says yes."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain.events import PlanWithheld
from bot.domain.relapse import Relapse
from bot.surfaces.incidents import incident_text
from bot.surfaces.pagerduty_note import note_text
from bot.view.words import relapse_words, tried_words
from tests.known import known
from tests.record.incidents import OPENING, PROPOSED, TRIAGED, entries
from tests.slack.drawn import covered, reason_dialog
from tests.unit.surfaces.cards import CONTEXT, shown, told, words

MONTH, DAY = timedelta(days=30), timedelta(days=1)
CAME_BACK = Relapse(3, MONTH, 9 * DAY, True, True, ("first00000", "second0000"))
LINE = "Third time in 30 days; it comes back about 9 days after a reboot."
NOTE = "This remedy was carried out 2 times in 30 days (first00000, second0000) and did not last"


def test_card_dialog_note_and_terminal_say_it_before_a_yes() -> None:
    proposed = told(OPENING, replace(TRIAGED, relapse=CAME_BACK), PROPOSED)
    card = shown(proposed)
    assert LINE in words(card)
    assert NOTE in words(card)
    assert LINE in card.text
    assert LINE in note_text([proposed], proposed.id, context=CONTEXT)
    assert LINE in " ".join(incident_text(proposed, entries((OPENING,)), context=CONTEXT).split())
    plan = known(CONTEXT.words.of_incident(proposed))
    view = reason_dialog("approve", "sealed", covered([plan]))
    assert NOTE in json.dumps(view)


def test_first_time_says_nothing() -> None:
    plain = words(shown(told(OPENING, TRIAGED, PROPOSED)))
    assert "time in 30 days" not in plain
    assert "carried out" not in plain


def test_verdict_card_without_a_plan_says_it_too() -> None:
    card = shown(told(OPENING, replace(TRIAGED, relapse=CAME_BACK), PlanWithheld("Nobody may approve.")))
    assert LINE in words(card)
    assert NOTE in words(card), "what would help did not last"


@pytest.mark.parametrize(
    ("relapse", "says"),
    [
        (Relapse(2, MONTH, 3 * DAY), "Second time in 30 days; about 3 days apart."),
        (Relapse(12, MONTH, timedelta(hours=26)), "12th time in 30 days; about 26 hours apart."),
        (
            Relapse(2, MONTH, timedelta(minutes=40), cured=True),
            "Second time in 30 days; it comes back about an hour after the remedy.",
        ),
        (None, ""),
    ],
)
def test_time_and_rhythm_are_said_in_one_line(relapse: Relapse | None, says: str) -> None:
    assert relapse_words(relapse) == says


@pytest.mark.parametrize("tried", [(), ("first00000",)])
def test_remedy_that_failed_once_is_not_talked_down(tried: tuple[str, ...]) -> None:
    assert tried_words(Relapse(2, MONTH, DAY, True, True, tried)) == ""
