"""A card that waits for approval and its picture, through a bot that is killed before the picture is there."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from bot.demo.fleet_leaks import AUTO_RESTART
from bot.demo.slack.message import Message
from tests.e2e.test_slack_pictures import BEGIN, COMPLETE, has_strip, picture
from tests.e2e.test_slack_story import LONG, POLICY, card, decides, serving
from tests.faults import UPLOAD
from tests.nodes.acting_fleet import site
from tests.slack.workspace import SlackWorkspace, workspace

pytestmark = pytest.mark.slow


async def offer_with_picture(slack: SlackWorkspace) -> Message:
    offer = await card(slack, "node-1", "leaked-memory-cgroups", button="approve")
    return await slack.until(
        lambda: next((m for m in slack.messages("oncall-gpu") if m.ts == offer.ts and picture(m)), None),
        LONG,
        what="its picture",
    )


async def test_killed_bot_owes_the_picture_and_the_offer_keeps_its_buttons(tmp_path: Path) -> None:
    policy = POLICY.replace("samples = 1", "samples = 5")
    async with workspace() as slack, site(tmp_path, {"node-1": (AUTO_RESTART, None)}, policy) as here:
        slack.faults.silent(UPLOAD, timedelta(seconds=60))
        bot = await serving(slack, here)
        await slack.say("alice", "oncall-gpu", "/zombie check node-1")
        offer = await card(slack, "node-1", "leaked-memory-cgroups", button="approve")
        assert has_strip(offer)
        assert picture(offer) is None
        bot.process.kill()
        await bot.end()

        bot = await serving(slack, here)
        shown = await offer_with_picture(slack)
        assert '"approve"' in str(shown.blocks).replace("'", '"'), "the picture took nothing away"
        assert len(slack.asked(COMPLETE)) == 1
        await decides(slack, "bob", shown, "decline")
        await card(slack, "Declined", "node-1")
        assert await bot.end() == 0
        assert [len(slack.asked(method)) for method in (BEGIN, COMPLETE)] == [2, 1], "the first was never sent"


async def test_restart_shows_the_picture_that_is_there(tmp_path: Path) -> None:
    policy = POLICY.replace("samples = 1", "samples = 5")
    async with workspace() as slack, site(tmp_path, {"node-1": (AUTO_RESTART, None)}, policy) as here:
        bot = await serving(slack, here)
        await slack.say("alice", "oncall-gpu", "/zombie check node-1")
        before = picture(await offer_with_picture(slack))
        bot.process.kill()
        await bot.end()

        bot = await serving(slack, here)
        offer = await card(slack, "node-1", "leaked-memory-cgroups", button="approve")
        # The dialog's answer makes the card anew, while the node is looked at again: from the record, by this run.
        edits = len(slack.asked("chat.update"))
        await decides(slack, "bob", offer)
        made_anew = await slack.until(
            lambda: next((m for m in slack.messages("oncall-gpu") if m.ts == offer.ts and "checking" in str(m)), None),
            LONG,
            what="the card made anew",
        )
        assert len(slack.asked("chat.update")) > edits
        assert picture(made_anew) == before
        assert len(slack.asked(COMPLETE)) == 1, "nothing was uploaded again"
        await bot.end()
