"""What one person alone is told: nobody's secrets, whatever a refusal quotes."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import AsyncMock, Mock

import pytest

from bot.chat.commands import Commands
from bot.chat.people import Person
from bot.chat.post_state import MessageTarget
from bot.chat.private_replies import PrivateReplies
from bot.chat.requests import CheckRequest, CommandRequest, HelpRequest, parse, unknown_words
from bot.chat.service import Delivered, Message, MessageGone, Timing
from bot.chat.stored_checks import StoredCheck, encode_check
from bot.domain.json_form import read
from bot.domain.node import Node
from bot.extras.captures.chat import CaptureChat
from bot.extras.fleet.chat_cards import FleetCards
from bot.inventory.inventory import Inventory
from bot.surfaces.slack.drawing import draw, slack_user
from tests.known import known_as

SECRET = "k7Qw" * 6


class Nobody:
    """Knows no names."""

    user = staticmethod(slack_user)

    async def named(self, words: str) -> str:
        return words


class Private:
    """What people are told in private; `whispered` is where it was said without a command's address."""

    draw = staticmethod(draw)

    def __init__(self, *, used_up: bool = False) -> None:
        self._used_up = used_up  # a command's address
        self.told: list[Message] = []
        self.whispered: list[tuple[str, str]] = []
        chat, nobody, log = (cast("Any", each) for each in (self, Nobody(), lambda *_, **__: None))
        self.replies = PrivateReplies(chat, Timing(), log, nobody)

    async def respond(self, url: str, message: Message) -> Delivered | MessageGone:
        if self._used_up:
            return MessageGone("http_404")
        self.told.append(message)
        return Delivered()

    async def whisper(self, channel: str, user: str, thread: str, message: Message) -> Delivered:
        self.told.append(message)
        self.whispered.append((channel, user))
        return Delivered()


ANN = Person("U1", "T1")
ADDRESS = "https://hooks.example/commands/T1/1/abc"


async def test_refusal_that_quotes_a_node_shows_no_secret() -> None:
    private = Private()
    words = f"CannotTell: The node cannot be read again: it said: export DB_PASSWORD={SECRET}."
    await private.replies.tell("slack:T1/U1", "C1", "", words)
    (said,) = map(repr, private.told)
    assert "cannot be read again" in said
    assert SECRET not in said


@pytest.mark.parametrize("typed", ["(*x*)", "_x_", "~x~", "`x`", "<!channel>", ":tada:", "&lt;"])
async def test_what_a_person_typed_is_shown_back_as_it_was_typed(typed: str) -> None:
    private = Private()
    asked = known_as(parse(f"check {typed}", Inventory({}, "nodes.toml")), CheckRequest)
    request = CommandRequest("1", ANN, "C1", f"check {typed}")
    await private.replies.quote(request, unknown_words(asked))
    (said,) = private.told
    (block,) = said.blocks
    assert block["text"]["type"] == "plain_text"
    assert typed in block["text"]["text"]
    assert "<" not in said.text, "what a notification shows mentions nobody"


async def test_answer_whose_address_is_used_up_comes_to_the_channel() -> None:
    private = Private(used_up=True)
    request = CommandRequest("1", ANN, "C1", "help", answer_at="https://slack.example/used-up")
    await private.replies.say(request, ("What I can do",))
    assert (private.whispered, [said.text for said in private.told]) == ([("C1", "U1")], ["What I can do"])


@pytest.mark.parametrize("typed", ["*x*", "_x_", "`x`", "``*x*", ":tada:"])
def test_command_that_is_not_known_is_shown_back_as_code(typed: str) -> None:
    asked = known_as(parse(typed, Inventory({}, "nodes.toml")), HelpRequest)
    assert f"the command `{typed.replace('`', chr(39))}`." in asked.sentence


NO_REQUEST = (
    ("chekc node-1", "Did you mean `check`?"),
    ("reboot node-1", "I do not know the command `reboot`."),
    ("policy", "is gone"),
    ("pagerduty on", "is gone"),
    ("check", "Which node? Say `/zombie check NODE`."),
    ("check node-1x", "“node-1x” is not in the inventory. Did you mean node-1"),
    ("check `node-1`", "'`node-1`' is not a node name."),
    ("check node-1\nnode-2;reboot", "'node-2;reboot' is not a node name."),
    ("check $(reboot) | tee", "'$(reboot)' is not a node name."),
    ("check \u202egnp.1-edon", r"u202egnp.1-edon' is not a node name."),
    ("check " + "x" * 10_000, "That was 10006 characters long; I read at most 8000."),
    ("check " + " ".join(f"n{each}" for each in range(101)), "101 nodes at once are too many; the limit is 100."),
    ("check " + " ".join(f"n{each}" for each in range(100)), "92 more names are not in the inventory either."),
)


@pytest.mark.parametrize(("said", "answered"), [("", ""), ("help", ""), *NO_REQUEST])
def test_what_is_no_request_is_answered_with_what_may_be_meant(said: str, answered: str) -> None:
    known = Inventory({f"node-{number}": Node(f"node-{number}", "192.0.2.1") for number in (1, 2)}, "nodes.toml")
    asked = parse(said, known)
    assert isinstance(asked, HelpRequest | CheckRequest)
    words = asked.sentence if isinstance(asked, HelpRequest) else unknown_words(asked)
    assert answered in words
    assert "nodes.toml" not in words, "where the inventory is, is nobody's business in a channel"


def test_address_that_answers_a_command_is_in_no_repr() -> None:
    request = CommandRequest("C1", ANN, "D1", "check n1", answer_at=ADDRESS)
    kept = read(StoredCheck, json.loads(encode_check(request, ("n1",)))["check"])
    assert kept.answer_at == ADDRESS
    for value in (request, kept, MessageTarget("D1", "", ADDRESS)):
        assert ADDRESS not in repr(value)


FORMS = ("*x*", "_x_", "~x~", "`x`", "```x", ">x", "<!here>", "<@U1>", "<https://a.b|x>", ":tada:", "&lt;")
COMMANDS = (
    "{}", "{} n1", "check {}", "check n1 {}", "check role={}", "fleet {}", "fleet role=gpu --cause {}",
    "fleet role=gpu --sample {}", "fleet role=gpu {}=", "profile {}", "profile n1 {}", "capture {}", "capture n1 {}",
    "capture show {}", "capture stop {}", "status {}", "cancel {}", "undo {}", "brake {}", "brake off {}",
    "pagerduty {}",
)  # fmt: skip


@pytest.mark.parametrize("has_extras", [True, False])
@pytest.mark.parametrize("command", COMMANDS)
async def test_no_answer_makes_markup_of_what_was_typed(command: str, has_extras: bool) -> None:
    """Every answer that can be made from the words alone, sent as the handler sends it: to the response address."""
    private, handler = Private(), cast("Any", Commands.__new__(Commands))
    handler.channels = frozenset()
    handler.context = SimpleNamespace(ephemeral=private.replies, askers=AsyncMock(count=Mock()))
    handler.background = SimpleNamespace(begin=lambda work, _: begun.append(work))
    known = Inventory({"n1": Node("n1", "10.0.0.1")}, "nodes.toml")
    nothing: Any = None
    of_extras = (FleetCards(nothing, nothing, nothing, nothing), CaptureChat(nothing, nothing, known))
    handler.others = of_extras if has_extras else ()
    for form in FORMS:
        private.told.clear()
        begun: list[Any] = []
        asked = parse(command.format(form), known, handler.others)
        if isinstance(asked, HelpRequest) or (isinstance(asked, CheckRequest) and asked.unknown and not asked.nodes):
            request = CommandRequest("1", ANN, "D1", command.format(form), answer_at=ADDRESS)
            await handler._handle(request, asked)
            for work in begun:
                await work
            (message,) = private.told
            assert '"mrkdwn"' not in json.dumps(message.blocks), "nobody's words are markup"
            assert "<" not in message.text, "what a notification shows mentions nobody"
