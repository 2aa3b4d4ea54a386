"""What people do with cards and dialogs, what the app is told of it, and what its answer does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.demo.slack.delivery import TOO_LATE, Delivered, DeliveryKind
from bot.demo.slack.message import Message
from bot.demo.slack.methods_views import make_view
from bot.demo.slack.view import View
from tests.slack.workspace import SlackWorkspace, workspace

ALERTS = "C0ALERTS01"
ALICE = "U0ALICE001"


class AppAtHand:
    """A way to an app that answers what it was told to, and keeps what came."""

    def __init__(self) -> None:
        self.came: list[dict[str, Any]] = []
        self.answer: dict[str, Any] | None = None
        self.failure = ""

    async def deliver(
        self, kind: DeliveryKind, payload: dict[str, Any], *, answerable: bool, attempt: int = 0, reason: str = ""
    ) -> Delivered:
        self.came.append(payload)
        return Delivered(kind, payload, failure=self.failure, answer=self.answer if answerable else None)


class Room:
    """A workspace with such an app."""

    def __init__(self, slack: SlackWorkspace) -> None:
        self.slack, self.app = slack, AppAtHand()
        slack.dispatcher.way = self.app

    def card(self, *elements: dict[str, Any], only_for: str | None = None) -> Message:
        blocks = [{"type": "actions", "block_id": "deeds", "elements": list(elements)}]
        return self.slack.state.post(ALERTS, "U0ZOMBIE01", "card", blocks=blocks, only_for=only_for)

    def dialog(self, *blocks: dict[str, Any], **fields: Any) -> View:
        view = make_view(self.slack.state, {**modal(*blocks), **fields}, ALICE)
        self.slack.state.set_modals(ALICE, [*self.slack.state.modals.get(ALICE, []), view])
        return view


@pytest.fixture
async def room() -> AsyncIterator[Room]:
    async with workspace() as slack:
        yield Room(slack)


def plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text}


def modal(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"type": "modal", "title": plain("Why?"), "submit": plain("Go"), "blocks": list(blocks)}


def asked(name: str, optional: bool = False, **element: Any) -> dict[str, Any]:
    element = {"type": "plain_text_input", "action_id": name, **element}
    return {"type": "input", "block_id": name, "label": plain(name), "element": element, "optional": optional}


YES = {"type": "button", "text": plain("Yes"), "action_id": "yes", "value": "incident-1", "style": "danger"}
OPTIONS = [{"text": plain(f"node-{number}"), "value": f"n{number}"} for number in range(3)]


async def test_button_that_is_gone_cannot_be_clicked(room: Room) -> None:
    card = room.card(YES)
    room.slack.state.edit(card, blocks=[{"type": "divider"}])
    with pytest.raises(LookupError, match="no element 'yes' here; there are none"):
        await room.slack.click("bob", card, "yes")
    room.slack.delete(card)
    with pytest.raises(LookupError, match="sees no such message"):
        await room.slack.click("bob", card, "yes")


async def test_click_on_what_was_shown_before_an_edit_is_told_with_the_blocks_new_id(room: Room) -> None:
    shown = [{"type": "actions", "elements": [{**YES, "value": f"incident-{number}"}]} for number in range(3)]
    old = room.slack.state.post(ALERTS, "U0ZOMBIE01", "card", blocks=shown)
    new = room.slack.state.edit(old, blocks=shown[1:])
    gone, kept, _ = ((block["block_id"], block["elements"][0]) for block in old.blocks)
    await room.slack.click("bob", old, "yes", None, *kept)
    ((action,),) = [came["actions"] for came in room.app.came]
    assert (action["block_id"], action["value"]) == (new.blocks[0]["block_id"], "incident-1")
    with pytest.raises(LookupError, match="no element 'yes' here"):
        await room.slack.click("bob", old, "yes", None, *gone)


@pytest.mark.parametrize("who", ["bob", "gina"])
async def test_what_one_does_not_see_one_does_not_click(room: Room, who: str) -> None:
    card = room.card(YES, only_for=ALICE)
    with pytest.raises(LookupError, match=f"{who} sees no such message"):
        await room.slack.click(who, card, "yes")
    assert (await room.slack.click("alice", card, "yes")).payload["container"]["is_ephemeral"]


async def test_option_that_is_not_there_cannot_be_chosen(room: Room) -> None:
    card = room.card({"type": "static_select", "action_id": "pick", "options": OPTIONS})
    with pytest.raises(LookupError, match="no option 'n9'; there are n0, n1, n2"):
        await room.slack.click("bob", card, "pick", "n9")


async def test_client_itself_refuses_to_send_what_is_missing_or_too_short(room: Room) -> None:
    view = room.dialog(asked("reason", min_length=5), asked("note", optional=True))
    assert (await room.slack.submit("alice", view)).errors == {"reason": "Please complete this required field."}
    refused = await room.slack.submit("alice", view, {"reason": "meh"})
    assert refused.errors == {"reason": "This field must be at least 5 characters long."}
    assert room.app.came == []
    sent = await room.slack.submit("alice", view, {"reason": {"reason": "it is sick"}})
    assert sent.view is None
    values = room.app.came[0]["view"]["state"]["values"]
    assert values["reason"]["reason"] == {"type": "plain_text_input", "value": "it is sick"}
    assert values["note"]["note"]["value"] is None


@pytest.mark.parametrize(
    "answer",
    [
        {"response_action": "errors", "errors": {"elsewhere": "no such block"}},
        {"response_action": "errors", "errors": {}},
        {"response_action": "update", "view": {"type": "modal"}},
        {"response_action": "vanish"},
    ],
)
async def test_bad_answer_leaves_the_dialog_open_with_slacks_own_words(room: Room, answer: dict[str, Any]) -> None:
    view = room.dialog(asked("reason"))
    room.app.answer = answer
    sent = await room.slack.submit("alice", view, {"reason": "x"})
    assert (sent.trouble, sent.errors) == ("We had some trouble connecting. Try again?", {})
    assert room.slack.modal("alice")


async def test_late_answer_leaves_the_dialog_open(room: Room) -> None:
    view = room.dialog(asked("reason"))
    room.app.failure = TOO_LATE
    assert (await room.slack.submit("alice", view, {"reason": "x"})).trouble
    room.app.failure = ""
    assert (await room.slack.submit("alice", view, {"reason": "x"})).view is None
