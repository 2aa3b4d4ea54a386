"""What one person alone is told: nobody's secrets, whatever a refusal quotes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.domain.json_form import read
from bot.inventory.inventory import Inventory
from bot.surfaces.slack.calls import Delivered, MessageGone, Timing
from bot.surfaces.slack.ephemeral import Ephemeral
from bot.surfaces.slack.kept_checks import KeptCheck, kept_text
from bot.surfaces.slack.message import Message
from bot.surfaces.slack.parts import MessageTarget
from bot.surfaces.slack.requests import CheckRequest, CommandRequest, HelpRequest, parse, unknown_words

SECRET = "k7Qw" * 6
ADDRESS = "https://hooks.example/commands/T1/1/abc"


async def test_refusal_that_quotes_a_node_shows_no_secret() -> None:
    told: list[str] = []

    class Calls:
        async def post_ephemeral(self, channel: str, user: str, thread: str, message: Any) -> Delivered:
            told.append(f"{message.text} {message.blocks}")
            return Delivered()

    calls: Any = Calls()
    nobody: Any = None
    words = f"CannotTell: The node cannot be read again: it said: export DB_PASSWORD={SECRET}."
    await Ephemeral(calls, Timing(), lambda *_, **__: None, nobody).tell("slack:T1/U1", "C1", "", words)
    assert "cannot be read again" in told[0]
    assert SECRET not in told[0]


@pytest.mark.parametrize("typed", ["(*x*)", "_x_", "~x~", "`x`", "<!channel>", ":tada:", "&lt;"])
async def test_what_a_person_typed_is_shown_back_as_it_was_typed(typed: str) -> None:
    told: list[Message] = []

    class Calls:
        async def post_ephemeral(self, channel: str, user: str, thread: str, message: Message) -> Delivered:
            told.append(message)
            return Delivered()

    calls: Any = Calls()
    asked = parse(f"check {typed}", Inventory({}, "nodes.toml"))
    assert isinstance(asked, CheckRequest)
    request = CommandRequest("1", "T1", "U1", "C1", f"check {typed}")
    await Ephemeral(calls, Timing(), lambda *_, **__: None, None).quote(request, unknown_words(asked))
    (block,) = told[0].blocks
    assert block["text"]["type"] == "plain_text"
    assert typed in block["text"]["text"]
    assert "<" not in told[0].text, "what a notification shows mentions nobody"


async def test_answer_whose_address_is_used_up_comes_to_the_channel() -> None:
    told: list[str] = []

    class Calls:
        async def answer(self, url: str, message: Message) -> MessageGone:
            return MessageGone("http_404")

        async def post_ephemeral(self, channel: str, user: str, thread: str, message: Message) -> Delivered:
            told.append(f"{channel} {user} {message.text}")
            return Delivered()

    calls: Any = Calls()
    request = CommandRequest("1", "T1", "U1", "C1", "help", answer_at="https://slack.example/used-up")
    await Ephemeral(calls, Timing(), lambda *_, **__: None, None).say(request, "What I can do")
    assert told == ["C1 U1 What I can do"]


@pytest.mark.parametrize("typed", ["*x*", "_x_", "`x`", "``*x*", ":tada:"])
def test_command_that_is_not_known_is_shown_back_as_code(typed: str) -> None:
    asked = parse(typed, Inventory({}, "nodes.toml"))
    assert isinstance(asked, HelpRequest)
    assert f"the command `{typed.replace('`', chr(39))}`." in asked.sentence


def test_address_that_answers_a_command_is_in_no_repr() -> None:
    request = CommandRequest("C1", "T1", "U1", "D1", "check n1", answer_at=ADDRESS, workspace="T1")
    kept = read(KeptCheck, json.loads(kept_text(request, ("n1",)))["check"])
    assert kept.answer_at == ADDRESS
    for value in (request, kept, MessageTarget("D1", "", ADDRESS)):
        assert ADDRESS not in repr(value)
