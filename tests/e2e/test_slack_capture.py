"""A rolling capture in Slack: one card, what was caught with its pictures, across a restart."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bot.demo.fleet_leaks import AUTO_RESTART
from bot.demo.machine.state import Resets, State
from bot.demo.slack.message import File, Message
from tests.e2e.test_slack_story import LONG, POLICY, card
from tests.nodes.acting_fleet import site
from tests.serving import Served
from tests.slack.workspace import SlackWorkspace, workspace

pytestmark = pytest.mark.slow
HOT = "mem_cgroup_nr_lru_pages"


def soon_reset(state: State) -> State:
    """That node with a reset every four seconds from now on."""
    card = replace(state.nics[0], resets=Resets(queue=5, first=state.uptime + 8, every=4.0))
    return replace(state, nics=(card, *state.nics[1:]))


def caught(slack: SlackWorkspace, message: Message) -> list[Message]:
    return [said for said in slack.thread(message) if said.text.startswith("reset at ")]


def pictures(slack: SlackWorkspace, message: Message) -> list[File]:
    return [file for said in slack.thread(message) for file in said.files]


def both(slack: SlackWorkspace, message: Message) -> list[File] | None:
    return found if len(found := pictures(slack, message)) > 1 else None


def took_over(bots: tuple[Served, ...]) -> int:
    return sum(bool(bot.logged("capture_card_carried_on")) for bot in bots)


def told(slack: SlackWorkspace, person: str, words: str) -> Message | None:
    return next((said for said in slack.messages("oncall-gpu", person) if said.only_for and words in said.text), None)


@pytest.mark.long
async def test_what_is_caught_is_told_once_with_pictures(tmp_path: Path) -> None:
    async with workspace() as slack, site(tmp_path, {"node-1": (soon_reset(AUTO_RESTART), None)}, POLICY) as here:
        bot = await here.serve(slack.environment)
        await slack.say("alice", "oncall-gpu", "/zombie check node-1")
        await card(slack, "node-1", "leaked-memory-cgroups")
        await slack.say("alice", "oncall-gpu", "/zombie capture node-1 1h")
        running = await card(slack, "records on node-1 until", button="capture-stop")

        bot.process.kill()
        await bot.end()
        bot, beside = await here.serve(slack.environment), await here.serve(slack.environment)
        both_bots = (bot, beside)
        await slack.until(lambda: took_over(both_bots), LONG, what="the card carried on by either")
        await slack.click("bob", running, "capture-show")
        shown = await slack.until(lambda: told(slack, "bob", "of one core"), LONG, what="its figures, in private")
        assert "MB" in shown.text
        await slack.say("bob", "oncall-gpu", "/zombie captures")
        await slack.until(lambda: told(slack, "bob", "running until"), LONG, what="the list")

        def has_reset() -> bool:
            machine = here.machine("node-1")
            resets = machine.state.nics[0].resets
            return resets is not None and len(resets.times(machine.uptime() - 4)) > 1

        await slack.until(has_reset, LONG, what="a reset while it is recorded")
        await slack.click("alice", running, "capture-stop")
        over = await card(slack, "has ended on node-1", "caught")
        assert over.ts == running.ts, "one card"
        text = json.dumps(over.blocks)
        assert "of one core" in text
        assert "capture-stop" not in text
        found = await slack.until(lambda: caught(slack, over), LONG, what="what was caught, in its thread")
        assert "core 39 ran kubelet" in found[0].text
        assert HOT in found[0].text
        assert "It belongs to " in json.dumps(found[0].blocks)
        files = await slack.until(lambda: both(slack, over), LONG, what="both pictures")
        assert {file.name for file in files} == {"flame-core-39.png", "seconds-core-39.png"}
        assert all(file.content.startswith(b"\x89PNG") for file in files)
        assert any(HOT in file.alt_text for file in files)
        assert len({said.text for said in caught(slack, over)}) == len(caught(slack, over)), "each once"
        incident = re.search(r"incident ([0-9a-f]{12})", json.dumps(found[0].blocks))
        assert incident is not None
        document = (await here.zombie("report", incident[1], "--markdown")).out
        told_there = [row for row in document.splitlines() if "| nic-reset |" in row]
        assert any("core 39 ran kubelet" in row and "| ± 0.0" in row for row in told_there), document
        assert "Picture: Flame graph of core 39 of node-1" in document
        assert "Picture: Heat map of " in document
        assert took_over(both_bots) == 1, "by one of them"
        assert await bot.end() == await beside.end() == 0
