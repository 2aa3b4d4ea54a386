"""A reboot under way says how long one usually takes, once three that were proved are on record."""

from __future__ import annotations

from pathlib import Path

from tests.slack.acting_team import acting_team
from tests.slack.workspace import workspace

USUALLY = "under way; usually "


async def test_fourth_reboot_is_told_with_what_the_three_before_it_took(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path, nodes=4) as team:
        for number in (1, 2, 3):
            offer = await team.proposed(f"node-{number}", key=f"cmd-{number}")
            await team.decides("bob", offer)
            await team.card(f"Resolved: node-{number}")
            await team.idle()
            assert not team.cards(USUALLY), "of fewer than three nothing is said"
        await team.decides("bob", await team.proposed("node-4", key="cmd-4"))
        card = await team.card(USUALLY)
        assert "Step 2, reboot: under way; usually " in card.text
        assert " s on nodes here (3 times before)." in card.text
        await team.card("Resolved: node-4")
        assert not team.cards(USUALLY), "once it is over, what it took stands there"
        await team.idle()
