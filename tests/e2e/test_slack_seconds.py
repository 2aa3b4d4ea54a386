"""A step under way says for how long on its card: by whoever sees to it, at a calm pace, and also after a restart."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from bot.domain.alert import BOT
from bot.domain.events import StepStarted, StepVerified
from tests.slack.acting_team import ActingTeam, acting_team
from tests.slack.workspace import workspace


async def test_seconds_grow_on_the_card_until_the_step_is_over(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as team:
        team.run_plans = False
        await team.decides("bob", await team.proposed("node-1"))
        await team.until_state("approved")
        await team.idle()
        (summary,) = await team.ledger.incidents()
        mine, surface = {summary.card}, team.acting.cards
        started = await team.ledger.append(summary.id, await seq(team, summary.id), StepStarted(1), BOT)
        await team.shown(summary.id)
        card = await team.card("ecs.service: under way.")
        edits = len(slack.asked("chat.update"))
        for after in (1, 5, 9):
            await surface.tick(started.at + timedelta(seconds=after), mine)
        await surface.tick(started.at + timedelta(seconds=41), set())
        await surface.tick(started.at + timedelta(seconds=41), mine)
        await team.card("ecs.service: under way for 40 s.")
        await surface.tick(started.at + timedelta(seconds=49), mine)
        await surface.tick(started.at + timedelta(seconds=131), mine)
        again = await team.card("under way for 2 min.")
        assert len(slack.asked("chat.update")) == edits + 2, "nothing is edited that would say the same"
        assert again.ts == card.ts

        other = team.restarted("runner-2").cards
        await other.show(await other.group(summary.card))
        await other.tick(started.at + timedelta(seconds=152), mine)
        await team.card("under way for 2 min 30 s.")
        verified = StepVerified(1, (), timedelta(seconds=155))
        await team.ledger.append(summary.id, await seq(team, summary.id), verified, BOT)
        await other.show(await other.group(summary.card))
        await team.card("done, and proved after 2 min 35 s")
        await other.tick(started.at + timedelta(seconds=300), mine)
        assert not team.cards("under way")
        await team.idle()


async def seq(team: ActingTeam, incident: str) -> int:
    """How many entries an incident has."""
    return len(await team.ledger.read(incident))
