"""A fleet in Slack, over simulated nodes behind real SSH: who else has it, what differs, and a wave that cures them."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.demo.faults import Fault
from bot.demo.fleet_leaks import AUTO_RESTART
from bot.demo.fleet_other_faults import BUSY
from bot.demo.slack.message import Message
from bot.demo.slack.people import BOT_USER
from tests.e2e.test_slack_story import POLICY as ACTING
from tests.e2e.test_slack_story import decides
from tests.nodes.acting_fleet import Site, site
from tests.slack.workspace import SlackWorkspace, workspace
from tests.waiting import until

pytestmark = pytest.mark.slow
POLICY = "[check]\nsamples = 1\n"
LEAK = "leaked-memory-cgroups"
SICK = {f"gpu-1a-{at}": (AUTO_RESTART, None) for at in range(3)}
WELL = {f"gpu-1b-{at}": (BUSY, None) for at in range(5)}
FLEET = {**SICK, **WELL}
LONG = timedelta(seconds=150)
DONE = ["disable ecs.service", "reboot"]


def ours(slack: SlackWorkspace) -> list[Message]:
    return [message for message in slack.messages("oncall-gpu") if message.user == BOT_USER]


def everywhere(slack: SlackWorkspace) -> list[Message]:
    return [answer for message in ours(slack) for answer in slack.thread(message)]


async def said(slack: SlackWorkspace, words: str, *, block: str = "") -> Message:
    """Wait for a message of ours, also in a thread, with these words, and with a block of this type."""

    def found() -> Message | None:
        for message in everywhere(slack):
            kinds = {kind["type"] for kind in message.blocks}
            if words in message.text and (not block or block in kinds):
                return message
        return None

    return await slack.until(found, timedelta(seconds=60), what=words)


def kept(state: Path, words: str) -> bool:
    """True once the database has these words, by a transaction that is over."""
    with closing(sqlite3.connect(state / "zombie.db")) as database:
        return any(words in line for line in database.iterdump())


def table(message: Message, kind: str = "data_table") -> list[list[str]]:
    block: dict[str, Any] = next(block for block in message.blocks if block["type"] == kind)
    return [[cell["text"] for cell in row] for row in block["rows"]]


async def test_who_else_leads_from_a_card_to_the_table_to_the_difference_and_to_a_check(tmp_path: Path) -> None:
    async with workspace() as slack, site(tmp_path, FLEET, POLICY) as here:
        bot = await here.serve(slack.environment)
        await slack.say("alice", "oncall-gpu", "/zombie check gpu-1a-0 gpu-1a-1")  # a single node's: the demo's story
        card = await said(slack, "2 nodes: 2 critical", block="actions")
        await slack.click("alice", card, "who-else")
        told = await said(slack, f"3 of 8 nodes have {LEAK}", block="data_table")
        assert f"{LEAK}: 3 of 8: 38 %, every node was read." in told.text
        assert (told.thread_ts, sorted(row[0] for row in table(told)[1:])) == (card.ts, sorted(SICK))
        assert table(told)[0][:3] == ["node", "what", "az"], "a single look has no status"

        await slack.click("bob", told, "fleet-diff")
        differs = await said(slack, f"3 nodes beside 5 peers without {LEAK} by its signature", block="data_table")
        rows = {row[0]: row for row in table(differs)}
        assert rows["boot_units.enabled[ecs.service]"][1:3] == ["present here", "absent on all 5 peers"]
        assert float(rows["boot_units.enabled[ecs.service]"][3].partition(",")[0]) > 1.5

        await slack.click("bob", told, "fleet-check", "gpu-1a-2")
        await said(slack, "gpu-1a-2: CRITICAL, leaked-memory-cgroups")
        assert await bot.end() == 0
        broken = {"show_failed", "wish_failed", "task_failed", "slack_worker_failed", "slack_refused", "sweep_failed"}
        assert not {line["event"] for line in bot.lines} & broken


async def test_running_sweep_can_be_stopped_and_a_restart_carries_one_on_under_its_card(tmp_path: Path) -> None:
    silent = {"gpu-1c-0": (BUSY, Fault.SILENT)}
    async with workspace() as slack, site(tmp_path, {**SICK, **silent}, POLICY) as here:
        bot = await here.serve(slack.environment)
        await slack.say("alice", "oncall-gpu", f"/zombie fleet * --cause {LEAK}")
        running = await said(slack, "Asking 4 nodes")
        await asyncio.to_thread(until, lambda: kept(tmp_path / "state", running.ts), what="where the card stands")
        bot.process.kill()
        await bot.process.wait()
        again = await here.serve(slack.environment)
        told = await said(slack, f"3 of 3 nodes have {LEAK}")
        assert (told.ts, len(ours(slack))) == (running.ts, 1)

        await slack.say("alice", "oncall-gpu", f"/zombie fleet gpu-1?-* --cause {LEAK}")
        second = await said(slack, "Asking 4 nodes")
        await slack.click("bob", second, "fleet-stop")
        stopped = await said(slack, "stopped after")
        assert stopped.ts == second.ts != told.ts
        assert "Stopped by a person" in json.dumps(stopped.blocks)
        assert await again.end() == 0
        assert again.logged("sweep_carried_on")


async def test_sweep_by_the_clock_tells_what_is_new_once_and_a_command_has_one_card(
    tmp_path: Path,
) -> None:
    sweep = f'[[sweep]]\nevery = "31d"\nselect = "role=gpu"\ncause = "{LEAK}"\nchannel = "C0ONCALL01"\n'
    async with workspace() as slack, site(tmp_path, FLEET, POLICY + sweep) as here:
        bot = await here.serve(slack.environment)
        new = await said(slack, "Sweep of role=gpu: 3 new.")
        assert f"new: {LEAK}" in json.dumps(new.blocks)
        assert await bot.end() == 0

        again = await here.serve(slack.environment)
        slack.faults.error("chat.update", "invalid_blocks")  # a workspace that knows no data table
        await slack.say("alice", "oncall-gpu", f"/zombie fleet role=gpu —cause {LEAK}")
        told = await said(slack, f"3 of 8 nodes have {LEAK}", block="table")
        assert sorted(row[0] for row in table(told, "table")[1:]) == sorted(SICK)
        assert [message.ts for message in ours(slack)] == [new.ts, told.ts]

        for typed, sentence in (
            ("/zombie fleet role=cpu", "role is gpu"),
            ("/zombie fleet", "Which nodes?"),
            ("/zombie fleet role=gpu --cause leaked", LEAK),
            ("/zombie check gpu-9*", "Near it are"),
        ):
            await slack.say("alice", "oncall-gpu", typed)
            await slack.until(
                lambda sentence=sentence: [  # type: ignore[misc]
                    one for one in slack.messages("oncall-gpu", "alice") if one.only_for and sentence in one.text
                ],
                what=sentence,
            )
        await slack.say("alice", "oncall-gpu", "/zombie check gpu-1b-*")
        await said(slack, "5 nodes: 5 healthy")
        assert sum("Sweep of" in message.text for message in everywhere(slack)) == 1
        assert await again.end() == 0


# --- a wave: from *Plan* on a fleet's card to its closing words


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
    return [name for name in SICK if here.machine(name).done]


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
    async with workspace() as slack, site(tmp_path, SICK, ACTING) as here:
        bot = await here.serve(slack.environment)
        card = await planned(slack)
        await decides(slack, "bob", card)
        running = await wave_card(slack, '"wave-stop"', "under way: ")
        await asyncio.to_thread(until, lambda: len(acted(here)) == 1, within=LONG, what="the canary's first step")
        await decides(slack, "bob", running, "wave-stop")
        stopped = await wave_card(slack, "Stopped: ", "bob says so", '"wave-resume"')
        bot.process.kill()
        await bot.process.wait()
        again = await here.serve(slack.environment)
        assert stopped.ts == card.ts
        await may_not(slack, "alice", stopped, "wave-resume")
        await first_step_proved(here)
        done = [here.machine(name).done for name in SICK]
        assert sorted(done) == [[], [], DONE[:1]], "what had begun was finished, and no second step began"

        await decides(slack, "bob", stopped, "wave-resume")
        await wave_card(slack, "At the end 3 of 3 were cured.")
        assert await again.end() == 0
        assert again.logged("wave_card_carried_on")
