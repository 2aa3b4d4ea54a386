"""Clicks and dialogs that are not what they say: nothing opens, nothing is decided, and it stands on record."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bot.chat.clicks import Submission
from bot.chat.dialog import HOME, Intent, MetadataSigner
from bot.chat.people import Person
from bot.demo.slack.delivery import Delivered
from tests.slack.acting_team import BOB, CAROL, ONCALL, TEAM, ActingTeam
from tests.slack.workspace import SlackWorkspace


async def clicked(slack: SlackWorkspace, team: ActingTeam, /, **changes: Any) -> dict[str, Any]:
    """Return a click's payload with something changed in it, never delivered before."""
    offer = await team.proposed("node-1")
    view = await team.dialog("bob", offer)
    await slack.close("bob", view)
    payload = copy.deepcopy(next(one.payload for one in slack.dispatcher.delivered if "actions" in one.payload))
    payload["actions"][0]["action_ts"] = "1234.5678"
    payload["trigger_id"] = slack.triggers.give(BOB)
    payload["actions"][0] |= changes.pop("action", {})
    return {**payload, **changes}


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


@pytest.mark.parametrize("what", FORGED)
async def test_click_that_is_not_what_it_says_opens_nothing(slack: SlackWorkspace, team: ActingTeam, what: str) -> None:
    changes, name, sentence = FORGED[what]
    payload = await clicked(slack, team, **copy.deepcopy(changes))
    await slack.dispatcher.interaction(payload)
    told = await team.told("bob", name, payload["channel"]["id"])
    assert told.text == f"{sentence} ({name})"
    assert slack.modal("bob") is None
    await team.decided_nothing()
    assert [refusal for _, refusal in await team.refusals()] == [name]


def sealed(payload: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    payload["view"]["private_metadata"] = payload["view"]["private_metadata"].replace(old, new)
    return payload


@pytest.mark.parametrize(
    "change_it",
    [
        lambda payload: sealed(payload, '"approve"', '"decline"'),
        lambda payload: sealed(payload, BOB, CAROL.id),
        lambda payload: sealed(payload, payload["view"]["private_metadata"], ""),
        lambda payload: sealed(payload, payload["view"]["private_metadata"], "[]"),
        lambda payload: sealed(payload, payload["view"]["private_metadata"][:64], "0" * 64),
        lambda payload: {**payload, "user": {**payload["user"], "id": CAROL.id}},
    ],
    ids=["wish", "user in it", "empty", "no seal", "another seal", "sent by another"],
)
async def test_dialog_that_was_changed_is_refused(
    slack: SlackWorkspace, team: ActingTeam, change_it: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    offer = await team.proposed("node-1")
    view = await team.dialog("bob", offer)
    person = slack.state.user("bob")
    filled = replace(view, values={"reason": {"reason": {"type": "plain_text_input", "value": "yes"}}})
    payload: dict[str, Any] = {
        "type": "view_submission",
        "team": {"id": "T0DEMO0001", "domain": "demo"},
        "user": {"id": person.id, "username": person.name, "name": person.name, "team_id": person.team_id},
        "api_app_id": "A0ZOMBIE01",
        "token": "",
        "enterprise": None,
        "is_enterprise_install": False,
        "trigger_id": slack.triggers.give(person.id),
        "view": filled.as_slack(),
        "response_urls": [],
    }
    delivered: Delivered = await slack.dispatcher.interaction(change_it(copy.deepcopy(payload)))
    says = "This dialog's content was changed on the way, so nothing was decided. Click again. (PlanChanged)"
    assert delivered.answer == {"response_action": "errors", "errors": {"reason": says}}
    await team.decided_nothing()
    assert [refusal for _, refusal in await team.refusals()] == ["PlanChanged"]


async def test_reason_of_blanks_is_refused_in_the_dialog(slack: SlackWorkspace, team: ActingTeam) -> None:
    view = await team.dialog("bob", await team.proposed("node-1"))
    sent = await slack.submit("bob", view, {"reason": "   \n "})
    assert sent.errors == {"reason": "A decision needs a reason: it goes on record. (ReasonMissing)"}
    assert slack.modal("bob") is not None
    await team.decided_nothing()


async def test_seal_of_the_app_home_is_no_dialog(slack: SlackWorkspace, team: ActingTeam) -> None:
    await team.proposed("node-1")
    (incident,) = await team.ledger.incidents()
    sealed = MetadataSigner(slack.bot_token).sign(Intent(HOME, BOB, {incident.id: ""}, ONCALL))
    sent = Submission("sent-home", Person(BOB, TEAM), sealed, "let me")
    assert await team.acting.decisions.handle_submission(sent) == ""
    assert (await team.told("bob", "NothingProposed")).text.startswith("This bot cannot do that.")
    await team.decided_nothing()
