"""Whole stories in Slack, over simulated nodes behind real SSH: from `/zombie check` to the cure, as two people."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.demo.cluster.pod import Budget
from bot.demo.fleet_leaks import AUTO_RESTART, BETWEEN_LOOKS
from bot.demo.slack.message import Message
from bot.demo.slack.people import BOT_USER
from tests.e2e.test_drain import KUBERNETES, NAME, cluster, worker
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
WINDOW = POLICY.replace("samples = 1", "samples = 5")  # a second cannot show a core that is held for seconds
LONG = timedelta(seconds=90)
FAILED = {"show_failed", "advance_failed", "wish_failed", "task_failed", "slack_worker_failed"}  # what is logged then


async def card(slack: SlackWorkspace, *words: str, button: str = "") -> Message:
    def found() -> Message | None:
        ours = [
            one for one in slack.messages("oncall-gpu") if one.user == BOT_USER and all(w in one.text for w in words)
        ]
        return next((one for one in ours if not button or f'"{button}"' in json.dumps(one.blocks)), None)

    try:
        return await slack.until(found, LONG, what=f"a card: {words}")
    except TimeoutError as late:
        late.add_note("\n".join(f"{one.text}\n{json.dumps(one.blocks)}" for one in slack.messages("oncall-gpu")))
        raise


async def decides(slack: SlackWorkspace, user: str, message: Message, action: str = "approve") -> None:
    await slack.click(user, message, action)
    view = await slack.until(lambda: slack.modal(user), what="the dialog")
    await slack.submit(user, view, {"reason": f"{user} says so"})


async def told(here: Site, *words: str) -> Any:
    """Run a command beside the bot, and return its document."""
    program = await here.start(*words, "--json")
    out, _ = await asyncio.wait_for(program.communicate(), 30)
    return json.loads(out)


async def test_founding_case_is_played_to_its_end_by_two_people_and_undone_with_a_yes_in_a_terminal(
    tmp_path: Path,
) -> None:
    async with workspace() as slack, site(tmp_path, {"node-1": (AUTO_RESTART, None)}, POLICY) as here:
        bot = await here.serve(slack.environment)
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
        await card(slack, "undo of incident", button="approve")
        newest = (await told(here, "incidents"))[0]
        ended = await here.remediate(newest["id"], "ann", "core 39 is gone")
        assert ended.status == 0, ended
        undone = await card(slack, "Resolved: node-1: undo of incident")
        assert "Approved by terminal:ann" in undone.text
        assert here.machine("node-1").reboots == 1
        assert await bot.end() == 0
        assert not {line["event"] for line in bot.lines} & FAILED


async def test_profile_confirms_what_was_likely_and_the_plan_is_proposed_anew(tmp_path: Path) -> None:
    async with workspace() as slack, site(tmp_path, {"node-1": (BETWEEN_LOOKS, None)}, WINDOW) as here:
        bot = await here.serve(slack.environment)
        await slack.say("alice", "oncall-gpu", "/zombie check node-1")
        offer = await card(slack, "node-1", "likely leaked-memory-cgroups", button="approve")
        await slack.click("bob", offer, "profile")
        again = await card(slack, "node-1", "(confirmed)", button="approve")
        assert again.ts == offer.ts, "one card"
        said = [message.text for message in slack.thread(again) if "mem_cgroup_nr_lru_pages" in message.text]
        assert said, "the profile stands in the thread"

        newer, older = await told(here, "incidents")
        assert (older["state"], newer["state"]) == ("cancelled", "proposed")
        shown = await told(here, "incidents", "show", older["id"])
        ending = shown["entries"][-1]
        assert ending["kind"] == "Cancelled"
        assert "likely" in ending["body"]["because"]
        assert newer["id"] in ending["body"]["because"]
        kinds = [entry["kind"] for entry in (await told(here, "incidents", "show", newer["id"]))["entries"]]
        assert kinds == ["AlertReceived", "ProfileTaken", "Triaged", "PlanProposed"]

        replayed = await told(here, "why", newer["id"])
        assert any(change["with"][0].startswith("profile") for change in replayed["changes"]), replayed
        await decides(slack, "bob", again)
        await card(slack, "Resolved: node-1")
        assert await bot.end() == 0


async def test_pods_and_their_job_are_seen_before_the_yes_and_moved_after_it(tmp_path: Path) -> None:
    async with (
        workspace() as slack,
        cluster(tmp_path, worker(budgets=(Budget("ray", refuses=3),), empty_dirs=("scratch",))) as (here, server),
    ):
        (tmp_path / "zombie.toml").write_text(POLICY + KUBERNETES)
        bot = await here.serve(slack.environment)
        await slack.say("alice", "oncall-gpu", "/zombie check node")
        offer = await card(slack, "node", "leaked-memory-cgroups", button="approve")
        moved = "ray/worker-0: Ray cluster train-7; loses emptyDir scratch"
        assert moved in json.dumps(offer.blocks)
        assert f"drain {NAME} prod, then reboot, then uncordon {NAME} prod" in json.dumps(offer.blocks)
        await slack.click("bob", offer, "approve")
        view = await slack.until(lambda: slack.modal("bob"), what="the dialog")
        shown = str(view.blocks)
        assert moved in shown
        assert f"PATCH /api/v1/nodes/{NAME}" in shown
        assert f"no new pods come to {NAME}, and those that are there are evicted, within 1m" in shown
        assert server.cluster.patched == []
        await slack.submit("bob", view, {"reason": "it leaks"})
        held = "As of now: ray/worker-0: 429 Cannot evict pod as it would violate the pod's disruption budget."
        await slack.until(lambda: _is_shown(slack, held), LONG, what=held)
        await card(slack, "Resolved: node")
        assert server.cluster.evicted == ["ray/worker-0"]
        assert server.cluster.patched == [f"{NAME} unschedulable=True", f"{NAME} unschedulable=None"]
        assert here.machine("node").done == ["disable ecs.service", "reboot"]
        assert await bot.end() == 0
        assert not {line["event"] for line in bot.lines} & FAILED


def _is_shown(slack: SlackWorkspace, words: str) -> bool:
    return any(words in json.dumps(one.blocks) for one in slack.messages("oncall-gpu"))
