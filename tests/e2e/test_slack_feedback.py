"""Right or wrong, said by two buttons on closed cards: what goes on record, who may say it, and what comes of it."""

from __future__ import annotations

import json
from pathlib import Path

from bot.chat.clicks import Click
from bot.chat.people import Person
from bot.demo.slack.message import Message
from bot.domain.house_events import HOUSE
from bot.extras.marks.marker import PER_PERSON
from bot.extras.marks.marks import VerdictMarked
from tests.slack.acting_team import GUEST, ONCALL, TEAM, ActingTeam, acting_team
from tests.slack.workspace import SlackWorkspace, workspace

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
    await slack.click(who, card, f"{FEEDBACK}-{word}")
    if word == "wrong":
        await answers(team, who)
    await team.idle()


async def answers(team: ActingTeam, who: str, was: str = "io-stall") -> None:
    """Say in the dialog what it was instead."""
    view = await team.slack.until(lambda: team.slack.modal(who), what="the question")
    assert "What was it?" in json.dumps(view.blocks)
    sent = await team.slack.submit(who, view, {"reason": was})
    assert (dict(sent.errors), sent.trouble) == ({}, "")


async def test_a_closed_card_asks_and_what_is_said_stands_on_record(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as team:
        offer = await team.proposed("node-1")
        assert FEEDBACK not in json.dumps(offer.blocks), "what is open has no verdict on the verdict"
        await team.decides("bob", offer, "decline", "the job has to finish")
        card = await team.card("Declined: node-1")
        await team.idle()
        incident = (await team.ledger.incidents())[0].id
        await says(team, slack, "alice", card, "wrong", incident)
        await team.told("alice", f"zombie playbooks keep {incident} --dir DIR --expect io-stall")
        assert await marks(team) == [("U0ALICE001", False)]
        body = (await team.marks.read())[0].body
        assert (body["incident"], body["node"], body["was"]) == (incident, "node-1", "io-stall")
        assert body["cause"] == (await team.find(incident)).summary.cause


async def test_a_click_that_is_delivered_again_later_changes_nothing(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as team:
        card, incident = await closed(team)
        click = Click("click-1", Person("U0ALICE001", TEAM), FEEDBACK, f"right-{incident}", "", "", ONCALL, card.ts)
        desk = team.acting.decisions
        desk.handle_click(click)
        await team.idle()
        await says(team, slack, "alice", card, "wrong", incident)
        again = team.restarted("runner-2")  # it never heard of the first
        team.chat_requests.is_gone_for = "keep"  # and nothing noted the click
        again.decisions.handle_click(click)
        await team.idle()
        assert await marks(team) == [("U0ALICE001", True), ("U0ALICE001", False)]


async def test_nobody_but_members_may_say_so_and_only_on_the_card_itself(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as team:
        card, incident = await closed(team)
        for who, where, value in (
            (Person(GUEST, TEAM), card.ts, f"wrong-{incident}"),
            (Person("U0ALICE001", "T0OTHER001"), card.ts, f"wrong-{incident}"),
            (Person("U0ALICE001", TEAM), "1.000001", f"wrong-{incident}"),
            (Person("U0ALICE001", TEAM), card.ts, "wrong-0000000000"),
            (Person("U0ALICE001", TEAM), card.ts, f"maybe-{incident}"),
            (Person("U0ALICE001", TEAM), card.ts, "wrong-house"),
        ):
            team.acting.decisions.handle_click(
                Click(f"{where}{value}{who}", who, FEEDBACK, value, "", "", ONCALL, where)
            )
            await team.idle()
        assert await marks(team) == []
        names = [refusal for _, refusal in await team.refusals()]
        assert names == ["NotAllowedToAsk", "NotAnApprover", *["NothingProposed"] * 4]


async def test_one_person_marks_so_many_and_no_more(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as team:
        card, incident = await closed(team)
        person = Person("U0ALICE001", TEAM)
        for number in range(PER_PERSON.most + 3):
            value = f"{('right', 'back')[number % 2]}-{incident}"
            team.acting.decisions.handle_click(Click(f"c{number}", person, FEEDBACK, value, "", "", ONCALL, card.ts))
            await team.idle()
        assert len(await marks(team)) == PER_PERSON.most
        assert await team.refusals() == [("U0ALICE001", "TooManyRequests")] * 3
        team.world.later = PER_PERSON.within
        await says(team, slack, "alice", card, "right", incident)
        assert len(await marks(team)) == PER_PERSON.most + 1


async def test_several_nodes_are_marked_one_by_one(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as team:
        await team.decides("bob", await team.proposed("node-1", "node-2"), "decline", "the job has to finish")
        card = await slack.until(
            lambda: next((card for card in team.cards("declined") if FEEDBACK in json.dumps(card.blocks)), None),
            what="the closed card",
        )
        await team.idle()
        await slack.click("alice", card, "feedback-wrong", "node-2")
        await answers(team, "alice")
        await slack.click("alice", card, "feedback-right", "node-1")
        await team.idle()
        told = [(entry.body["node"], entry.body["right"]) for entry in await team.marks.read()]
        assert sorted(told) == [("node-1", True), ("node-2", False)]
