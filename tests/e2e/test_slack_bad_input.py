"""What people type and what nodes print: each has its answer, and nobody is ever mentioned by it."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.demo.slack.people import ALICE
from bot.demo.slack.typed import mentions
from bot.domain.verdict import Verdict
from tests.slack.service import Readings, card_saying, cards, eventually, reply_saying, serving
from tests.slack.workspace import SlackWorkspace, workspace
from tests.unit.surfaces.verdicts import FOUNDING, HOSTILE


@pytest.fixture
async def slack() -> AsyncIterator[SlackWorkspace]:
    async with workspace() as slack:
        yield slack


@pytest.fixture
async def readings() -> Readings:
    return Readings()


@pytest.mark.parametrize(
    ("said", "answered"),
    [
        ("", "What I can do"),
        ("help", "What I can do"),
        ("chekc node-1", "Did you mean `check`?"),
        ("reboot node-1", "I do not know the command `reboot`."),
        ("check", "Which node? Say `/zombie check NODE`."),
        ("check node-1x", "“node-1x” is not in the inventory. Did you mean node-1"),
        ("check <!channel>", "'&lt;!channel&gt;' is not a node name."),
        ("check `node-1`", "'`node-1`' is not a node name."),
        ("check node-1\nnode-2;reboot", "'node-2;reboot' is not a node name."),
        ("check $(reboot) | tee", "'$(reboot)' is not a node name."),
        ("check \u202egnp.1-edon", r"u202egnp.1-edon' is not a node name."),
        ("check " + "x" * 10_000, "That was 10006 characters long; I read at most 8000."),
        (
            "check " + " ".join(f"n{number}" for number in range(101)),
            "101 nodes at once are too many; the limit is 100.",
        ),
        ("check " + " ".join(f"n{number}" for number in range(100)), "92 more names are not in the inventory either."),
        ("<!here> <@U0BOB00001> *x*", "I do not know the command `&lt;!here&gt;`."),
    ],
)
@pytest.mark.parametrize("way", ["/zombie ", "@zombie "])
async def test_words_are_answered_in_private_and_mention_nobody(
    slack: SlackWorkspace, readings: Readings, tmp_path: Path, way: str, said: str, answered: str
) -> None:
    async with serving(slack, tmp_path, readings):
        await slack.say("alice", "oncall-gpu", way + said)
        reply = await reply_saying(slack, answered)
        assert reply.only_for == ALICE.id
        assert mentions(reply) == []
        assert "/nodes.toml" not in reply.text, "where the inventory is, is nobody's business in a channel"


async def test_known_nodes_are_checked_beside_unknown_ones(
    slack: SlackWorkspace, readings: Readings, tmp_path: Path
) -> None:
    async with serving(slack, tmp_path, readings):
        slack.faults.status("response_url", 500, times=1)
        await slack.say("alice", "oncall-gpu", "/zombie check node-1 nope-9")
        await card_saying(slack, "node-1: CRITICAL")
        await reply_saying(slack, "“nope-9” is not in the inventory.")


async def test_channel_that_is_not_allowed_is_told_where_to_ask(
    slack: SlackWorkspace, readings: Readings, tmp_path: Path
) -> None:
    async with serving(slack, tmp_path, readings, toml='[slack]\nchannels = ["C0ALERTS01"]\n') as bot:
        for way in ("/zombie", "@zombie"):
            await slack.say("alice", "oncall-gpu", f"{way} check node-1")
        await slack.until(lambda: len([m for m in slack.messages("oncall-gpu", "alice") if m.only_for]) == 2)
        reply = await reply_saying(slack, "may not be asked for in this channel. Ask in <#C0ALERTS01>")
        assert reply.only_for == ALICE.id
        assert (await bot.incidents(), readings.asked) == ({}, {})
        await slack.say("alice", "alerts", "/zombie check node-1")
        await card_saying(slack, "CRITICAL", channel="alerts")


async def test_direct_message_may_ask_for_checks_wherever_channels_may(
    slack: SlackWorkspace, readings: Readings, tmp_path: Path
) -> None:
    async with serving(slack, tmp_path, readings, toml='[slack]\nchannels = ["C0ALERTS01"]\n'):
        await slack.say("alice", "@zombie", "/zombie check node-1")
        direct = slack.state.direct("alice").id
        await card_saying(slack, "CRITICAL", channel=direct)
        said = await slack.say("alice", "@zombie", "good morning")
        assert said.delivered is not None
        assert said.delivered.is_acknowledged, "what is nothing to us is not brought again and again"


async def test_two_people_who_check_one_node_share_its_reading(
    slack: SlackWorkspace, readings: Readings, tmp_path: Path
) -> None:
    async with serving(slack, tmp_path, readings) as bot:
        readings.hold()
        await slack.say("alice", "oncall-gpu", "/zombie check node-1")
        await slack.say("bob", "alerts", "/zombie check node-1")
        await card_saying(slack, "1 of 3", channel="alerts")
        readings.let_go()
        for channel in ("oncall-gpu", "alerts"):
            await card_saying(slack, "CRITICAL", channel=channel)
        assert readings.asked == {"node-1": 1}
        await eventually(lambda: _verdicts(bot), 2)


async def _verdicts(bot: object) -> int:
    return len([one for one in await bot.ledger.incidents() if one.state == "triaged"])  # type: ignore[attr-defined]


async def test_nodes_beyond_a_persons_limit_wait_and_say_so_while_others_go_first(
    slack: SlackWorkspace, readings: Readings, tmp_path: Path
) -> None:
    async with serving(slack, tmp_path, readings, toml="[slack]\neach_at_once = 2\n[check]\nparallel = 3\n"):
        readings.hold()
        await slack.say("alice", "oncall-gpu", "/zombie check node-1 node-2 node-3 node-4")
        words = "waiting: 2 of your nodes are being read, which is the limit for a person"
        await slack.until(lambda: cards(slack) and words in str(cards(slack)[0].blocks), what=words)
        assert len(readings.now) == 2
        await slack.say("bob", "oncall-gpu", "/zombie check node-5")
        await slack.until(lambda: "node-5" in readings.now, what="bob's first node")
        await slack.say("bob", "oncall-gpu", "/zombie check node-6")
        await card_saying(slack, "node-6: waiting: 3 nodes are being read, which is the limit")
        readings.let_go()
        await card_saying(slack, "4 nodes: 4 critical")
        await card_saying(slack, "node-6: CRITICAL")
    assert (readings.most, readings.asked.total()) == (3, 6)


async def test_sixty_nodes_are_one_card_with_one_table_and_their_details_in_the_thread(
    slack: SlackWorkspace, readings: Readings, tmp_path: Path
) -> None:
    names = [f"node-{number}" for number in range(1, 61)]
    async with serving(slack, tmp_path, readings) as bot:
        readings.hold()
        await slack.say("alice", "oncall-gpu", f"/zombie check {' '.join(names)}")
        await slack.until(lambda: len(readings.now) == 10, what="as many readings as one person may have")
        readings.let_go()
        card = await card_saying(slack, "60 nodes: 60 critical")
        table = json.dumps(card.blocks)
        shown = sum(f'"{name}"' in table for name in names)
        assert shown >= 40
        assert shown == 60 or f"And {60 - shown} more: /zombie status" in table, "what has no room is counted"
        assert len(cards(slack)) == 1
        await eventually(bot.incidents, dict.fromkeys(names, "triaged"))
        await slack.until(lambda: len(slack.thread(card)) == 61, what="every node's details")
        assert readings.most == 10


def hostile(name: str) -> Verdict:
    """A verdict all of whose words the node made up."""
    evidence = tuple(replace(one, says=HOSTILE, source=(HOSTILE,) * 3) for one in FOUNDING.evidence)
    return replace(FOUNDING, node=name, summary=HOSTILE, evidence=evidence, suspects=(HOSTILE,), lasting_fix=HOSTILE)


@pytest.mark.parametrize("refused", [False, True], ids=["blocks", "plain text"])
@pytest.mark.parametrize("channel", ["oncall-gpu", "general"], ids=["card", "in private"])
async def test_words_of_a_node_mention_nobody_and_link_nowhere(
    slack: SlackWorkspace, tmp_path: Path, channel: str, refused: bool
) -> None:
    async with serving(slack, tmp_path, Readings(hostile)):
        if refused:
            slack.faults.error("chat.postMessage", "invalid_blocks", times=2)
            slack.faults.error("chat.update", "invalid_blocks", times=3)
            slack.faults.status("response_url", 400, times=1)
        await slack.say("alice", channel, "/zombie check node-1")
        said = await reply_saying(slack, "CRITICAL", channel=channel)
        if channel == "oncall-gpu":
            await slack.until(lambda: slack.thread(said)[1:], what="the details")
        for message in slack.messages(channel, "alice"):
            if message.user == ALICE.id:
                continue
            assert set(mentions(message)) <= {ALICE.id}, "only whoever asked"
            assert not re.search(r"<(?!$)", message.text), "neither a mention nor a link"
            assert '"mrkdwn"' not in json.dumps(message.blocks)
            assert "\u202e" not in json.dumps(message.blocks, ensure_ascii=False) + message.text
            assert (
                "<!channel>" in json.dumps(message.blocks)
                or "&lt;!channel&gt;" in message.text
                or "1 of" in message.text
            )
