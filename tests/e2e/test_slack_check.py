"""`zombie serve` as a process, in the simulated workspace, over simulated nodes: from the command to its thread."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.demo.fleet import FLEET, Fleet
from bot.demo.slack.server import SlackWorkspace
from tests.slack import now, workspace

ROOT = Path(__file__).parents[2]
FOUNDING = FLEET[0].name


class Bot:
    """The bot as a process; `lines` is what it logged."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
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
    await fleet.start(asyncio.get_running_loop().time)
    yield fleet
    await fleet.stop()


@pytest.fixture
async def slack() -> AsyncIterator[SlackWorkspace]:
    async with workspace() as slack:
        yield slack


def configured(state: Path, seconds: int) -> None:
    state.mkdir(exist_ok=True)
    (state / "zombie.toml").write_text(f"[check]\nsamples = {seconds}\n")


@asynccontextmanager
async def serving(slack: SlackWorkspace, fleet: Fleet, state: Path, seconds: int = 1) -> AsyncIterator[Bot]:
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
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "bot", "serve", "--inventory", str(fleet.inventory)),
        env=environment,
        stderr=asyncio.subprocess.PIPE,
    )
    bot = Bot(process)
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
        thread = await slack.until(lambda: [m for m in slack.thread(done) if m.ts != done.ts], what="the details")
        assert "memory\t6\t68680" in json.dumps([m.blocks for m in thread]).replace("\\t", "\t")


async def test_mention_in_a_thread_is_answered_there(slack: SlackWorkspace, fleet: Fleet, tmp_path: Path) -> None:
    async with serving(slack, fleet, tmp_path / "state"):
        root = (await slack.say("alice", "oncall-gpu", "what is with the backups?")).message
        assert root is not None
        await slack.say("alice", "oncall-gpu", "@zombie check db-backup-1a-0008", thread_ts=root.ts)
        await slack.until(lambda: [m for m in slack.thread(root) if "failed-units" in m.text], what="the verdict")
        assert [message.ts for message in cards(slack)] == [root.ts]


@pytest.mark.parametrize(
    ("said", "answered"),
    [
        ("/zombie", "What I can do"),
        ("/zombie chekc node-1", "Did you mean `check`?"),
        ("/zombie check ray-gpu-1a-0418", FOUNDING),
        ("/zombie check <!channel>", "is not a node name"),
        ("/zombie check " + "x" * 10_000, "characters long"),
        ("/zombie check $(touch pwned) `id`", "is not a node name"),
        ("/zombie check \u202egnp.exe", "is not a node name"),
    ],
)
async def test_words_that_are_no_check_are_answered_in_private(
    slack: SlackWorkspace, fleet: Fleet, tmp_path: Path, said: str, answered: str
) -> None:
    async with serving(slack, fleet, tmp_path / "state"):
        await slack.say("alice", "oncall-gpu", said)
        reply = await slack.until(
            lambda: next((m for m in slack.messages("oncall-gpu", "alice") if answered in m.text), None), what=answered
        )
        assert not cards(slack) or cards(slack) == [reply]
        assert not [m for m in slack.messages("oncall-gpu", "bob") if answered in m.text], "only alice sees it"
        assert "<!channel>" not in reply.text


async def test_restart_gives_the_verdict_that_was_owed(slack: SlackWorkspace, fleet: Fleet, tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with serving(slack, fleet, state, seconds=4) as bot:
        await slack.say("alice", "oncall-gpu", f"/zombie check {FOUNDING}")
        await slack.until(lambda: [m for m in cards(slack) if " of " in m.text], what="the first edit of the card")
        bot.process.kill()
        await bot.process.wait()
        bot.process._transport.close()  # type: ignore[attr-defined]
        async with serving(slack, fleet, state):
            await slack.until(
                lambda: next((m for m in cards(slack) if "CRITICAL" in m.text), None),
                timeout=timedelta(seconds=30),
                what="the verdict after the restart",
            )
            assert len(cards(slack)) == 1, "the card that was there is edited, not posted anew"
        bot.end = _already_dead  # type: ignore[method-assign]


async def _already_dead() -> int:
    return 0
