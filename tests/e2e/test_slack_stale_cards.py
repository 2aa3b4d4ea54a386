"""Cards that could not be brought up to date for a while: they say how it stands as soon as that can be said again."""

from __future__ import annotations

import json
from pathlib import Path

from bot.demo.slack.people import BOT_USER
from tests.slack.acting_team import ONCALL, acting_team
from tests.slack.workspace import workspace


async def test_card_left_as_it_was_while_the_bot_was_not_in_the_channel_is_put_right_by_a_click(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as team:
        offer = await team.proposed("node-1")
        slack.state.set_member(ONCALL, BOT_USER, member=False)
        await team.decides("bob", offer)
        await team.until_state("resolved")
        await team.idle()
        await slack.until(lambda: team.logged("slack_given_up"), what="a card that cannot be brought up to date")
        slack.state.set_member(ONCALL, BOT_USER, member=True)
        assert "Waits for approval" in team.cards("node-1")[0].text
        await slack.click("alice", offer, "approve")
        await team.told("alice", "AlreadyDecided")
        card = await team.card("Resolved: node-1")
        assert (card.ts, '"approve"' in json.dumps(card.blocks)) == (offer.ts, False)
