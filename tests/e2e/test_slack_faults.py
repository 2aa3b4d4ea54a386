"""Whatever Slack answers, the verdict arrives once: as a card, as plain text, in private, or it can be looked up."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.slack.service import QUICK, Readings, being_read, card_saying, cards, eventually, reply_saying, serving
from tests.slack.workspace import SlackWorkspace

CHECK = "/zombie check node-1"


async def details_of(slack: SlackWorkspace) -> None:
    """Wait until the details stand in the thread of the one card."""
    card = await card_saying(slack, "node-1: CRITICAL")
    await slack.until(lambda: [one for one in slack.thread(card) if "node-1: details" in one.text], what="details")


@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update"])
async def test_passing_fault_is_tried_again_until_the_verdict_stands(
    slack: SlackWorkspace, readings: Readings, tmp_path: Path, method: str
) -> None:
    async with serving(slack, tmp_path, readings) as bot:
        readings.hold()
        if method == "chat.postMessage":
            slack.faults.status(method, 500, times=2)
        await slack.say("alice", "oncall-gpu", CHECK)
        await card_saying(slack, "node-1: reading")
        if method == "chat.update":
            slack.faults.status(method, 500, times=2)
        readings.let_go()
        await details_of(slack)
        assert len(cards(slack)) == 1
        assert bot.logged("slack_failed")
        await eventually(bot.outbox.waiting, 0)


async def test_429_is_waited_out_as_long_as_slack_says(
    slack: SlackWorkspace, readings: Readings, tmp_path: Path
) -> None:
    async with being_read(slack, tmp_path, readings):
        slack.faults.rate_limit("chat.update", retry_after_seconds=1)
        readings.let_go()
        await details_of(slack)
        refused, taken = slack.asked("chat.update")[-2:]
        assert (refused.status, taken.status) == (429, 200)
        assert taken.at - refused.at >= timedelta(seconds=1)


async def test_wording_that_slack_refuses_is_said_in_plain_text(
    slack: SlackWorkspace, readings: Readings, tmp_path: Path
) -> None:
    async with being_read(slack, tmp_path, readings):
        slack.faults.error("chat.update", "msg_too_long")
        slack.faults.error("chat.postMessage", "msg_too_long", times=2)  # folded, and open
        readings.let_go()
        card = await card_saying(slack, "CRITICAL")
        for word in ("leaked-memory-cgroups", "confirmed", "disable ecs.service, then reboot"):
            assert word in card.text[:140]
        assert "core 39 was held in the kernel" in card.text, "the evidence is in it too"
        assert not card.blocks
        (reply,) = await slack.until(lambda: slack.thread(card)[1:], what="the details")
        assert "permission denied" in reply.text
        assert not reply.blocks


async def test_details_that_slack_does_not_fold_stand_open(
    slack: SlackWorkspace, readings: Readings, tmp_path: Path
) -> None:
    async with being_read(slack, tmp_path, readings):
        slack.faults.error("chat.postMessage", "invalid_blocks")
        readings.let_go()
        card = await card_saying(slack, "CRITICAL")
        (reply,) = await slack.until(lambda: slack.thread(card)[1:], what="the details")
        assert "permission denied" in str(reply.blocks), "all of it is there"
        assert "container" not in {block["type"] for block in reply.blocks}


async def test_check_where_the_bot_is_no_member_is_answered_in_private_with_the_verdict_and_the_invite(
    slack: SlackWorkspace, readings: Readings, tmp_path: Path
) -> None:
    async with serving(slack, tmp_path, readings) as bot:
        await slack.say("alice", "general", CHECK)
        reply = await reply_saying(slack, "CRITICAL", channel="general")
        assert reply.only_for is not None
        assert "/invite" in reply.text
        assert "core 39 was held in the kernel" in json.dumps(reply.blocks)
        assert not [one for one in slack.messages("general", "bob") if "node-1" in one.text], "only alice sees it"
        assert len(slack.asked("chat.postMessage")) == 1, "what will not be is not tried again"
        await slack.until(lambda: bot.logged("slack_given_up"), what="the details to be given up")
        await eventually(bot.outbox.waiting, 0)
        await eventually(bot.incidents, {"node-1": "triaged"})


async def test_bot_that_is_removed_in_the_middle_answers_in_private(
    slack: SlackWorkspace, readings: Readings, tmp_path: Path
) -> None:
    async with being_read(slack, tmp_path, readings):
        slack.state.set_member("oncall-gpu", "zombie", member=False)
        readings.let_go()
        assert (await reply_saying(slack, "CRITICAL")).only_for is not None


async def test_private_answer_is_tried_again_until_slack_takes_it(
    slack: SlackWorkspace, readings: Readings, tmp_path: Path
) -> None:
    slack.faults.status("response_url", 500, times=2)
    async with serving(slack, tmp_path, readings):
        await slack.say("alice", "general", CHECK)
        await reply_saying(slack, "CRITICAL", channel="general")


async def test_verdict_that_nobody_can_be_told_is_on_record(
    slack: SlackWorkspace, readings: Readings, tmp_path: Path
) -> None:
    slack.faults.error("chat.postMessage", "channel_not_found", times=100)
    async with serving(slack, tmp_path, readings) as bot:
        root = (await slack.say("alice", "oncall-gpu", "@zombie check node-1")).message
        assert root is not None
        await slack.until(lambda: bot.logged("slack_given_up"), what="the bot to give up")
        await slack.until(lambda: bot.logged("checked"), what="the reading")
    async with serving(slack, tmp_path, readings) as bot:
        await eventually(bot.incidents, {"node-1": "triaged"})
        assert await bot.outbox.waiting() == 0, "it is not tried again after a restart"


async def test_slack_that_is_silent_is_asked_again(slack: SlackWorkspace, readings: Readings, tmp_path: Path) -> None:
    async with being_read(slack, tmp_path, readings, timing=replace(QUICK, call_limit=0.7)):
        slack.faults.silent("chat.update", timedelta(seconds=60))
        readings.let_go()
        await details_of(slack)
        assert len(cards(slack)) == 1


async def test_card_that_somebody_deleted_comes_back_once_with_the_verdict(
    slack: SlackWorkspace, readings: Readings, tmp_path: Path
) -> None:
    async with serving(slack, tmp_path, readings, timing=replace(QUICK, edit_every=0.05)) as bot:
        readings.hold()
        await slack.say("alice", "oncall-gpu", CHECK)
        slack.delete(await card_saying(slack, "reading"))
        await slack.until(lambda: bot.logged("slack_gone"), what="the progress to meet nothing")
        assert cards(slack) == [], "progress does not bring it back"
        readings.let_go()
        await details_of(slack)
        assert len(cards(slack)) == 1


async def test_details_of_a_card_that_was_deleted_are_given_up_and_stay_on_record(
    slack: SlackWorkspace, readings: Readings, tmp_path: Path
) -> None:
    async with being_read(slack, tmp_path, readings) as bot:
        slack.faults.error("chat.postMessage", "thread_not_found")
        readings.let_go()
        await slack.until(lambda: bot.logged("slack_given_up"), what="the details to be given up")
        await eventually(bot.outbox.waiting, 0)
        await eventually(bot.incidents, {"node-1": "triaged"})


async def test_mention_in_a_thread_that_is_gone_is_answered_in_the_channel(
    slack: SlackWorkspace, readings: Readings, tmp_path: Path
) -> None:
    async with serving(slack, tmp_path, readings):
        root = (await slack.say("alice", "oncall-gpu", "hm")).message
        assert root is not None
        slack.faults.error("chat.postMessage", "thread_not_found")
        await slack.say("alice", "oncall-gpu", "@zombie check node-1", thread_ts=root.ts)
        await card_saying(slack, "CRITICAL")
