"""The bot as a service in a simulated Slack workspace, and the two people there who see a node through an incident."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any

from bot.demo.slack.message import Message
from bot.demo.slack.people import ALICE, BOB, BOT_USER
from tests.nodes.acting_fleet import ROOT
from tests.serving import Served, served
from tests.slack.workspace import SlackWorkspace

CHANNEL = "oncall-gpu"
LONG, SOON = timedelta(minutes=10), timedelta(seconds=40)
OFFER = ('"action_id": "approve"', "then reboot")
ENDS = ("Resolved", "Escalated", "Cancelled", "Expired", "Declined")
# Against anything but slack.com nobody acts unless that was written out. Alice may approve, but not what she asked for.
POLICY = f"""[policy]
acting = true
approvers = ["{ALICE.id}", "{BOB.id}"]
"""


def serving(
    argv: Sequence[str], environment: Mapping[str, str], slack: SlackWorkspace
) -> AbstractAsyncContextManager[Served]:
    """Run the bot as a process, from its readiness to a clean end; what it logs is printed as it comes."""
    own = {**environment, **slack.environment, "ZOMBIE_LISTEN": "127.0.0.1:0"}
    starting = asyncio.create_subprocess_exec(*argv, cwd=ROOT, env=own, stderr=asyncio.subprocess.PIPE)
    return served(starting, aloud=True)


def cards(slack: SlackWorkspace, *words: str) -> list[Message]:
    """Return the bot's messages in the channel, replies left out, that say all of this."""
    mine = [one for one in slack.messages(CHANNEL) if one.user == BOT_USER and one.thread_ts in (None, one.ts)]
    return [one for one in mine if all(word in one.text + json.dumps(one.blocks) for word in words)]


async def asked(
    slack: SlackWorkspace, log: Sequence[Mapping[str, Any]], node: str, count: Callable[[], int]
) -> tuple[int, Message, int]:
    """Have alice ask until a reboot is offered; return what was counted before that check, the card, and after it.

    Emulated and kept waiting, a node may not tell all in time: then the verdict has no such plan, and she asks again.
    """
    for _ in range(3):
        before, after = await _checked(slack, log, node, count)
        with contextlib.suppress(TimeoutError):
            return before, await slack.until(lambda: next(iter(cards(slack, *OFFER)), None), SOON, "an offer"), after
    raise AssertionError("three checks, and no reboot was offered")


async def _checked(
    slack: SlackWorkspace, log: Sequence[Mapping[str, Any]], node: str, count: Callable[[], int]
) -> tuple[int, int]:
    """Have alice ask once, and return what was counted right before, and as soon as the bot had judged."""

    def checks() -> int:
        return sum(line["event"] == "checked" for line in log)

    were = checks()
    before = await asyncio.to_thread(count)
    await slack.say("alice", CHANNEL, f"/zombie check {node}")
    await slack.until(lambda: checks() > were, LONG, "the end of the check")
    return before, await asyncio.to_thread(count)


async def approved_by_another(slack: SlackWorkspace, node: str, offer: Message) -> Message:
    """Have alice be refused as her own approver, and bob approve; return the card once the incident has ended."""
    await slack.click("alice", offer, "approve")
    refused = await slack.until(
        lambda: next(
            (view for view in [slack.modal("alice")] if view and "SelfApproval" in json.dumps(view.blocks)), None
        ),
        SOON,
        "what whoever asked is told",
    )
    await slack.close("alice", refused)
    await slack.click("bob", offer, "approve")
    dialog = await slack.until(lambda: slack.modal("bob"), SOON, "the dialog that asks for a reason")
    sent = await slack.submit("bob", dialog, {"reason": "it fails for ever"})
    assert (sent.view, sent.errors or None) == (None, None)
    ended = [f"{how}: {node}" for how in ENDS]
    return await slack.until(lambda: next((one for how in ended for one in cards(slack, how)), None), LONG, "the end")
