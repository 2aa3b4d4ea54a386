"""Two bots at one ledger, both in Slack: whichever hears of a wish sees to it, and it is seen to once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.slack.service import Readings, cards, eventually, serving
from tests.slack.workspace import SlackWorkspace

NODES = 12


async def test_every_check_is_read_once_and_has_one_card(slack: SlackWorkspace, tmp_path: Path) -> None:
    readings = Readings()
    async with serving(slack, tmp_path, readings) as first, serving(slack, tmp_path, readings) as second:
        names = [f"node-{number}" for number in range(1, NODES + 1)]
        for name in names:
            await slack.say("alice", "oncall-gpu", f"/zombie check {name}")
        await slack.until(
            lambda: sum("CRITICAL" in card.text for card in cards(slack)) == NODES, what="all verdicts to stand"
        )
        await eventually(first.outbox.waiting, 0)
        assert readings.asked == Counter(names)
        assert len(cards(slack)) == NODES
        took = [len(bot.logged("checked")) for bot in (first, second)]
        assert sum(took) == NODES
        assert all(took), f"both take what Slack brings: {took}"


async def test_what_one_left_owing_when_it_was_told_to_stop_the_other_sees_to(
    slack: SlackWorkspace, tmp_path: Path
) -> None:
    readings = Readings()
    readings.hold()
    async with serving(slack, tmp_path, readings) as staying:
        async with serving(slack, tmp_path, readings) as leaving:
            for number in range(1, 7):
                await slack.say("alice", "oncall-gpu", f"/zombie check node-{number}")
            await slack.until(lambda: len(readings.asked) == 6, what="all to be read")
            await leaving.service.stop()
        await slack.until(
            lambda: sum("CRITICAL" in card.text for card in cards(slack)) == 6, what="all verdicts to stand"
        )
        assert len(cards(slack)) == 6
        twice = [name for name, times in readings.asked.items() if times == 2]
        assert len(staying.logged("resumed")) == len(twice), readings.asked
        assert set(readings.asked.values()) == {1, 2}, "what the one that stays had begun it did not begin again"
