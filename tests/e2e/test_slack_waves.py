"""A wave in Slack, over simulated nodes behind real SSH: from *Plan* on a fleet's card to its closing words."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest

from bot.demo.fleet_leaks import AUTO_RESTART
from bot.demo.slack.message import Message
from bot.demo.slack.people import BOT_USER
from tests.e2e.test_slack_fleet import LEAK, said
from tests.e2e.test_slack_story import POLICY, decides, serving
from tests.nodes.acting_fleet import Site, site
from tests.slack.workspace import SlackWorkspace, workspace
from tests.waiting import until

pytestmark = pytest.mark.slow
LEAKING = {f"gpu-1a-{at}": (AUTO_RESTART, None) for at in range(3)}
LONG = timedelta(seconds=150)
DONE = ["disable ecs.service", "reboot"]


async def wave_card(slack: SlackWorkspace, *words: str) -> Message:
    """Wait until the one card of the wave says these words."""

    def found() -> Message | None:
        ours = [message for message in slack.messages("oncall-gpu") if message.user == BOT_USER]
        cards = [message for message in ours if "Wave: " in message.text]
        assert len(cards) <= 1, "one card a wave"
        return next((card for card in cards if all(word in json.dumps(card.blocks) for word in words)), None)

    return await slack.until(found, LONG, what=f"a wave that says {words}")


async def planned(slack: SlackWorkspace) -> Message:
    """Have alice find the three nodes, and press *Plan*."""
    await slack.say("alice", "oncall-gpu", f"/zombie fleet role=gpu --cause {LEAK}")
    told = await said(slack, f"3 of 3 nodes have {LEAK}", block="data_table")
    await slack.click("alice", told, "fleet-plan")
    return await wave_card(slack, '"approve"', "Stages: 1 \\u2192 ")


async def may_not(slack: SlackWorkspace, user: str, card: Message, action: str) -> None:
    """Click as who asked for the wave: the dialog says that it would be refused, and has nothing to send."""
    await slack.click(user, card, action)
    view = await slack.until(lambda: slack.modal(user), what="the dialog")
    assert ("submit" in view.fields, "SelfApproval" in json.dumps(view.blocks)) == (False, True)
    await slack.close(user, view)


def acted(here: Site) -> list[str]:
    return [name for name in LEAKING if here.machine(name).done]


async def first_step_proved(here: Site) -> None:
    """Wait until the program that took over has read the proof of the canary's first step."""
    (wave,) = json.loads((await here.zombie("wave", "--json")).out)["waves"]
    incident = next(node["incident"] for node in wave["nodes"] if node["turn"] == "under way")
    for _ in range(60):
        if "StepVerified" in await here.kinds(incident):
            return
        await asyncio.sleep(0.5)
    raise AssertionError("the first step was not taken up again")


@pytest.mark.long
async def test_wave_is_stopped_in_the_middle_and_its_card_outlives_the_program(tmp_path: Path) -> None:
    async with workspace() as slack, site(tmp_path, LEAKING, POLICY) as here:
        bot = await serving(slack, here)
        card = await planned(slack)
        await decides(slack, "bob", card)
        running = await wave_card(slack, '"wave-stop"', "under way: ")
        await asyncio.to_thread(until, lambda: len(acted(here)) == 1, within=LONG, what="the canary's first step")
        await decides(slack, "bob", running, "wave-stop")
        stopped = await wave_card(slack, "Stopped: ", "bob says so", '"wave-resume"')
        bot.process.kill()
        await bot.process.wait()
        again = await serving(slack, here)
        assert stopped.ts == card.ts
        await may_not(slack, "alice", stopped, "wave-resume")
        await first_step_proved(here)
        done = [here.machine(name).done for name in LEAKING]
        assert sorted(done) == [[], [], DONE[:1]], "what had begun was finished, and no second step began"

        await decides(slack, "bob", stopped, "wave-resume")
        await wave_card(slack, "At the end 3 of 3 were cured.")
        assert await again.end() == 0
        assert again.logged("wave_card_carried_on") is not None
