"""The card of a sweep: what labels and nodes say is never markup, and everything fits however much there is."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bot.chat.document import TEXT
from bot.chat.drawing import length
from bot.chat.service import Message
from bot.domain.node import Node
from bot.extras.fleet.chat_card import many_card, report_card, running_card
from bot.extras.fleet.fleet_request import FleetRequest
from bot.extras.fleet.report import FleetReport, answer_line, report
from bot.extras.fleet.runner import exit_status
from bot.extras.fleet.sweep import Found, JudgedBy, NodeAnswer, NodeOutcome
from bot.surfaces.slack.drawing import ALL_BLOCKS, draw
from tests.slack.drawn import objects

LEAK = "leaked-memory-cgroups"
ASK = FleetRequest(("*",), (LEAK,))
BY = "slack:T024/U0ALICE001"
EVIL = ("<!channel> *now* `id` $(reboot) \x1b[2J\u202e", "<@U0BOB00001>|<http://evil|here>", "a,b=c & d")


def told(nodes: int, words: tuple[str, ...], length_of_name: int = 4) -> FleetReport:
    known, answers = [], []
    for at in range(nodes):
        word = words[at % len(words)]
        name = f"n{at}".ljust(length_of_name, "x")
        known.append(Node(name, "10.0.0.1", labels={"az": word, "role": word, "team": word}))
        found = (Found(LEAK, "degraded", "possible", f"70,000 dying {word}"),)
        answers.append(NodeAnswer(name, NodeOutcome.ANSWERED, "degraded", found=found, traits={"kernel": word}))
    return report(known, answers, {LEAK: JudgedBy.SIGNATURE}, selected=nodes, seconds=1.0)


def texts(message: Message) -> list[tuple[str, str]]:
    """Every text of a message's blocks with the type of what holds it."""
    return [
        (str(one.get("type", "")), one["text"]) for one in objects(message.blocks) if isinstance(one.get("text"), str)
    ]


def test_labels_with_metacharacters_are_shown_as_they_are_and_call_nobody() -> None:
    found = told(6, EVIL)
    for card in (
        draw(report_card(ASK, found, BY, cured=(LEAK,))),
        draw(running_card(ASK, found, "fleet-x", BY)),
        draw(many_card(ASK, 300, 10.0, "fleet-x", BY)),
    ):
        assert "<" not in card.text.replace("&lt;", "")
        said = texts(card)
        assert "mrkdwn" not in {kind for kind, _ in said}
        assert not [words for _, words in said if "\x1b" in words or "\u202e" in words]
    cells = [words for kind, words in texts(draw(report_card(ASK, found, BY))) if kind == "raw_text"]
    assert any("<!channel> *now* `id` $(reboot)" in words for words in cells), "as it is, in plain text"


@pytest.mark.parametrize(("nodes", "length_of_name"), [(1, 4), (21, 75), (40, 250), (5_000, 30), (5_000, 250)])
def test_card_of_any_fleet_fits_shows_a_table_and_says_how_many_more(nodes: int, length_of_name: int) -> None:
    words = tuple(f"zone {at} {'x' * 80}" for at in range(300))
    card = draw(report_card(ASK, told(nodes, words, length_of_name), BY, cured=(LEAK,)))
    assert len(card.text) <= TEXT
    assert sum(map(length, card.blocks)) <= ALL_BLOCKS
    rows = next(block["rows"] for block in card.blocks if block["type"] == "data_table")
    assert len(rows) - 1 >= min(nodes, 5)
    assert (len(rows) - 1 == nodes) is not (
        "more: zombie fleet * --cause leaked-memory-cgroups" in json.dumps(card.blocks)
    )
    menus = {each["action_id"] for block in card.blocks if block["type"] == "actions" for each in block["elements"]}
    assert ("fleet-check" in menus) is (length_of_name <= 75), "a menu's entry takes no longer name"
    assert "fleet-plan" in menus


def test_node_of_which_it_could_not_be_told_is_unknown_and_not_one_that_does_not_have_it() -> None:
    known = [Node(name, "10.0.0.1") for name in ("n1", "n2")]
    well = NodeAnswer("n1", NodeOutcome.ANSWERED, "healthy", because="Healthy.")
    open_ = replace(well, node="n2", undecided={LEAK: "its command is not there"})
    found = report(known, [well, open_], {LEAK: JudgedBy.SIGNATURE}, selected=2, seconds=1.0)
    card = draw(report_card(ASK, found, BY))
    assert card.text.startswith(f"0 of 2 nodes have {LEAK}, not known for 1. ")
    (rows,) = [block["rows"] for block in card.blocks if block["type"] == "data_table"]
    assert [[cell["text"] for cell in row[:2]] for row in rows[1:]] == [["n2", "its command is not there"]]
    assert (exit_status(found), found.figures["unknown"], found.figures["answered"]) == (3, 1, 1)
    assert answer_line(open_, verdicts=False) == f"n2  none of it was seen; not known: {LEAK}"
    both = report(known, [well, open_], {LEAK: JudgedBy.SIGNATURE, "io-stall": JudgedBy.FULL}, selected=2, seconds=1.0)
    assert both.unknown == (), "of another cause it is known"


def test_cell_says_what_a_node_has_in_one_short_line_and_nothing_is_cut() -> None:
    says = "68,440 dying memory cgroups beside 240 alive: present, not proven; the leaker was not found; units unread"
    has = NodeAnswer("n1", NodeOutcome.ANSWERED, "degraded", found=(Found(LEAK, "degraded", "possible", says),))
    silent = NodeAnswer(
        "n2",
        NodeOutcome.UNREACHABLE,
        "unreachable",
        because="n2 (10.0.0.2:22) accepted the connection and then said nothing.",
    )
    known = [Node(answer.node, "10.0.0.1") for answer in (has, silent)]
    found = report(known, [has, silent], {LEAK: JudgedBy.SIGNATURE}, selected=2, seconds=1.0)
    (rows,) = [block["rows"] for block in draw(report_card(ASK, found, BY)).blocks if block["type"] == "data_table"]
    assert [cell["text"] for cell in rows[0]] == ["node", "what", "kernel"], "a single look has no status"
    assert {row[0]["text"]: row[1]["text"] for row in rows[1:]} == {
        "n1": "68,440 dying memory cgroups beside 240 alive",
        "n2": "accepted the connection and then said nothing.",
    }
