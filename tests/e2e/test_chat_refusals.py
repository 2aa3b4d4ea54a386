"""Who may not, and what does not count: each click has its exact answer, in private, and stands on record."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.chat.clicks import UNKNOWN_BUTTON, Click, Submission
from bot.chat.context import NOT_WRITTEN
from bot.chat.decisions import BUG, NOT_NOTED
from bot.chat.dialog import HOME, Intent, MetadataSigner
from bot.chat.people import Person
from bot.domain.entry import Entry
from bot.domain.errors import LedgerUnavailable
from bot.domain.events import GO_ON, Endorsed
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased
from bot.domain.policy import Approval
from tests.slack.acting_team import ALICE, BOB, CAROL, GUEST, ONCALL, TEAM, ActingTeam, acting_team
from tests.slack.memory_chat import MemoryChat


@pytest.fixture(autouse=True)
def soon_noted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.chat.decisions.NOTED_AGAIN_SECONDS", 0.05)


ASKED = "You asked for this check, so another person has to approve its plan."
NOBODY = "carol is not an approver. Ask an approver: [policy] in zombie.toml."
OUTSIDER = f"{GUEST} is a guest: only full members of this workspace decide."
WHO = ((ALICE, "SelfApproval", ASKED), (CAROL.id, "NotAnApprover", NOBODY), (GUEST, "NotAnApprover", OUTSIDER))


async def test_who_may_not_is_told_so_in_private(chat: MemoryChat, team: ActingTeam) -> None:
    offer = await team.proposed("node-1")
    for user, name, sentence in WHO:
        view = await team.dialog(user, offer)
        await team.sends(user, view, "let me")
        told = await team.told(user, sentence)
        assert told.text == f"{sentence} ({name})", "the sentence first"
        if user == ALICE:
            assert "submit" not in view.fields, "what is known to be refused cannot be sent"
            assert not [text for text in chat.edited if "checking…" in text], "no yes is seen"
        await chat.close(user, view)
    await team.decided_nothing()
    assert await team.refusals() == [(user, name) for user, name, _ in WHO]


async def test_who_asked_may_decline_and_need_be_no_approver(team: ActingTeam) -> None:
    await team.decides("carol", await team.proposed("node-1", asked_by=CAROL.id), "decline", "the job has to finish")
    await team.until_state("declined")


async def test_while_a_chat_does_not_say_who_somebody_is_nobody_is_let_in(chat: MemoryChat, team: ActingTeam) -> None:
    view = await team.dialog("bob", await team.proposed("node-1"))
    for unsaid, sentence in (
        (
            "group",
            f"The bot cannot tell whether you may approve. Memory does not say who is in the group {chat.group}.",
        ),
        ("person", "Memory did not say who you are."),
    ):
        chat.silent = {unsaid}
        await chat.submit("bob", view, {"reason": "yes"})
        assert (await team.told("bob", sentence)).text == f"{sentence} Try again. (CannotTell)"
    chat.silent.clear()
    await team.decided_nothing()
    assert await team.refusals() == [(BOB, "CannotTell")] * 2


async def test_dialog_that_is_not_opened_is_said(chat: MemoryChat, team: ActingTeam) -> None:
    offer = await team.proposed("node-1")
    chat.silent = {"dialog"}
    await chat.click("bob", offer, "approve")
    assert (await team.told("bob", "CannotTell")).text == "Memory did not open the dialog. Click again. (CannotTell)"


COPY = "This is not the card of that incident; use the buttons on the card itself."
FORGED: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown value": ({"value": "0123456789ab"}, "NothingProposed", UNKNOWN_BUTTON),
    "value that is no name": ({"value": "../../etc/passwd <!channel>"}, "NothingProposed", UNKNOWN_BUTTON),
    "unknown button": ({"action": "reboot_everything"}, "NothingProposed", UNKNOWN_BUTTON),
    "undo of what is not there": ({"action": "undo", "value": "nosuchone"}, "NothingProposed", UNKNOWN_BUTTON),
    "brake of another kind": ({"action": "brake", "value": "sideways"}, "NothingProposed", UNKNOWN_BUTTON),
    "answer to no question": ({"action": "answer-7", "value": "nosuchone"}, "NothingProposed", UNKNOWN_BUTTON),
    "another message": ({"ts": "1.000002"}, "NothingProposed", COPY),
    "another channel": ({"channel": "C0ALERTS01"}, "NothingProposed", COPY),
    "another workspace": (
        {"person": Person(BOB, "T0OTHER001")},
        "NotAnApprover",
        "That came from another workspace than the bot's own.",
    ),
}


async def test_click_that_is_not_what_it_says_opens_nothing(chat: MemoryChat, team: ActingTeam) -> None:
    offer = await team.proposed("node-1")
    view = await team.dialog("bob", offer)
    await chat.close("bob", view)
    (genuine,) = chat.clicked
    for number, (changes, name, sentence) in enumerate(FORGED.values(), 1):
        click: Click = replace(genuine, key=f"forged-{number}", **changes)
        team.acting.decisions.handle_click(click)
        await team.idle()
        assert [one.text for one in chat.messages(click.channel, "bob")][-1] == f"{sentence} ({name})"
        assert len(await team.refusals()) == number
        assert chat.modal("bob") is None
    await team.decided_nothing()
    assert await team.refusals() == [(BOB, name) for _, name, _ in FORGED.values()]


async def test_seal_of_a_home_is_no_dialog(team: ActingTeam) -> None:
    await team.proposed("node-1")
    (incident,) = await team.ledger.incidents()
    sealed = MetadataSigner("memory").sign(Intent(HOME, BOB, {incident.id: ""}, ONCALL))
    sent = Submission("sent-home", Person(BOB, TEAM), sealed, "let me")
    assert await team.acting.decisions.handle_submission(sent) == ""
    assert (await team.told("bob", "NothingProposed")).text.startswith("This bot cannot do that.")
    await team.decided_nothing()


async def test_somebody_who_left_the_group_since_the_click_is_out(chat: MemoryChat, team: ActingTeam) -> None:
    view = await team.dialog("bob", await team.proposed("node-1"))
    chat.members = frozenset({ALICE})
    await chat.submit("bob", view, {"reason": "yes"})
    await team.told("bob", "NotAnApprover")
    await team.decided_nothing()


async def test_yes_that_is_carried_on_after_a_crash_counts_only_for_whoever_still_may(
    chat: MemoryChat, team: ActingTeam
) -> None:
    view = await team.dialog("bob", await team.proposed("node-1"))
    await team.dies_over("bob", view, "yes")
    chat.members = frozenset({ALICE})
    await team.goes_on()
    await team.told("bob", "NotAnApprover")
    await team.decided_nothing()


async def test_who_is_told_that_nothing_was_decided_is_right_also_after_the_next_start(
    chat: MemoryChat, team: ActingTeam
) -> None:
    """The record is gone while the yes is handled, and so cannot note that it was."""
    view = await team.dialog("bob", await team.proposed("node-1"))
    team.ledger.is_gone = True
    team.chat_requests.lose("mark_done")
    await chat.submit("bob", view, {"reason": "yes"})
    await team.told("bob", NOT_NOTED)
    team.ledger.is_back()
    team.chat_requests.is_back()
    await team.told("bob", NOT_WRITTEN)
    await team.goes_on()
    await team.decided_nothing()


async def test_yes_whose_commit_was_not_answered_is_not_said_to_be_none(
    chat: MemoryChat, team: ActingTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection to the database breaks between the commit and its answer: the card shows what is on record."""
    offer = await team.proposed("node-1")
    view, decide = await team.dialog("bob", offer), type(team.responder).decide

    async def unanswered(self: Any, incident_id: str, approval: Any) -> Any:
        await decide(self, incident_id, approval)
        raise LedgerUnavailable("The server closed the connection.")

    monkeypatch.setattr(type(team.responder), "decide", unanswered)
    await chat.submit("bob", view, {"reason": "yes"})
    told = await team.told("bob", "The ledger cannot be used now.")
    assert "Unless the card says otherwise once it can, nothing was decided." in told.text
    await team.card("Approved by")


async def test_no_after_ones_own_yes_is_no_repetition_of_it_for_the_next_program(
    chat: MemoryChat, team: ActingTeam
) -> None:
    """Two have to say yes; bob has, says no in the same words, and his program dies once that is on disk."""
    team.needed = 2
    offer = await team.proposed("node-1")
    await team.decides("bob", offer)
    await team.idle()
    (incident,) = await team.ledger.incidents()
    assert len((await team.find(incident.id)).endorsements) == 1
    view = await team.dialog("bob", offer, "decline")
    assert (await team.dies_over("bob", view, "it leaks")).errors == {}
    await team.goes_on()
    await team.until_state("declined")


async def test_who_is_told_that_the_record_cannot_be_used_is_told_to_look_at_the_card(
    chat: MemoryChat, team: ActingTeam
) -> None:
    """The yes is on disk, the answer to that is lost, and the program dies before it can take it back."""
    offer = await team.proposed("node-1")
    view, keep = await team.dialog("bob", offer), team.chat_requests.keep

    async def unanswered(key: str, body: str = "", *, done: bool = False) -> bool:
        await keep(key, body, done=done)
        raise LedgerUnavailable("The server closed the connection.")

    team.chat_requests.keep = unanswered
    sent = await team.dies_over("bob", view, "yes")
    assert NOT_WRITTEN in sent.errors["reason"]
    team.chat_requests.keep = keep
    await team.goes_on()
    await team.card("Approved by")


async def test_what_keeps_one_plan_of_a_card_from_being_decided_hides_and_stops_nothing_of_the_others(
    team: ActingTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = await team.dialog("bob", await team.proposed("node-1", "node-2", "node-3"))
    node_of = {one.id: one.node for one in await team.ledger.incidents()}
    troubles = {"node-1": ValueError("a bug"), "node-2": LedgerUnavailable("The database is locked.")}
    decide = type(team.responder).decide

    async def sometimes(self: Any, incident_id: str, approval: Any) -> Any:
        if (trouble := troubles.get(node_of[incident_id])) is not None:
            raise trouble
        return await decide(self, incident_id, approval)

    monkeypatch.setattr(type(team.responder), "decide", sometimes)
    await team.slack.submit("bob", view, {"reason": "yes"})
    told = await team.told("bob", BUG)
    assert sorted(told.text.split("\n")) == [f"node-1: {BUG}", f"node-2: {NOT_WRITTEN} Try again. (CannotTell)"]
    await team.idle()
    states = {one.node: one.state.value for one in await team.ledger.incidents()}
    assert states == {"node-1": "proposed", "node-2": "proposed", "node-3": "approved"}


async def test_yes_that_meets_a_bug_is_answered(
    chat: MemoryChat, team: ActingTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = await team.dialog("bob", await team.proposed("node-1"))

    async def broken(*_: object, **__: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(type(team.acting.decisions), "_incidents_and_notice", broken)
    await chat.submit("bob", view, {"reason": "yes"})
    await team.told("bob", BUG)
    await team.decided_nothing()


async def test_yes_that_was_refused_for_the_brake_is_not_taken_up_once_it_is_released(
    chat: MemoryChat, team: ActingTeam
) -> None:
    view = await team.dialog("bob", await team.proposed("node-1"))
    pulled = await team.ledger.append(HOUSE, None, BrakePulled("a rollout"), f"slack:{TEAM}/{ALICE}")
    team.chat_requests.lose("mark_done")
    await chat.submit("bob", view, {"reason": "yes"})
    await team.told("bob", NOT_NOTED)
    team.chat_requests.is_back()
    await team.told("bob", "Braked")
    await team.ledger.append(HOUSE, None, BrakeReleased("it is over", pulled.seq), f"slack:{TEAM}/{ALICE}")
    await team.goes_on()
    await team.decided_nothing()


async def test_who_is_told_in_the_dialog_that_nothing_was_decided_is_right_although_it_was_kept_too_late(
    chat: MemoryChat, team: ActingTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.decisions.KEEP_SECONDS", 0.1)
    view, keep = await team.dialog("bob", await team.proposed("node-1")), team.chat_requests.keep

    async def late(key: str, body: str = "", *, done: bool = False) -> bool:
        await asyncio.sleep(0.3)
        return bool(await keep(key, body, done=done))

    team.chat_requests.keep = late
    team.chat_requests.lose("mark_done")
    sent = await chat.submit("bob", view, {"reason": "yes"})
    assert NOT_WRITTEN in sent.errors["reason"]
    await asyncio.sleep(0.5)
    team.chat_requests.is_back()
    await team.idle()
    await team.goes_on()
    await team.decided_nothing()


async def test_one_person_who_says_yes_to_two_programs_at_once_is_one_voice(chat: MemoryChat, team: ActingTeam) -> None:
    team.needed = 2
    offer = await team.proposed("node-1")
    sent = []
    for key in ("sent-1", "sent-2"):
        view = await team.dialog("bob", offer)
        sent.append(Submission(key, Person(BOB, TEAM), view.private_metadata, "yes"))
        await chat.close("bob", view)
    programs = (team.acting.decisions, team.restarted("runner-2").decisions)
    taken = await asyncio.gather(
        *(program.handle_submission(each) for program, each in zip(programs, sent, strict=True))
    )
    assert taken == ["", ""]
    assert "You have said yes already; 1 of 2 have." in (await team.told("bob", "NotEnoughApprovers")).text
    await team.decided_nothing()
    (incident,) = await team.ledger.incidents()
    assert len((await team.find(incident.id)).endorsements) == 1


async def test_first_of_two_yeses_that_is_drawn_while_it_is_recorded_leaves_the_buttons(team: ActingTeam) -> None:
    team.needed = 2
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


async def test_dialog_of_an_earlier_question_answers_no_later_one(chat: MemoryChat, tmp_path: Path) -> None:
    async with acting_team(chat, tmp_path, endings="other-key", chat=chat) as team:
        await team.decides("bob", await team.proposed("node-1"))
        view = await team.dialog("bob", await team.card("A question: "), "answer-1")
        await team.idle()
        (summary,) = await team.ledger.incidents()
        team.world.later = timedelta(minutes=1)
        alice = Approval(f"slack:{TEAM}/{ALICE}", "it is back", groups=team.responder.policy.approver_groups)
        await team.responder.answer(summary.id, GO_ON, alice)
        team.decided(summary.id)
        await team.idle()
        asked_again = await team.find(summary.id)
        assert asked_again.state == "unknown"
        await chat.submit("bob", view, {"reason": "somebody replaced it"})
        told = await team.told("bob", "StaleRequest")
        assert "That was about an earlier question. Open is: " in told.text
        await team.idle()
        assert (await team.find(summary.id)).seq == asked_again.seq
