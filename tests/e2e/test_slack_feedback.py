"""Right or wrong, said by two buttons on closed cards: what goes on record, who may say it, and what comes of it."""

from __future__ import annotations

import json
from pathlib import Path

from bot.demo.slack.message import Message
from bot.demo.slack.server import SlackWorkspace
from bot.domain.house_events import HOUSE, VerdictMarked
from tests.slack.acting_team import ActingTeam, acting_team
from tests.slack.workspace import workspace

FEEDBACK = "feedback"


async def closed(team: ActingTeam, node: str = "node-1") -> tuple[Message, str]:
    """Have a plan declined, and return its closed card and its incident."""
    await team.decides("bob", await team.proposed(node), "decline", "the job has to finish")
    card = await team.card(f"Declined: {node}")
    await team.idle()
    return card, (await team.ledger.incidents())[0].id


async def marks(team: ActingTeam) -> list[tuple[str, bool]]:
    """Who said what, as it stands on record."""
    entries = [entry for entry in await team.ledger.read(HOUSE) if entry.kind == VerdictMarked.__name__]
    return [(entry.by.rpartition("/")[2], bool(entry.body["right"])) for entry in entries]


async def says(team: ActingTeam, slack: SlackWorkspace, who: str, card: Message, word: str, incident: str) -> None:
    await slack.click(who, card, FEEDBACK, f"{word}-{incident}")
    await team.idle()


async def test_a_closed_card_asks_and_what_is_said_stands_on_record(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as team:
        offer = await team.proposed("node-1")
        assert FEEDBACK not in json.dumps(offer.blocks), "what is open has no verdict on the verdict"
        await team.decides("bob", offer, "decline", "the job has to finish")
        card = await team.card("Declined: node-1")
        await team.idle()
        incident = (await team.ledger.incidents())[0].id
        (block,) = [block for block in card.blocks if block["type"] == "context_actions"]
        assert [element["type"] for element in block["elements"]] == ["feedback_buttons"]
        await says(team, slack, "alice", card, "wrong", incident)
        await team.told("alice", f"zombie playbooks keep {incident}")
        assert await marks(team) == [("U0ALICE001", False)]
        entry = (await team.ledger.marks())[0]
        assert (entry.event.incident, entry.event.node) == (incident, "node-1")
        assert entry.event.cause == (await team.find(incident)).summary.cause
