"""Thirty checks at once in a workspace that limits as Slack does: not one call too many, and no verdict waits."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from tests.contract.ways import busy
from tests.slack.service import QUICK, Readings, cards, eventually, serving
from tests.slack.workspace import workspace

FASTER = 5  # the workspace's time and the bot's spans; what Slack counts in a minute is counted in twelve seconds
BEGAN = time.monotonic()
AS_SLACK = replace(
    QUICK, call_limit=10.0, edit_every=2.0 / FASTER, edits_span=60.0 / FASTER, posts_span=3.5 / FASTER, post_drain=20.0
)
MINUTE = timedelta(minutes=1)


def faster() -> datetime:
    """A clock that runs faster."""
    return datetime(2026, 11, 21, tzinfo=UTC) + timedelta(seconds=(time.monotonic() - BEGAN) * FASTER)


async def test_thirty_checks_at_once_keep_every_limit_and_their_verdicts_come_first(tmp_path: Path) -> None:
    places = ("oncall-gpu", "alerts", "@zombie")
    async with workspace(clock=faster, exact_limits=True) as slack:
        readings = Readings()
        toml = '[slack]\neach_at_once = 30\nchecks_per_person = "30/1h"\n[check]\nparallel = 30\n'
        async with serving(slack, tmp_path, readings, timing=AS_SLACK, toml=toml) as bot:
            channels = (*places[:2], slack.state.direct("alice").id)
            readings.hold()
            for number in range(30):
                await slack.say("alice", places[number % 3], f"/zombie check node-{number + 1}")

            def posted() -> int:
                return sum(len(cards(slack, channel)) for channel in channels)

            def judged() -> int:
                return sum("CRITICAL" in card.text for channel in channels for card in cards(slack, channel))

            await slack.until(lambda: posted() == 30, timeout=timedelta(seconds=20), what="thirty cards")
            edited = len(slack.asked("chat.update"))
            assert edited <= 10, "of forty edits a minute, thirty are the verdicts'"
            let_go_at = faster()
            readings.let_go()
            await slack.until(lambda: judged() == 30, timeout=timedelta(seconds=20), what="thirty verdicts")
            assert faster() - let_go_at < timedelta(seconds=20), "no verdict waited for the next minute"
            await eventually(bot.outbox.waiting, 0, within=30)
        assert posted() == 30, "one post a check"
        asked = [each for each in slack.asked() if each.method in ("chat.update", "chat.postMessage")]
        refused = [each.error for each in asked if each.error]
        assert len(refused) <= (5 if busy() else 0), "what is sent in time comes in bursts where a machine stands still"
        edits = [each for each in asked if each.method == "chat.update"]
        assert all(sum(timedelta(0) <= one.at - each.at < MINUTE for one in edits) <= 40 for each in edits)
        of_card = defaultdict(list)
        for edit in edits:
            of_card[edit.arguments["ts"]].append(edit.at)
        for times in of_card.values():
            progress = pairwise(times[:-1])  # the last is the verdict, which does not wait
            assert all(after - before >= timedelta(seconds=1.5) for before, after in progress)
