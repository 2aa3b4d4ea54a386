"""Clicks and dialogs that are not what they say: nothing opens, nothing is decided, and it stands on record."""

from __future__ import annotations

import copy
from typing import Any

from bot.chat.clicks import Submission
from bot.chat.dialog import HOME, Intent, MetadataSigner
from bot.chat.people import Person
from tests.slack.acting_team import BOB, ONCALL, TEAM, ActingTeam
from tests.slack.workspace import SlackWorkspace

FORGED: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown value": (
        {"action": {"value": "0123456789ab"}},
        "NothingProposed",
        "This button does nothing: the bot does not know it.",
    ),
    "value that is no name": (
        {"action": {"value": "../../etc/passwd <!channel>"}},
        "NothingProposed",
        "This button does nothing: the bot does not know it.",
    ),
    "unknown button": (
        {"action": {"action_id": "reboot_everything"}},
        "NothingProposed",
        "This button does nothing: the bot does not know it.",
    ),
    "undo of what is not there": (
        {"action": {"action_id": "undo", "value": "nosuchone"}},
        "NothingProposed",
        "This button does nothing: the bot does not know it.",
    ),
    "brake of another kind": (
        {"action": {"action_id": "brake", "value": "sideways"}},
        "NothingProposed",
        "This button does nothing: the bot does not know it.",
    ),
    "answer to no question": (
        {"action": {"action_id": "answer-7", "value": "nosuchone"}},
        "NothingProposed",
        "This button does nothing: the bot does not know it.",
    ),
    "another message": (
        {"container": {"type": "message", "message_ts": "1.000002", "channel_id": ONCALL}},
        "NothingProposed",
        "This is not the card of that incident; use the buttons on the card itself.",
    ),
    "another channel": (
        {"channel": {"id": "C0ALERTS01", "name": "alerts"}},
        "NothingProposed",
        "This is not the card of that incident; use the buttons on the card itself.",
    ),
    "another workspace": (
        {"team": {"id": "T0OTHER001", "domain": "other"}},
        "NotAnApprover",
        "That came from another workspace than the bot's own.",
    ),
}


async def test_click_that_is_not_what_it_says_opens_nothing(slack: SlackWorkspace, team: ActingTeam) -> None:
    offer = await team.proposed("node-1")
    view = await team.dialog("bob", offer)
    await slack.close("bob", view)
    genuine = next(one.payload for one in slack.dispatcher.delivered if "actions" in one.payload)
    for number, (changes, name, sentence) in enumerate(FORGED.values(), 1):
        payload = copy.deepcopy(genuine) | copy.deepcopy(changes)
        payload["actions"][0] |= payload.pop("action", {}) | {"action_ts": f"1234.{number}"}  # never delivered before
        payload["trigger_id"] = slack.triggers.give(BOB)
        await slack.dispatcher.interaction(payload)
        channel = payload["channel"]["id"]
        await team.told("bob", f"{sentence} ({name})", channel)
        await team.idle()
        assert len(await team.refusals()) == number
        assert slack.modal("bob") is None
    await team.decided_nothing()
    assert await team.refusals() == [(BOB, name) for _, name, _ in FORGED.values()]


async def test_seal_of_the_app_home_is_no_dialog(slack: SlackWorkspace, team: ActingTeam) -> None:
    await team.proposed("node-1")
    (incident,) = await team.ledger.incidents()
    sealed = MetadataSigner(slack.bot_token).sign(Intent(HOME, BOB, {incident.id: ""}, ONCALL))
    sent = Submission("sent-home", Person(BOB, TEAM), sealed, "let me")
    assert await team.acting.decisions.handle_submission(sent) == ""
    assert (await team.told("bob", "NothingProposed")).text.startswith("This bot cannot do that.")
    await team.decided_nothing()
