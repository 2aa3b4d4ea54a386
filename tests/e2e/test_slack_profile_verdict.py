"""A likely verdict, and a profile asked from its card: the old offer is withdrawn, and the confirmed one is cured."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bot.demo.fleet_leaks import BETWEEN_LOOKS
from tests.e2e.test_slack_story import POLICY, card, decides, serving
from tests.nodes.acting_fleet import Site, site
from tests.slack.workspace import workspace

pytestmark = pytest.mark.slow
WINDOW = POLICY.replace("samples = 1", "samples = 5")  # a second cannot show a core that is held for seconds


async def told(here: Site, *words: str) -> Any:
    program = await here.start(*words, "--json")
    out, _ = await asyncio.wait_for(program.communicate(), 30)
    return json.loads(out)


async def test_profile_confirms_what_was_likely_and_the_plan_is_proposed_anew(tmp_path: Path) -> None:
    async with workspace() as slack, site(tmp_path, {"node-1": (BETWEEN_LOOKS, None)}, WINDOW) as here:
        bot = await serving(slack, here)
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
