"""A check by a click: all nodes of a card anew, and the node that was meant by a mistyped name; each as if typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot.demo.slack.message import Message
from tests.slack.service import Readings, card_saying, cards, reply_saying, serving
from tests.slack.workspace import SlackWorkspace


def buttons(message: Message) -> dict[str, str]:
    """Return the buttons of a message: what each says, by its action."""
    found: dict[str, Any] = {}
    for block in message.blocks:
        for element in block["elements"] if block["type"] == "actions" else ():
            found[element["action_id"]] = element["text"]["text"]
    return found


async def closed_card(slack: SlackWorkspace, asked: str, words: str) -> Message:
    await slack.say("alice", "oncall-gpu", f"/zombie check {asked}")
    await card_saying(slack, words)
    return await slack.until(
        lambda: next((card for card in cards(slack) if words in card.text and "check_again" in buttons(card)), None),
        what="the card with its button",
    )


@pytest.mark.parametrize(
    ("nodes", "words", "button"),
    [(("node-7",), "node-7: CRITICAL", "Check again"), (("node-7", "node-8"), "2 nodes: 2 critical", "Check 2 again")],
)
async def test_card_is_checked_again_on_a_card_of_its_own_by_whoever_clicks(
    slack: SlackWorkspace, tmp_path: Path, nodes: tuple[str, ...], words: str, button: str
) -> None:
    readings = Readings()
    async with serving(slack, tmp_path, readings) as bot:
        card = await closed_card(slack, " ".join(nodes), words)
        assert buttons(card)["check_again"] == button
        before = json.dumps(card.blocks)
        await slack.click("bob", card, "check_again")
        await slack.until(lambda: len(cards(slack)) == 2, what="a card of its own")
        await slack.until(lambda: words in cards(slack)[1].text, what="its verdicts")
        assert readings.asked == dict.fromkeys(nodes, 2)
        assert json.dumps(cards(slack)[0].blocks) == before, "what was found before stays as it was found"
        incidents = await bot.ledger.incidents()
        assert len(incidents) == 2 * len(nodes)
        entries = [(await bot.ledger.read(incident.id))[0] for incident in incidents]
        assert {entry.by.rpartition("/")[2] for entry in entries} == {"U0ALICE001", "U0BOB00001"}


async def test_click_is_counted_and_judged_as_a_typed_check(slack: SlackWorkspace, tmp_path: Path) -> None:
    readings = Readings()
    toml = '[slack]\nchecks_per_person = "1/1h"\n[policy]\naskers = ["U0ALICE001"]\n'
    async with serving(slack, tmp_path, readings, toml=toml):
        card = await closed_card(slack, "node-7", "node-7: CRITICAL")
        await slack.click("bob", card, "check_again")
        await reply_saying(slack, "does not name you", "bob")
        await slack.click("alice", card, "check_again")
        await reply_saying(slack, "You asked for 1 checks within 1 h", "alice")
        assert readings.asked == {"node-7": 1}
        assert len(cards(slack)) == 1


async def test_mistyped_name_is_answered_in_private_with_a_button_for_each_near_one(
    slack: SlackWorkspace, tmp_path: Path
) -> None:
    readings = Readings()
    async with serving(slack, tmp_path, readings):
        await slack.say("alice", "oncall-gpu", "/zombie check zzz <!channel>")
        assert buttons(await reply_saying(slack, "zzz", "alice")) == {}, "near to nothing"
        await slack.say("alice", "oncall-gpu", "/zombie check nod-77")
        told = await reply_saying(slack, "nod-77", "alice")
        assert told.only_for is not None
        offered = buttons(told)
        assert offered["check_meant-0"] == "Check node-77"
        assert not readings.asked, "a suggestion is offered, never taken"
        await slack.click("alice", told, "check_meant-0")
        await card_saying(slack, "node-77: CRITICAL")
        assert readings.asked == {"node-77": 1}
        assert len(cards(slack)) == 1
