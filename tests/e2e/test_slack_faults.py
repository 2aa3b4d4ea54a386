"""Whatever Slack answers, the verdict arrives once: as a card, as plain text, in private, or it can be looked up."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.e2e.conftest import SlackHere
from tests.slack.service import QUICK, card_saying, cards, eventually, reply_saying
from tests.slack.workspace import SlackWorkspace

CHECK = "/zombie check node-1"


async def details_of(slack: SlackWorkspace) -> None:
    """Wait until the details stand in the thread of the one card."""
    card = await card_saying(slack, "node-1: CRITICAL")
    await slack.until(lambda: [one for one in slack.thread(card) if "node-1: details" in one.text], what="details")


@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update"])
async def test_passing_fault_is_tried_again_until_the_verdict_stands(here: SlackHere, method: str) -> None:
    async with here.serving() as bot:
        here.readings.hold()
        if method == "chat.postMessage":
            here.slack.faults.status(method, 500, times=2)
        await here.slack.say("alice", "oncall-gpu", CHECK)
        await card_saying(here.slack, "node-1: reading")
        if method == "chat.update":
            here.slack.faults.status(method, 500, times=2)
        here.readings.let_go()
        await details_of(here.slack)
        assert len(cards(here.slack)) == 1
        assert bot.logged("slack_failed")
        await eventually(bot.outbox.waiting, 0)


async def test_429_is_waited_out_as_long_as_slack_says(here: SlackHere) -> None:
    async with here.being_read():
        here.slack.faults.rate_limit("chat.update", retry_after_seconds=1)
        here.readings.let_go()
        await details_of(here.slack)
        refused, taken = here.slack.asked("chat.update")[-2:]
        assert (refused.status, taken.status) == (429, 200)
        assert taken.at - refused.at >= timedelta(seconds=1)


async def test_wording_that_slack_refuses_is_said_in_plain_text(here: SlackHere) -> None:
    async with here.being_read():
        here.slack.faults.error("chat.update", "msg_too_long")
        here.slack.faults.error("chat.postMessage", "msg_too_long", times=2)  # folded, and open
        here.readings.let_go()
        card = await card_saying(here.slack, "CRITICAL")
        for word in ("leaked-memory-cgroups", "confirmed", "disable ecs.service, then reboot"):
            assert word in card.text[:140]
        assert "core 39 was held in the kernel" in card.text, "the evidence is in it too"
        assert not card.blocks
        (reply,) = await here.slack.until(lambda: here.slack.thread(card)[1:], what="the details")
        assert "permission denied" in reply.text
        assert not reply.blocks


async def test_details_that_slack_does_not_fold_stand_open(here: SlackHere) -> None:
    async with here.being_read():
        here.slack.faults.error("chat.postMessage", "invalid_blocks")
        here.readings.let_go()
        card = await card_saying(here.slack, "CRITICAL")
        (reply,) = await here.slack.until(lambda: here.slack.thread(card)[1:], what="the details")
        assert "permission denied" in str(reply.blocks), "all of it is there"
        assert "container" not in {block["type"] for block in reply.blocks}


async def test_check_where_the_bot_is_no_member_is_answered_in_private_with_the_verdict_and_the_invite(
    here: SlackHere,
) -> None:
    async with here.serving() as bot:
        await here.slack.say("alice", "general", CHECK)
        reply = await reply_saying(here.slack, "CRITICAL", channel="general")
        assert reply.only_for is not None
        assert "/invite" in reply.text
        assert "core 39 was held in the kernel" in json.dumps(reply.blocks)
        assert not [one for one in here.slack.messages("general", "bob") if "node-1" in one.text], "only alice sees it"
        assert len(here.slack.asked("chat.postMessage")) == 1, "what will not be is not tried again"
        await here.slack.until(lambda: bot.logged("slack_given_up"), what="the details to be given up")
        await eventually(bot.outbox.waiting, 0)
        await eventually(bot.incidents, {"node-1": "triaged"})


async def test_bot_that_is_removed_in_the_middle_answers_in_private(here: SlackHere) -> None:
    async with here.being_read():
        here.slack.state.set_member("oncall-gpu", "zombie", member=False)
        here.readings.let_go()
        assert (await reply_saying(here.slack, "CRITICAL")).only_for is not None


async def test_private_answer_is_tried_again_until_slack_takes_it(here: SlackHere) -> None:
    here.slack.faults.status("response_url", 500, times=2)
    async with here.serving():
        await here.slack.say("alice", "general", CHECK)
        await reply_saying(here.slack, "CRITICAL", channel="general")


async def test_verdict_that_nobody_can_be_told_is_on_record(here: SlackHere) -> None:
    here.slack.faults.error("chat.postMessage", "channel_not_found", times=100)
    async with here.serving() as bot:
        root = (await here.slack.say("alice", "oncall-gpu", "@zombie check node-1")).message
        assert root is not None
        await here.slack.until(lambda: bot.logged("slack_given_up"), what="the bot to give up")
        await here.slack.until(lambda: bot.logged("checked"), what="the reading")
    async with here.serving() as bot:
        await eventually(bot.incidents, {"node-1": "triaged"})
        assert await bot.outbox.waiting() == 0, "it is not tried again after a restart"


async def test_slack_that_is_silent_is_asked_again(here: SlackHere) -> None:
    async with here.being_read(timing=replace(QUICK, call_limit=0.7)):
        here.slack.faults.silent("chat.update", timedelta(seconds=60))
        here.readings.let_go()
        await details_of(here.slack)
        assert len(cards(here.slack)) == 1


async def test_card_that_somebody_deleted_comes_back_once_with_the_verdict(here: SlackHere) -> None:
    async with here.serving(timing=replace(QUICK, edit_every=0.05)) as bot:
        here.readings.hold()
        await here.slack.say("alice", "oncall-gpu", CHECK)
        here.slack.delete(await card_saying(here.slack, "reading"))
        await here.slack.until(lambda: bot.logged("slack_gone"), what="the progress to meet nothing")
        assert cards(here.slack) == [], "progress does not bring it back"
        here.readings.let_go()
        await details_of(here.slack)
        assert len(cards(here.slack)) == 1


async def test_details_of_a_card_that_was_deleted_are_given_up_and_stay_on_record(here: SlackHere) -> None:
    async with here.being_read() as bot:
        here.slack.faults.error("chat.postMessage", "thread_not_found")
        here.readings.let_go()
        await here.slack.until(lambda: bot.logged("slack_given_up"), what="the details to be given up")
        await eventually(bot.outbox.waiting, 0)
        await eventually(bot.incidents, {"node-1": "triaged"})


async def test_mention_in_a_thread_that_is_gone_is_answered_in_the_channel(here: SlackHere) -> None:
    async with here.serving():
        root = (await here.slack.say("alice", "oncall-gpu", "hm")).message
        assert root is not None
        here.slack.faults.error("chat.postMessage", "thread_not_found")
        await here.slack.say("alice", "oncall-gpu", "@zombie check node-1", thread_ts=root.ts)
        await card_saying(here.slack, "CRITICAL")
