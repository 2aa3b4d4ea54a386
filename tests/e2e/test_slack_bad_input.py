"""What people type and what nodes print: each has its answer, and nobody is ever mentioned by it."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from bot.demo.slack.people import ALICE
from bot.domain.verdict import Verdict
from tests.e2e.conftest import SlackHere
from tests.slack.notified import mentions
from tests.slack.service import Readings, card_saying, reply_saying
from tests.unit.surfaces.verdicts import FOUNDING, HOSTILE


async def test_known_nodes_are_checked_beside_unknown_ones(here: SlackHere) -> None:
    async with here.serving():
        here.slack.faults.status("response_url", 500, times=1)
        await here.slack.say("alice", "oncall-gpu", "/zombie check node-1 nope-9")
        await card_saying(here.slack, "node-1: CRITICAL")
        await reply_saying(here.slack, "“nope-9” is not in the inventory.")


async def test_channel_that_is_not_allowed_is_told_where_to_ask(here: SlackHere) -> None:
    async with here.serving(toml='[slack]\nchannels = ["C0ALERTS01"]\n') as bot:
        for way in ("/zombie", "@zombie"):
            await here.slack.say("alice", "oncall-gpu", f"{way} check node-1")
        await here.slack.until(lambda: len([m for m in here.slack.messages("oncall-gpu", "alice") if m.only_for]) == 2)
        reply = await reply_saying(here.slack, "may not be asked for in this channel. Ask in <#C0ALERTS01>")
        assert reply.only_for == ALICE.id
        assert (await bot.incidents(), here.readings.asked) == ({}, {})
        await here.slack.say("alice", "alerts", "/zombie check node-1")
        await card_saying(here.slack, "CRITICAL", channel="alerts")


async def test_direct_message_may_ask_for_checks_wherever_channels_may(here: SlackHere) -> None:
    async with here.serving(toml='[slack]\nchannels = ["C0ALERTS01"]\n'):
        await here.slack.say("alice", "@zombie", "/zombie check node-1")
        direct = here.slack.state.direct("alice").id
        await card_saying(here.slack, "CRITICAL", channel=direct)
        said = await here.slack.say("alice", "@zombie", "good morning")
        assert said.delivered is not None
        assert said.delivered.is_acknowledged, "what is nothing to us is not brought again and again"


def hostile(name: str) -> Verdict:
    """A verdict all of whose words the node made up."""
    evidence = tuple(replace(one, says=HOSTILE, source=(HOSTILE,) * 3) for one in FOUNDING.evidence)
    return replace(FOUNDING, node=name, summary=HOSTILE, evidence=evidence, suspects=(HOSTILE,), lasting_fix=HOSTILE)


@pytest.mark.parametrize(
    ("channel", "refused"),
    [("oncall-gpu", False), ("oncall-gpu", True), ("general", True)],
    ids=["blocks", "plain text", "in private"],
)
async def test_words_of_a_node_mention_nobody_and_link_nowhere(here: SlackHere, channel: str, refused: bool) -> None:
    async with here.serving(Readings(hostile)):
        if refused:
            here.slack.faults.error("chat.postMessage", "invalid_blocks", times=2)
            here.slack.faults.error("chat.update", "invalid_blocks", times=3)
            here.slack.faults.status("response_url", 400, times=1)
        await here.slack.say("alice", channel, "/zombie check node-1")
        said = await reply_saying(here.slack, "CRITICAL", channel=channel)
        if channel == "oncall-gpu":
            await here.slack.until(lambda: here.slack.thread(said)[1:], what="the details")
        for message in here.slack.messages(channel, "alice"):
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
