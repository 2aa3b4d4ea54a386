"""`zombie serve` as a process, in the simulated workspace, over simulated nodes: from the command to its thread."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.demo.fleet import FLEET, Fleet
from tests.program import Running, awaited
from tests.serving import Served, served
from tests.slack.workspace import SlackWorkspace, now

FOUNDING = FLEET[0].name
LONG = timedelta(seconds=40)
HOT = "mem_cgroup_nr_lru_pages"
WHY = "What would have changed this verdict"


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    fleet = Fleet(FLEET, tmp_path / "fleet", now)
    (tmp_path / "fleet").mkdir()
    await fleet.start()
    yield fleet
    await fleet.stop()


def serving(slack: SlackWorkspace, fleet: Fleet, state: Path) -> AbstractAsyncContextManager[Served]:
    state.mkdir(exist_ok=True)
    (state / "zombie.toml").write_text("[check]\nsamples = 1\n")
    own = {"ZOMBIE_STATE_DIR": str(state), "ZOMBIE_CONFIG": str(state / "zombie.toml")}
    environ = {**os.environ, **slack.environment, **own, "ZOMBIE_LISTEN": "127.0.0.1:0"}
    return served(Running.start("serve", "--inventory", str(fleet.inventory), env=environ, out=False))


def cards(slack: SlackWorkspace, channel: str = "oncall-gpu") -> list[Any]:
    return [message for message in slack.messages(channel) if message.thread_ts in (None, message.ts)]


async def zombie(state: Path, *words: str) -> Any:
    """Run a command beside the bot, and return its document."""
    environ = {**os.environ, "ZOMBIE_STATE_DIR": str(state)}
    done = await awaited(*words, cwd=state, env=environ)
    assert done.returncode == 0, words
    return json.loads(done.stdout) if "--json" in words else done.stdout


async def test_command_becomes_a_card_that_ends_as_the_verdict_with_its_details_in_the_thread(
    slack: SlackWorkspace, fleet: Fleet, tmp_path: Path
) -> None:
    """The evidence, what would have changed the verdict, as the replayed case says, and a profile that is kept."""
    state = tmp_path / "state"
    async with serving(slack, fleet, state) as bot:
        await slack.say("alice", "oncall-gpu", f"/zombie check {FOUNDING}")
        first = await slack.until(lambda: next(iter(cards(slack)), None), what="the first card")
        assert "reading" in first.text
        done = await slack.until(
            lambda: next((m for m in cards(slack) if "CRITICAL" in m.text), None), what="the verdict's card"
        )
        assert len(cards(slack)) == 1, "one card, edited in place"
        for word in (FOUNDING, "leaked-memory-cgroups", "confirmed", "disable ecs.service, then reboot"):
            assert word in done.text[:140]

        said = await slack.until(
            lambda: next((m for m in slack.thread(done)[1:] if WHY in json.dumps(m.blocks)), None),
            what="the fold that says why",
        )
        assert slack.thread(done)[1:] == [said], "beside the evidence, not in a reply of its own"
        dying = re.search(r"memory\t6\t(\d+)", json.dumps(said.blocks).replace("\\t", "\t"))
        assert dying is not None
        assert int(dying[1]) in range(68_680, 68_700), "one more every eleven seconds"

        (fold,) = [block for block in said.blocks if block.get("title", {}).get("text") == WHY]
        (text,) = [child["text"]["text"] for child in fold["child_blocks"]]
        incident = re.findall(r"zombie why ([a-z0-9]+)", text)[-1]
        await slack.until(lambda: bot.logged("judged"), what="the verdict to be on record, which is shown first")
        told = (await zombie(state, "why", incident, "--json"))["changes"]
        sentences = [line.removeprefix("• ") for line in text.splitlines() if line.startswith("• ")]
        assert sentences == [change["says"] for change in told[: len(sentences)]]
        assert len(sentences) == 3
        page = await zombie(state, "report", incident, "--markdown")
        plain = " ".join(page.replace("\\", "").split())
        assert all(sentence.split(" (")[0] in plain for sentence in sentences), page

        await slack.until(lambda: '"profile"' in json.dumps(done.blocks), what="its button")
        await slack.click("bob", done, "profile")
        await slack.until(lambda: any(HOT in m.text for m in slack.thread(done)), LONG, what="the profile")
        shown = await zombie(state, "incidents", "show", incident, "--json")
        (taken,) = [entry for entry in shown["entries"] if entry["kind"] == "ProfileTaken"]
        assert HOT in taken["body"]["headline"]
        assert taken["by"].startswith("slack:")


def told_alice(slack: SlackWorkspace, words: str) -> bool:
    return any(words in message.text for message in slack.messages("oncall-gpu", "alice"))


async def test_what_is_typed_is_answered_at_once_then_with_the_function_and_a_capture_begins_once(
    slack: SlackWorkspace, fleet: Fleet, tmp_path: Path
) -> None:
    async with serving(slack, fleet, tmp_path / "state"):
        await slack.say("alice", "oncall-gpu", f"/zombie profile {FOUNDING} 5")
        first = await slack.until(lambda: next(iter(cards(slack)), None), what="the first words")
        assert "every core is sampled for 5 s" in first.text
        done = await slack.until(
            lambda: next((m for m in cards(slack) if HOT in m.text), None),
            timeout=LONG,
            what="the profile",
        )
        assert len(cards(slack)) == 1, "one message, edited in place"
        assert "Core 39 ran kubelet" in done.text

        def pictures() -> list[str] | None:
            files = [file for message in slack.thread(done) for file in message.files]
            return sorted(f"{file.name}: {file.alt_text}" for file in files) if len(files) > 1 else None

        flame, seconds = await slack.until(pictures, timeout=LONG, what="its pictures, in its thread")
        assert flame.startswith(f"flame-core-39.png: Flame graph of core 39 of {FOUNDING}: ")
        assert HOT in flame
        assert seconds.startswith("seconds-core-39.png: Heat map of ")

        for typed, answer in (
            (f"profile {FOUNDING} 7", "5, 10, 30, 60"),
            ("profile ray-gpu-1a-0418", FOUNDING),
            (f"capture {FOUNDING} 7h", "1h, 6h, 12h, 24h"),
        ):
            await slack.say("alice", "oncall-gpu", f"/zombie {typed}")
            await slack.until(lambda answer=answer: told_alice(slack, answer), what=answer)  # type: ignore[misc]
        assert len([m for m in slack.messages("oncall-gpu", "bob") if "sampled" in m.text]) <= 1

        for words in (f"records on {FOUNDING} until", f"{FOUNDING} is not recorded"):
            await slack.say("alice", "oncall-gpu", f"/zombie capture {FOUNDING} 12h")
            await slack.until(
                lambda words=words: next((m for m in cards(slack) if words in m.text), None),  # type: ignore[misc]
                timeout=LONG,
                what=words,
            )
        listed = (await zombie(tmp_path / "state", "capture", "list", "--json"))["captures"]
        assert [(found["node"], found["state"]) for found in listed] == [(FOUNDING, "running")]
        assert listed[0]["by"].startswith("slack:")
