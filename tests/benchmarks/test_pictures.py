"""How long a heat map takes to draw, and how soon after the readings it stands on the card."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.demo.fleet import FLEET, Fleet
from bot.demo.slack.message import Message
from bot.view.core_picture import core_picture
from tests.benchmarks.test_slack import LONG, bot, told
from tests.e2e.test_slack_pictures import has_strip, picture
from tests.slack.service import cards
from tests.slack.workspace import now, workspace
from tests.unit.surfaces.heats import heat_of

CHECKS, SAMPLES = 6, 5
GOAL_MS = 150  # from the last sample to the card with its picture, on a quiet machine
QUIET_MS = 250  # that the bot waits for a processor in a check of 6 s; more than that is taken off its time
Report = Callable[[str, object], None]


@pytest.mark.benchmark
def test_drawing_is_quick(record_property: Report) -> None:
    figures: dict[str, Any] = {}
    for cores, samples in ((96, 5), (192, 5), (192, 60)):
        heat, took, png = heat_of(cores, samples=samples), [], b""
        for _ in range(21):
            began = time.perf_counter()
            png = core_picture(heat, "node-1")
            took.append((time.perf_counter() - began) * 1000)
        figures[f"drawing_{cores}_cores_{samples}_samples_ms"] = round(statistics.median(took), 1)
        figures[f"picture_{cores}_cores_{samples}_samples_kb"] = round(len(png) / 1000, 1)
    told(record_property, figures)
    assert figures["drawing_192_cores_5_samples_ms"] < 100


def waited_ms(process: int) -> float:
    """How long a process's threads waited for a processor so far: proc(5), schedstat."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[1]) for thread in threads) / 1e6


@pytest.mark.benchmark
async def test_card_has_its_heat_map_soon_after_the_last_sample(tmp_path: Path, record_property: Report) -> None:
    (tmp_path / "fleet").mkdir()
    (tmp_path / "bot").mkdir()
    fleet = Fleet(FLEET[:1], tmp_path / "fleet", now)
    await fleet.start()
    strips, pictures, beyond = [], [], []  # and how long login and last answers took, beyond the samples
    waited = []
    try:
        argv = ("bot", "serve", "--inventory", str(fleet.inventory))
        async with (
            workspace() as slack,
            bot(slack, tmp_path / "bot", *argv, toml=f"[check]\nsamples = {SAMPLES}\n") as (process, lines),
        ):
            for number in range(1, CHECKS + 1):
                waited_before = waited_ms(process)
                await slack.say("alice", "oncall-gpu", f"/zombie check {FLEET[0].name}")

                def newest(number: int = number) -> Message | None:
                    return next(iter(cards(slack)[number - 1 :]), None)

                await slack.until(lambda: (card := newest()) and picture(card), timeout=LONG, what="its picture")
                waited.append(waited_ms(process) - waited_before)
                line = [line for line in lines if line["event"] == "checked"][-1]
                checked = datetime.fromisoformat(line["at"])
                beyond.append(timedelta(seconds=line["took_seconds"] - SAMPLES))
                card = newest()
                assert card is not None
                edits = [
                    (json.loads(blocks) if isinstance(blocks := call.arguments["blocks"], str) else blocks, call.at)
                    for call in slack.asked("chat.update")
                    if call.arguments.get("ts") == card.ts
                ]
                shown = [(Message(card.ts, card.channel, card.user, "", tuple(blocks)), at) for blocks, at in edits]
                strips.append(min(at for message, at in shown if has_strip(message)) - checked)
                pictures.append(min(at for message, at in shown if picture(message)) - checked)
    finally:
        await fleet.stop()
    figures: dict[str, Any] = {
        name: [round(each.total_seconds() * 1000) for each in spans]
        for name, spans in (
            ("reading_beyond_its_samples_ms", beyond),
            ("strip_on_the_card_after_the_reading_ms", strips),
            ("picture_on_the_card_after_the_reading_ms", pictures),
        )
    }
    figures["bot_waited_for_a_processor_ms"] = [round(each) for each in waited]
    after = {
        what: [round((begun + spent).total_seconds() * 1000) for begun, spent in zip(beyond, spans, strict=True)]
        for what, spans in (("strip", strips), ("picture", pictures))
    }
    figures |= {f"{what}_after_the_last_sample_ms": statistics.median(spans) for what, spans in after.items()}
    figures["first_picture_after_the_last_sample_ms"] = after["picture"][0]
    told(record_property, figures)
    for spans in after.values():
        others = [span if ours <= QUIET_MS else span - ours for span, ours in zip(spans, waited, strict=True)]
        assert statistics.median(others) <= GOAL_MS, "without what other programs took of the processors"
