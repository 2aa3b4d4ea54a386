"""Whatever a verdict says, every surface keeps its limits and shows it, and nothing in it is obeyed."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from bot.domain.safe_text import redacted
from bot.domain.verdict import Verdict
from bot.surfaces.document import SCHEMA_FILE, document
from bot.surfaces.json_converter import JsonConverter
from bot.surfaces.pagerduty_note import LIMIT, note_text
from bot.surfaces.slack.drawing import without_blocks
from bot.surfaces.verdict_brief import MOST, verdict_brief, verdicts_table
from bot.surfaces.verdict_text import verdict_text
from tests.alerts.pages import judged
from tests.examples import up_to
from tests.readings.plainly import plainly
from tests.slack.drawn import details
from tests.unit.surfaces.cards import CONTEXT
from tests.unit.surfaces.test_slack_card import card, marked_up, strings, taken_by_slack
from tests.unit.surfaces.test_verdict_brief import GONE
from tests.unit.surfaces.verdicts import arbitrary

pytestmark = pytest.mark.slow
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
SCHEMA = Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))
SHARED = JsonConverter()  # one for all, as in a check of a fleet


@settings(max_examples=up_to(32), deadline=None)
@given(arbitrary)
def test_no_verdict_breaks_a_limit_of_a_surface_or_is_obeyed_there(verdict: Verdict) -> None:
    terminal(verdict)
    of_slack(verdict)
    note = note_text([of_page := judged("Q1", verdict)], of_page.id, "", CONTEXT)
    assert len(note) <= LIMIT
    assert note.endswith("[zombie 7k3m9x2qpv]")
    assert note.splitlines()[0].startswith("node-1: ")
    body = json.loads(document([verdict]))
    SCHEMA.validate(body)
    assert not CONTROL.search(str(body))
    assert SHARED.convert(verdict) == redacted(plainly(verdict)), "as by the slow way"


def terminal(verdict: Verdict) -> None:
    brief, table = verdict_brief(verdict, width=80), verdicts_table([verdict, GONE], 2, 80)
    text = verdict_text(replace(verdict, plan=None), width=80)  # commands are not broken
    assert not CONTROL.search(text + brief + table)
    for told in (text, brief):
        assert all(len(line) <= 80 for line in told.split("\n")[1:])  # the headline is one line, and short in life
    assert len(brief.splitlines()) <= MOST
    assert len(table.splitlines()) == 5, "a heading, a row for each, and the counts"


def of_slack(verdict: Verdict) -> None:
    whole = card({}, [verdict])
    for message in (whole, without_blocks(whole), *(reply.message for reply in details(verdict))):
        taken_by_slack(message)
        assert not re.search(r"<[!@#]", message.text), "a mention of the node's would take effect"
        assert not marked_up(message), "only plain text and rich text hold a node's words"
        assert not CONTROL.search("".join(strings(list(message.blocks))))
