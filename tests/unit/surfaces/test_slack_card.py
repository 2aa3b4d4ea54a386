"""Cards keep every limit of Slack's, and nothing that a node said is obeyed by it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bot.actions import ACTIONS
from bot.chat.service import Message
from bot.demo.slack.validation import check_message
from bot.domain.fold import fold
from bot.domain.verdict import Verdict
from bot.response.diagnosis.progress import ReadingProgress
from bot.view.context import ViewContext
from bot.view.plan_words import BY_NAME, PlanWords
from bot.view.view import group_view
from tests.record.incidents import OPENING, entries
from tests.slack.drawn import details, incident_card, objects
from tests.unit.surfaces.verdicts import FOUNDING, HOSTILE, MUTED

FIRST_WORDS = 140  # what a locked phone shows


def card(reading: Mapping[str, tuple[int, int]], verdicts: Sequence[Verdict], words: PlanWords = BY_NAME) -> Message:
    """The card of nodes that are read, with how many of their probes have answered, or that were; none is on record."""
    nodes = [*(verdict.node for verdict in verdicts), *reading]
    group = [fold(entries([replace(OPENING, node=node)], f"i{number}")) for number, node in enumerate(nodes)]
    progress = {each.node: ReadingProgress(each, *reading[each.node]) for each in group if each.node in reading}
    fresh = {verdict.node: verdict for verdict in verdicts}
    return incident_card(group_view(group, ViewContext(words=words, progress=progress, fresh=fresh)))


def taken_by_slack(message: Message) -> None:
    check_message(message.text, json.loads(json.dumps(list(message.blocks))))


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from strings(one)
    elif isinstance(value, str):
        yield value


def marked_up(message: Message) -> list[str]:
    """The texts that Slack would read as mrkdwn."""
    return [str(one["text"]) for one in objects(message.blocks) if one.get("type") == "mrkdwn"]


def test_first_words_say_node_status_cause_confidence_and_remedy() -> None:
    first = card({}, [FOUNDING], words=PlanWords(ACTIONS)).text[:FIRST_WORDS]
    for word in ("node-123", "CRITICAL", "leaked-memory-cgroups", "confirmed", "disable ecs.service, then reboot"):
        assert word in first


def test_muted_cause_has_a_sign_of_its_own_and_says_who_accepted_it_and_why() -> None:
    shown = json.dumps(list(card({}, [MUTED]).blocks), ensure_ascii=False)
    assert "🔕 node-123: CRITICAL, leaked-memory-cgroups (confirmed, muted)" in shown
    assert "🔴" not in shown
    said = " ".join(strings(list(card({}, [MUTED]).blocks)))
    assert re.search(
        r"is muted until .*2026-11-29 12:00 UTC .*by .*terminal:ann .*: replaced. No plan is offered", said
    )
    assert "What would help" not in shown
    # a mute of what does not name the verdict takes nothing of it away
    lesser = replace(FOUNDING, muted=(replace(MUTED.muted[0], cause="failed-units"),))
    shown = json.dumps(list(card({}, [lesser]).blocks), ensure_ascii=False)
    assert "🔴 node-123: CRITICAL, leaked-memory-cgroups (confirmed)" in shown
    assert "failed-units is muted until" in shown
    assert "What would help" in shown


def test_thread_has_every_line_that_the_card_has_no_room_for() -> None:
    said = " ".join(strings([list(reply.message.blocks) for reply in details(FOUNDING)]))
    for evidence in FOUNDING.evidence:
        assert all(line in said for line in evidence.source)
    for word in ("cpu-steal", "no time was stolen", "permission denied", "systemctl disable --now -- ecs.service"):
        assert word in said


def test_a_reading_card_says_how_far_it_has_come() -> None:
    message = card({"node-1": (5, 14)}, [])
    taken_by_slack(message)
    assert "node-1: reading… 5 of 14 probes" in message.text


def test_sixty_nodes_are_one_card_with_the_worst_first() -> None:
    verdicts = [FOUNDING, *[FOUNDING.__class__(f"n-{i}", FOUNDING.status, None, None, HOSTILE) for i in range(60)]]
    message = card({"last": (0, 0)}, verdicts)
    taken_by_slack(message)
    assert message.text.startswith("62 nodes: 61 critical, 1 still reading")
    (table,) = [block for block in message.blocks if block["type"] == "data_table"]
    rows = [[cell["text"] for cell in row] for row in table["rows"]]
    assert rows[1][:3] == ["🔴 critical", "node-123", "leaked-memory-cgroups (confirmed)"]
    assert [row[1] for row in rows] == ["Node", "node-123", *(f"n-{i}" for i in range(60)), "last"]
    ten = card({"last": (0, 0)}, verdicts[:9])
    (table,) = [block for block in ten.blocks if block["type"] == "table"]
    assert [row[1]["text"] for row in table["rows"]] == ["Node", "node-123", *(f"n-{i}" for i in range(8)), "last"]
    assert table["rows"][-1][3]["text"] == "reading…"
