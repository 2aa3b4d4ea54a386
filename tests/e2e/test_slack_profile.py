"""A profile asked for in Slack: by a command, and by the button of a card, where it is also kept on record."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

from bot.demo.fleet import Fleet
from tests.e2e.test_slack_check import FOUNDING, ROOT, cards, fleet, serving  # noqa: F401 - a fixture
from tests.program import awaited
from tests.slack.workspace import SlackWorkspace

LONG = timedelta(seconds=40)
HOT = "mem_cgroup_nr_lru_pages"


async def zombie(state: Path, *words: str) -> str:
    environ = {**os.environ, "ZOMBIE_STATE_DIR": str(state)}
    return (await awaited(*words, env=environ)).stdout


def told_alice(slack: SlackWorkspace, words: str) -> bool:
    return any(words in message.text for message in slack.messages("oncall-gpu", "alice"))


async def test_what_is_typed_is_answered_at_once_then_with_the_function_and_a_capture_begins_once(
    slack: SlackWorkspace,
    fleet: Fleet,  # noqa: F811
    tmp_path: Path,
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
        listed = json.loads(await zombie(tmp_path / "state", "capture", "list", "--json"))["captures"]
        assert [(found["node"], found["state"]) for found in listed] == [(FOUNDING, "running")]
        assert listed[0]["by"].startswith("slack:")


async def test_the_button_of_a_card_answers_in_its_thread_and_the_incident_keeps_it(
    slack: SlackWorkspace,
    fleet: Fleet,  # noqa: F811
    tmp_path: Path,
) -> None:
    async with serving(slack, fleet, tmp_path / "state"):
        await slack.say("alice", "oncall-gpu", f"/zombie check {FOUNDING}")
        card = await slack.until(
            lambda: next((m for m in cards(slack) if "CRITICAL" in m.text and "profile" in json.dumps(m.blocks)), None),
            timeout=LONG,
            what="the card with its button",
        )
        await slack.click("bob", card, "profile")

        def answered() -> Any:
            return next((m for m in slack.thread(card) if HOT in m.text), None)

        await slack.until(answered, timeout=LONG, what="the profile in the thread")
        listed = json.loads(await zombie(tmp_path / "state", "incidents", "--json"))
        shown = json.loads(await zombie(tmp_path / "state", "incidents", "show", listed[0]["id"], "--json"))
        taken = [entry for entry in shown["entries"] if entry["kind"] == "ProfileTaken"]
        assert len(taken) == 1
        assert HOT in taken[0]["body"]["headline"]
        assert taken[0]["by"].startswith("slack:")
