"""The founding case in Slack, over simulated nodes behind real SSH: from `/zombie check` to the cure, as two people."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from bot.demo.fleet_leaks import AUTO_RESTART
from bot.demo.slack.message import Message
from bot.demo.slack.people import BOT_USER
from tests.e2e.test_slack_check import Bot
from tests.nodes.acting_fleet import Site, site
from tests.slack.workspace import SlackWorkspace, workspace

pytestmark = pytest.mark.slow
POLICY = """
[check]
samples = 1
[policy]
acting = true
approver_groups = ["S0SRE00001"]
terminal_approvers = ["ann"]
[act]
units = ["ecs.service"]
max_nodes_at_once = 1
validation = "1s"
reboot_deadline = "10s"
"""
LONG = timedelta(seconds=90)


async def serving(slack: SlackWorkspace, here: Site) -> Bot:
    here.environ = {
        **here.environ,
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "SLACK_API_URL": slack.api_url,
        "ZOMBIE_LISTEN": "127.0.0.1:0",
    }
    bot = Bot(await here.start("serve"))
    await asyncio.wait_for(ready(bot), 30)
    return bot


async def ready(bot: Bot) -> None:
    while bot.logged("ready") is None:
        assert bot.process.returncode is None
        await asyncio.sleep(0.02)


async def card(slack: SlackWorkspace, *words: str, button: str = "") -> Message:
    def found() -> Message | None:
        ours = [
            one for one in slack.messages("oncall-gpu") if one.user == BOT_USER and all(w in one.text for w in words)
        ]
        return next((one for one in ours if not button or f'"{button}"' in json.dumps(one.blocks)), None)

    return await slack.until(found, LONG, what=f"a card: {words}")


async def decides(slack: SlackWorkspace, user: str, message: Message, action: str = "approve") -> None:
    await slack.click(user, message, action)
    view = await slack.until(lambda: slack.modal(user), what="the dialog")
    await slack.submit(user, view, {"reason": f"{user} says so"})


async def test_founding_case_is_played_to_its_end_by_two_people_and_undone(tmp_path: Path) -> None:
    async with workspace() as slack, site(tmp_path, {"node-1": (AUTO_RESTART, None)}, POLICY) as here:
        bot = await serving(slack, here)
        await slack.say("alice", "oncall-gpu", "/zombie check node-1")
        offer = await card(slack, "node-1", "leaked-memory-cgroups", button="approve")
        await slack.click("alice", offer, "approve")
        own = await slack.until(lambda: slack.modal("alice"), what="the dialog")
        assert ("submit" in own.fields, "SelfApproval" in str(own.blocks)) == (False, True)
        await slack.close("alice", own)
        await decides(slack, "bob", await card(slack, "node-1", button="approve"))
        done = await card(slack, "Resolved: node-1", "leaked-memory-cgroups")
        assert (done.channel, done.ts) == (offer.channel, offer.ts)
        assert re.search(r"dying memory cgroups: 68,4\d\d → \d\d;", done.text), done.text
        assert here.machine("node-1").reboots == 1

        await decides(slack, "bob", done, "undo")
        undo = await card(slack, "undo of incident", button="approve")
        await decides(slack, "alice", undo)
        await card(slack, "Resolved: node-1: undo of incident")
        assert here.machine("node-1").reboots == 1
        assert await bot.end() == 0
        told = {line["event"] for line in bot.lines}
        assert not told & {"show_failed", "advance_failed", "wish_failed", "task_failed", "slack_worker_failed"}


async def test_decision_in_a_terminal_shows_on_the_card(tmp_path: Path) -> None:
    async with workspace() as slack, site(tmp_path, {"node-1": (AUTO_RESTART, None)}, POLICY) as here:
        bot = await serving(slack, here)
        await slack.say("alice", "oncall-gpu", "/zombie check node-1")
        await card(slack, "node-1", button="approve")
        listed = json.loads((await here.zombie("incidents", "--json")).out)
        ended = await here.remediate(listed[0]["id"], "ann", "core 39 is gone")
        assert ended.status == 0, ended
        done = await card(slack, "Resolved: node-1")
        assert "Approved by terminal:ann" in done.text
        assert await bot.end() == 0
