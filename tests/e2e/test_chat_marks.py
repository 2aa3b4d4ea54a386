"""Right or wrong, said by two buttons on closed cards: what goes on record, who may say it, and what comes of it."""

from __future__ import annotations

import json
from typing import Any

from bot.chat.clicks import Click
from bot.chat.people import Person
from bot.domain.house_events import HOUSE
from bot.extras.marks.marker import PER_PERSON
from bot.extras.marks.marks import VerdictMarked, score_of
from tests.slack.acting_team import ALICE, GROUPED, GUEST, ONCALL, TEAM, ActingTeam
from tests.slack.memory_chat import MemoryChat

FEEDBACK = "feedback"
PERSON = Person(ALICE, TEAM)


async def closed(team: ActingTeam, *nodes: str) -> tuple[Any, str]:
    """Have a plan declined, and return its closed card and its incident."""
    offer = await team.proposed(*nodes or ("node-1",))
    assert FEEDBACK not in json.dumps(offer.blocks), "what is open has no verdict on the verdict"
    await team.decides("bob", offer, "decline", "the job has to finish")
    await team.idle()
    await team.slack.until(lambda: FEEDBACK in json.dumps(offer.blocks), what="the question on the closed card")
    return offer, (await team.ledger.incidents())[0].id


async def marks(team: ActingTeam) -> list[tuple[str, bool]]:
    """Who said what, as it stands on record."""
    entries = [entry for entry in await team.ledger.read(HOUSE) if entry.kind == VerdictMarked.__name__]
    return [(entry.by.rpartition("/")[2], bool(entry.body["right"])) for entry in entries]


async def says(team: ActingTeam, card: Any, word: str, node: str = "") -> None:
    """Have alice say that it was right, or wrong and what it was instead."""
    await team.slack.click("alice", card, f"{FEEDBACK}-{word}", node)
    if word == "wrong":
        view = await team.slack.until(lambda: team.slack.modal("alice"), what="the question")
        assert (await team.slack.submit("alice", view, {"reason": "io-stall"})).errors == {}
    await team.idle()


async def test_what_is_said_of_a_closed_card_stands_on_record(team: ActingTeam) -> None:
    card, incident = await closed(team)
    await says(team, card, "wrong")
    await team.told("alice", f"zombie playbooks keep {incident} --dir DIR --expect io-stall")
    assert await marks(team) == [(ALICE, False)]
    body = (await team.marks.read())[0].body
    assert (body["incident"], body["node"], body["was"], body["approvers"]) == (incident, "node-1", "io-stall", 2)
    assert body["cause"] == (await team.find(incident)).summary.cause


async def test_a_click_that_is_delivered_again_later_changes_nothing(team: ActingTeam) -> None:
    card, incident = await closed(team)
    click = Click("again", PERSON, FEEDBACK, f"right-{incident}", "", "", ONCALL, card.ts)
    desk = team.acting.decisions
    desk.handle_click(click)
    await team.idle()
    await says(team, card, "wrong")
    again = team.restarted("runner-2")  # it never heard of the first
    team.chat_requests.lose("keep")  # and nothing noted the click
    again.decisions.handle_click(click)
    await team.idle()
    assert await marks(team) == [(ALICE, True), (ALICE, False)]


async def test_nobody_but_members_may_say_so_and_only_on_the_card_itself(team: ActingTeam) -> None:
    card, incident = await closed(team)
    for who, where, value in (
        (Person(GUEST, TEAM), card.ts, f"wrong-{incident}"),
        (Person(ALICE, "T0OTHER001"), card.ts, f"wrong-{incident}"),
        (PERSON, "1.000001", f"wrong-{incident}"),
        (PERSON, card.ts, "wrong-0000000000"),
        (PERSON, card.ts, f"maybe-{incident}"),
        (PERSON, card.ts, "wrong-house"),
    ):
        team.acting.decisions.handle_click(Click(f"{where}{value}{who}", who, FEEDBACK, value, "", "", ONCALL, where))
        await team.idle()
    assert await marks(team) == []
    names = [refusal for _, refusal in await team.refusals()]
    assert names == ["NotAllowedToAsk", "NotAnApprover", *["NothingProposed"] * 4]


async def test_one_person_marks_so_many_and_no_more(team: ActingTeam) -> None:
    card, incident = await closed(team)
    for number in range(PER_PERSON.most + 3):
        value = f"{('right', 'back')[number % 2]}-{incident}"
        team.acting.decisions.handle_click(Click(f"c{number}", PERSON, FEEDBACK, value, "", "", ONCALL, card.ts))
        await team.idle()
    assert len(await marks(team)) == PER_PERSON.most
    assert await team.refusals() == [(ALICE, "TooManyRequests")] * 3
    team.world.later = PER_PERSON.within
    await says(team, card, "right")
    assert len(await marks(team)) == PER_PERSON.most + 1


async def test_several_nodes_are_marked_one_by_one(team: ActingTeam) -> None:
    card, _ = await closed(team, "node-1", "node-2")
    for word, node in (("wrong", "node-2"), ("right", "node-1")):
        await says(team, card, word, node)
    told = [(entry.body["node"], entry.body["right"]) for entry in await team.marks.read()]
    assert sorted(told) == [("node-1", True), ("node-2", False)]


async def test_word_that_was_not_noted_as_done_is_not_said_again_after_a_restart(team: ActingTeam) -> None:
    card, _ = await closed(team)
    team.chat_requests.lose("mark_done")
    await says(team, card, "wrong")
    team.chat_requests.is_back()
    await says(team, card, "right")
    await team.restarted("runner-2").decisions.resume_unfinished()
    await team.idle()
    assert await marks(team) == [(ALICE, False), (ALICE, True)]


async def test_mark_of_whom_the_chat_cannot_place_is_refused_and_lifts_no_doubt(
    chat: MemoryChat, team: ActingTeam
) -> None:
    card, _ = await closed(team)
    chat.silent = {"group"}
    await says(team, card, "right")
    assert await marks(team) == []
    assert await team.refusals() == [(ALICE, "CannotTell")]


async def test_doubt_is_lifted_in_the_chat_by_one_who_may_approve_and_by_nobody_else(
    chat: MemoryChat, team: ActingTeam
) -> None:
    async def in_doubt() -> bool:
        return score_of(await team.marks.read(), "lockup", GROUPED).in_doubt

    for who in "123":  # they were in the group when they said so
        mark = VerdictMarked(f"i{who}", "lockup", right=False, groups=tuple(GROUPED.approver_groups))
        await team.marks.append(mark, f"slack:{TEAM}/U{who}")
    for person, words, told in (
        ("bob", "looked-at lockup", "Say `/zombie looked-at CAUSE REASON`."),
        ("carol", "looked-at lockup a look", "carol is not an approver."),
        ("bob", "looked-at io-stall a look", "io-stall is not in doubt"),
    ):
        await chat.say(person, ONCALL, words)
        await team.told(person, told)
        assert await in_doubt()
    chat.silent = {"group"}
    await chat.say("bob", ONCALL, "looked-at lockup a look")
    await team.told("bob", "CannotTell")
    chat.silent = set()
    assert await in_doubt()
    await chat.say("bob", ONCALL, "looked-at lockup the threshold is 5 s now")
    await team.told("bob", "3 of 3 people who may approve said that lockup was wrong.")
    assert not await in_doubt()
    last = (await team.marks.read())[-1]
    assert (last.by, last.body["reason"]) == (f"slack:{TEAM}/{chat.ids['bob']}", "the threshold is 5 s now")
    assert [refusal for _, refusal in await team.refusals()] == ["NotAnApprover", "NothingToMark", "CannotTell"]
