"""Why a verdict was given, in the thread of its card: each sentence comes out so when the kept case is replayed."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from bot.demo.fleet import Fleet
from tests.e2e.test_slack_check import FOUNDING, cards, fleet, serving
from tests.program import awaited
from tests.slack.workspace import SlackWorkspace

__all__ = ["fleet"]
WHY = "What would have changed this verdict"


async def zombie(state: Path, *words: str) -> str:
    environ = {**os.environ, "ZOMBIE_STATE_DIR": str(state)}
    done = await awaited(*words, cwd=state, env=environ)
    assert done.returncode == 0, words
    return done.stdout


async def test_thread_says_what_would_have_changed_it_and_the_same_stands_in_why_and_report(
    slack: SlackWorkspace, fleet: Fleet, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    async with serving(slack, fleet, state):
        await slack.say("alice", "oncall-gpu", f"/zombie check {FOUNDING}")
        card = await slack.until(
            lambda: next((m for m in cards(slack) if "CRITICAL" in m.text), None), what="the verdict's card"
        )
        said = await slack.until(
            lambda: next((m for m in slack.thread(card)[1:] if WHY in json.dumps(m.blocks)), None),
            what="the fold that says why",
        )
        assert slack.thread(card)[1:] == [said], "beside the evidence, not in a reply of its own"
    (fold,) = [block for block in said.blocks if block.get("title", {}).get("text") == WHY]
    (text,) = [child["text"]["text"] for child in fold["child_blocks"]]
    incident = re.findall(r"zombie why ([a-z0-9]+)", text)[-1]
    told = json.loads(await zombie(state, "why", incident, "--json"))["changes"]
    sentences = [line.removeprefix("• ") for line in text.splitlines() if line.startswith("• ")]
    assert sentences == [change["says"] for change in told[: len(sentences)]]
    assert len(sentences) == 3
    page = await zombie(state, "report", incident, "--markdown")
    plain = " ".join(page.replace("\\", "").split())
    assert all(sentence.split(" (")[0] in plain for sentence in sentences), page
