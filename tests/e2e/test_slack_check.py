"""`zombie serve` as a process, in the simulated workspace, over simulated nodes: from the command to its thread."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.demo.fleet import FLEET, Fleet
from tests.program import Running
from tests.slack.workspace import SlackWorkspace, now

ROOT = Path(__file__).parents[2]
FOUNDING = FLEET[0].name


class Bot:
    """The bot as a process; `lines` is what it logged."""

    def __init__(self, process: Running | asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            self.lines.append(json.loads(line))

    def logged(self, event: str) -> dict[str, Any] | None:
        return next((line for line in self.lines if line["event"] == event), None)

    async def end(self) -> int:
        if self.process.returncode is None:
            self.process.terminate()
        status = await asyncio.wait_for(self.process.wait(), 30)
        await self._reading
        return status


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    fleet = Fleet(FLEET, tmp_path / "fleet", now)
    (tmp_path / "fleet").mkdir()
    await fleet.start()
    yield fleet
    await fleet.stop()


def configured(state: Path, seconds: int) -> None:
    state.mkdir(exist_ok=True)
    (state / "zombie.toml").write_text(f"[check]\nsamples = {seconds}\n")


async def started(slack: SlackWorkspace, fleet: Fleet, state: Path, seconds: int = 1) -> Running:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "SLACK_API_URL": slack.api_url,
        "ZOMBIE_LISTEN": "127.0.0.1:0",
        "ZOMBIE_STATE_DIR": str(state),
        "ZOMBIE_CONFIG": str(state / "zombie.toml"),
    }
    configured(state, seconds)
    return await Running.start("serve", "--inventory", str(fleet.inventory), env=environment, out=False)


@asynccontextmanager
async def serving(slack: SlackWorkspace, fleet: Fleet, state: Path, seconds: int = 1) -> AsyncIterator[Bot]:
    bot = Bot(process := await started(slack, fleet, state, seconds))
    try:
        await slack.until(lambda: bot.logged("ready") or process.returncode is not None, what="the bot to be ready")
        assert bot.logged("ready"), bot.lines
        yield bot
        assert await bot.end() == 0, bot.lines
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def cards(slack: SlackWorkspace, channel: str = "oncall-gpu") -> list[Any]:
    return [message for message in slack.messages(channel) if message.thread_ts in (None, message.ts)]


async def test_command_becomes_a_card_that_ends_as_the_verdict_with_its_details_in_the_thread(
    slack: SlackWorkspace, fleet: Fleet, tmp_path: Path
) -> None:
    async with serving(slack, fleet, tmp_path / "state"):
        await slack.say("alice", "oncall-gpu", f"/zombie check {FOUNDING}")
        first = await slack.until(lambda: next(iter(cards(slack)), None), what="the first card")
        assert "reading" in first.text
        done = await slack.until(
            lambda: next((m for m in cards(slack) if "CRITICAL" in m.text), None), what="the verdict's card"
        )
        assert len(cards(slack)) == 1, "one card, edited in place"
        for word in (FOUNDING, "leaked-memory-cgroups", "confirmed", "disable ecs.service, then reboot"):
            assert word in done.text[:140]

        def dying() -> int:
            told = json.dumps([m.blocks for m in slack.thread(done) if m.ts != done.ts]).replace("\\t", "\t")
            return int(found[1]) if (found := re.search(r"memory\t6\t(\d+)", told)) else 0

        await slack.until(dying, what="the details")
        assert dying() in range(68_680, 68_700), "one more every eleven seconds"


async def test_restart_gives_the_verdict_that_was_owed(slack: SlackWorkspace, fleet: Fleet, tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with serving(slack, fleet, state, seconds=4) as bot:
        await slack.say("alice", "oncall-gpu", f"/zombie check {FOUNDING}")
        await slack.until(lambda: [m for m in cards(slack) if " of " in m.text], what="the first edit of the card")
        bot.process.kill()
        await bot.process.wait()
        async with serving(slack, fleet, state):
            await slack.until(
                lambda: next((m for m in cards(slack) if "CRITICAL" in m.text), None),
                timeout=timedelta(seconds=120),
                what="the verdict after the restart",
            )
            assert len(cards(slack)) == 1, "the card that was there is edited, not posted anew"
        bot.end = _already_dead  # type: ignore[method-assign]


async def test_sigterm_in_the_middle_of_a_check_ends_well_and_leaves_the_verdict(
    slack: SlackWorkspace, fleet: Fleet, tmp_path: Path
) -> None:
    async with serving(slack, fleet, tmp_path / "state", seconds=2) as bot:
        await slack.say("alice", "oncall-gpu", f"/zombie check {FOUNDING}")
        await slack.until(lambda: cards(slack), what="the first card")
        bot.process.terminate()
        assert await asyncio.wait_for(bot.process.wait(), 25) == 0
        assert "CRITICAL" in cards(slack)[0].text
    events = [line["event"] for line in bot.lines if line["event"] != "picture_sent"]  # in time, or by the next run
    assert events[-3:] == ["stopping", "checked", "stopped"]


async def _already_dead() -> int:
    return 0
