"""Cards drawn too early, or not to be brought up to date for a while: they say how it stands as soon as they can."""

from __future__ import annotations

import json
from pathlib import Path

from bot.demo.slack.people import BOT_USER
from bot.domain.entry import Entry
from bot.domain.events import Endorsed
from tests.slack.acting_team import GUEST, ONCALL, acting_team
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


async def test_first_of_two_yeses_that_is_drawn_while_it_is_recorded_leaves_the_buttons(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as team:
        team.run_plans, team.needed = False, 2
        offer = await team.proposed("node-1", asked_by=GUEST)
        append = team.ledger.append

        async def drawn_at_once(stream: str, *rest: object) -> Entry:
            entry: Entry = await append(stream, *rest)
            if isinstance(entry.event, Endorsed):
                await team.shown(stream)
            return entry

        team.ledger.append = drawn_at_once
        team.decided = lambda _: None  # type: ignore[method-assign]  # the engine draws no entry twice
        await team.decides("bob", offer)
        card = await team.offering("1 said yes so far")
        assert "checking" not in card.text
