"""The founding incident in Slack, on a real kernel: one person asks, another approves, and the card ends resolved."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from bot.demo.slack.message import Message
from bot.demo.slack.people import BOB, BOT_USER
from bot.demo.slack.server import SlackWorkspace
from tests.lab.bench import ROOT, Bench, boot_id, boots, dying, leaks
from tests.slack import workspace

pytestmark = [pytest.mark.lab, pytest.mark.slow]

CHANNEL = "oncall-gpu"
LONG, SOON = timedelta(minutes=10), timedelta(seconds=40)
OFFER = '"action_id": "approve"'
# Against anything but slack.com nobody acts unless that was written out.
POLICY = f"""
approvers = ["{BOB.id}"]
acting = true
"""


@asynccontextmanager
async def serving(bench: Bench, slack: SlackWorkspace) -> AsyncIterator[list[dict[str, Any]]]:
    """Run the bot as a process, from its readiness to a clean end; yields what it logs."""
    environment = {
        **bench.environment,
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "SLACK_API_URL": slack.api_url,
        "ZOMBIE_LISTEN": "127.0.0.1:0",
    }
    process = await asyncio.create_subprocess_exec(
        *bench.argv("serve", "--config", str(bench.settings)), cwd=ROOT, env=environment, stderr=asyncio.subprocess.PIPE
    )
    lines: list[dict[str, Any]] = []

    async def read() -> None:
        assert process.stderr is not None
        async for line in process.stderr:
            lines.append(json.loads(line))  # noqa: PERF401 - each is looked at as it comes

    reading = asyncio.create_task(read())
    try:
        await slack.until(lambda: any(line["event"] == "ready" for line in lines), what="the bot to be ready")
        yield lines
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 40) == 0, lines
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        await reading
        print(*lines, sep="\n")


def cards(slack: SlackWorkspace, words: str) -> list[Message]:
    """Return the bot's messages in the channel that say this."""
    mine = [one for one in slack.messages(CHANNEL) if one.user == BOT_USER and one.thread_ts in (None, one.ts)]
    return [one for one in mine if words in one.text or words in json.dumps(one.blocks)]


def judged(slack: SlackWorkspace) -> list[Message]:
    """Return the cards that tell of ecs.service, as every verdict here does."""
    return cards(slack, "ecs.service")


async def asked(slack: SlackWorkspace) -> Message:
    """Have alice ask until the card offers something: emulated and kept waiting, a node may not tell all in time."""
    for times in range(1, 4):
        await slack.say("alice", CHANNEL, "/zombie check lab-1")
        await slack.until(lambda times=times: len(judged(slack)) == times, LONG, "the verdict")  # type: ignore[misc]
        with contextlib.suppress(TimeoutError):
            return await slack.until(lambda: next(iter(cards(slack, OFFER)), None), SOON, "an offer")
    raise AssertionError("three checks, and nothing was offered")


async def approved_by_another(slack: SlackWorkspace) -> None:
    """Have alice ask, be refused as her own approver, and bob approve; wait for the card of the cure."""
    proposed = await asked(slack)
    assert "ecs.service" in json.dumps(proposed.blocks)
    await slack.click("alice", proposed, "approve")
    refused = await slack.until(lambda: slack.modal("alice"), what="what whoever asked is told")
    assert "SelfApproval" in json.dumps(refused.blocks)
    await slack.close("alice", refused)
    await slack.click("bob", proposed, "approve")
    dialog = await slack.until(lambda: slack.modal("bob"), what="the dialog that asks for a reason")
    sent = await slack.submit("bob", dialog, {"reason": "it fails for ever"})
    assert (sent.view, sent.errors or None) == (None, None)
    await slack.until(lambda: cards(slack, "Resolved: lab-1"), LONG, "the cure")


def with_policy(bench: Bench) -> None:
    written = bench.settings.read_text()
    short = written.replace("[policy]\n", f"[policy]{POLICY}").replace('validation = "1m"', 'validation = "20s"')
    bench.settings.write_text(short)


def is_whole(bench: Bench) -> None:
    assert json.loads(bench.zombie("incidents", "--json").stdout)[0]["state"] == "resolved"
    assert bench.zombie("audit", "verify").returncode == 0


@pytest.mark.parametrize("small", ["v2"], indirect=True)
async def test_one_asks_another_approves_and_the_card_ends_resolved(small: Bench) -> None:
    node = small.node()
    first, counted = boot_id(node), boots(node)
    with_policy(small)
    leaks(small)
    async with workspace() as slack, serving(small, slack):
        await approved_by_another(slack)
    assert boot_id(node) != first
    assert boots(node) == counted + 1
    assert dying(node) < 100
    is_whole(small)
