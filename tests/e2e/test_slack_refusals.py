"""Who may not, and what does not count: each click has its exact answer, in private, and stands on record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bot.chat.clicks import Submission
from bot.chat.context import NOT_WRITTEN
from bot.chat.decisions import BUG
from bot.chat.people import Person
from bot.domain.errors import LedgerUnavailable, NodeBusy
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased
from tests.slack.acting_team import ALICE, BOB, CAROL, GUEST, TEAM, ActingTeam
from tests.slack.workspace import SlackWorkspace

WHO: dict[str, tuple[str, Callable[[SlackWorkspace], None], str, str]] = {
    "whoever asked": (
        ALICE,
        lambda slack: None,
        "SelfApproval",
        "You asked for this check, so another person has to approve its plan.",
    ),
    "somebody else": (
        CAROL.id,
        lambda slack: None,
        "NotAnApprover",
        "carol is not an approver. Ask an approver: [policy] in zombie.toml.",
    ),
    "guest": (
        GUEST,
        lambda slack: None,
        "NotAnApprover",
        "gina is a guest: only full members of this workspace decide.",
    ),
    "guest of one channel": (
        CAROL.id,
        lambda slack: change(slack, CAROL.id, is_single_channel_guest=True),
        "NotAnApprover",
        "carol is a guest: only full members of this workspace decide.",
    ),
    "of another organisation": (
        BOB,
        lambda slack: change(slack, BOB, is_stranger=True),
        "NotAnApprover",
        "bob is from another organisation: only full members of this workspace decide.",
    ),
    "deactivated": (
        BOB,
        lambda slack: change(slack, BOB, is_deleted=True),
        "NotAnApprover",
        "bob is a deactivated account: only full members of this workspace decide.",
    ),
    "bot": (
        BOB,
        lambda slack: change(slack, BOB, is_bot=True),
        "NotAnApprover",
        "bob is a bot: only full members of this workspace decide.",
    ),
}


def change(slack: SlackWorkspace, user: str, **changes: Any) -> None:
    slack.state.add_user(replace(slack.state.user(user), **changes))


async def test_who_may_not_is_told_so_in_private(slack: SlackWorkspace, team: ActingTeam) -> None:
    offer = await team.proposed("node-1")
    for who, (user, become, name, sentence) in WHO.items():
        before, view = slack.state.user(user), await team.dialog(user, offer)
        become(slack)
        await team.sends(user, view, "let me")
        told = await team.told(user, sentence)
        assert told.text == f"{sentence} ({name})", "the sentence first"
        if who == "whoever asked":
            assert "submit" not in view.fields, "what is known to be refused cannot be sent"
            assert not [one for one in slack.asked("chat.update") if "checking…" in str(one)], "no yes is seen"
        await slack.close(user, view)
        slack.state.add_user(before)
    await team.decided_nothing()
    assert await team.refusals() == [(user, name) for user, _, name, _ in WHO.values()]


async def test_member_of_another_workspace_is_told_so_at_the_click(slack: SlackWorkspace, team: ActingTeam) -> None:
    offer = await team.proposed("node-1")
    change(slack, BOB, team_id="T0OTHER001")
    await slack.click("bob", offer, "approve")
    told = await team.told("bob", "NotAnApprover")
    assert told.text == "That came from another workspace than the bot's own. (NotAnApprover)"
    assert slack.modal("bob") is None
    await team.decided_nothing()
    assert await team.refusals() == [(BOB, "NotAnApprover")]


UNREAD: dict[str, Any] = {
    "missing_scope": lambda slack: slack.faults.error("usergroups.users.list", "missing_scope"),
    "plan_upgrade_required": lambda slack: slack.faults.error("usergroups.users.list", "plan_upgrade_required"),
    "ratelimited": lambda slack: slack.faults.rate_limit("usergroups.users.list", 1),
    "http_500": lambda slack: slack.faults.status("usergroups.users.list", 500),
}


async def test_group_that_cannot_be_asked_lets_nobody_in(slack: SlackWorkspace, team: ActingTeam) -> None:
    offer = await team.proposed("node-1")

    def told() -> list[str]:
        return [one.text for one in slack.messages("oncall-gpu", "bob") if "CannotTell" in one.text]

    for number, unread in enumerate(UNREAD.values(), 1):
        unread(slack)
        view = await team.dialog("bob", offer)  # it is asked again: an answer that did not come is no refusal
        unread(slack)
        await slack.submit("bob", view, {"reason": "yes"})
        said = await slack.until(lambda number=number: told()[number - 1 :], what="the refusal")  # type: ignore[misc]
        assert said[0].startswith("The bot cannot tell whether you may approve. ")
        assert "S0SRE00001" in said[0]
    await team.decided_nothing()
    assert await team.refusals() == [(BOB, "CannotTell")] * len(UNREAD)


async def test_person_who_cannot_be_asked_about_is_not_let_in(slack: SlackWorkspace, team: ActingTeam) -> None:
    view = await team.dialog("bob", await team.proposed("node-1"))
    slack.faults.error("users.info", "user_not_found")
    await slack.submit("bob", view, {"reason": "yes"})
    told = await team.told("bob", "CannotTell")
    assert told.text == "Slack did not say who you are (user_not_found). Try again. (CannotTell)"
    await team.decided_nothing()


async def test_somebody_who_left_the_group_since_the_click_is_out(slack: SlackWorkspace, team: ActingTeam) -> None:
    view = await team.dialog("bob", await team.proposed("node-1"))
    group = slack.state.groups["S0SRE00001"]
    slack.state.groups["S0SRE00001"] = replace(group, members=(ALICE,))
    await slack.submit("bob", view, {"reason": "yes"})
    await team.told("bob", "NotAnApprover")
    await team.decided_nothing()


async def test_yes_that_is_carried_on_after_a_crash_counts_only_for_whoever_still_may(
    slack: SlackWorkspace, team: ActingTeam
) -> None:
    view = await team.dialog("bob", await team.proposed("node-1"))
    team.is_dying = True
    await slack.submit("bob", view, {"reason": "yes"})
    team.is_dying = False
    group = slack.state.groups["S0SRE00001"]
    slack.state.groups["S0SRE00001"] = replace(group, members=(ALICE,))
    await team.restarted("runner-2").decisions.resume_unfinished()
    await team.told("bob", "NotAnApprover")
    await team.decided_nothing()


async def test_who_is_told_that_nothing_was_decided_is_right_also_after_the_next_start(
    slack: SlackWorkspace, team: ActingTeam
) -> None:
    """The record is gone while the yes is handled, and so cannot note that it was."""
    view = await team.dialog("bob", await team.proposed("node-1"))
    team.ledger.is_gone, team.chat_requests.is_gone_for = True, "done"
    await slack.submit("bob", view, {"reason": "yes"})
    await asyncio.sleep(1)
    team.ledger.is_gone, team.chat_requests.is_gone_for = False, ""
    await team.told("bob", NOT_WRITTEN)
    await team.restarted("runner-2").decisions.resume_unfinished()
    await team.decided_nothing()


async def test_yes_whose_commit_was_not_answered_is_not_said_to_be_none(
    slack: SlackWorkspace, team: ActingTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection to the database breaks between the commit and its answer: the card shows what is on record."""
    team.run_plans = False
    offer = await team.proposed("node-1")
    view, decide = await team.dialog("bob", offer), type(team.responder).decide

    async def unanswered(self: Any, incident_id: str, approval: Any) -> Any:
        await decide(self, incident_id, approval)
        raise LedgerUnavailable("The server closed the connection.")

    monkeypatch.setattr(type(team.responder), "decide", unanswered)
    await slack.submit("bob", view, {"reason": "yes"})
    told = await team.told("bob", "The ledger cannot be used now.")
    assert "Unless the card says otherwise once it can, nothing was decided." in told.text
    await team.card("Approved by")


async def test_no_after_ones_own_yes_is_no_repetition_of_it_for_the_next_program(
    slack: SlackWorkspace, team: ActingTeam
) -> None:
    """Two have to say yes; bob has, thinks again, and his program dies once his no is on disk."""
    team.needed, team.run_plans = 2, False
    offer = await team.proposed("node-1")
    await team.decides("bob", offer)
    await team.idle()
    (incident,) = await team.ledger.incidents()
    assert len((await team.find(incident.id)).endorsements) == 1
    view = await team.dialog("bob", offer, "decline")
    team.is_dying = True
    assert (await slack.submit("bob", view, {"reason": "not during the rollout"})).errors == {}
    team.is_dying = False
    await team.restarted("runner-2").decisions.resume_unfinished()
    await team.until_state("declined")


async def test_who_is_told_that_the_record_cannot_be_used_is_told_to_look_at_the_card(
    slack: SlackWorkspace, team: ActingTeam
) -> None:
    """The yes is on disk, the answer to that is lost, and the program dies before it can take it back."""
    team.run_plans = False
    offer = await team.proposed("node-1")
    view, keep = await team.dialog("bob", offer), team.chat_requests.keep

    async def unanswered(key: str, body: str = "", *, done: bool = False) -> bool:
        await keep(key, body, done=done)
        raise LedgerUnavailable("The server closed the connection.")

    team.chat_requests.keep, team.is_dying = unanswered, True
    sent = await slack.submit("bob", view, {"reason": "yes"})
    assert NOT_WRITTEN in sent.errors["reason"]
    team.chat_requests.keep, team.is_dying = keep, False
    await team.restarted("runner-2").decisions.resume_unfinished()
    await team.card("Approved by")


async def test_bug_in_one_decision_of_a_card_hides_nothing_of_the_others(
    slack: SlackWorkspace, team: ActingTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.run_plans = False
    view = await team.dialog("bob", await team.proposed("node-1", "node-2", "node-3"))
    node_of = {one.id: one.node for one in await team.ledger.incidents()}
    decide = type(team.responder).decide

    async def sometimes(self: Any, incident_id: str, approval: Any) -> Any:
        if node_of[incident_id] == "node-1":
            raise ValueError("a bug")
        if node_of[incident_id] == "node-2":
            raise NodeBusy("It is being acted on.")
        return await decide(self, incident_id, approval)

    monkeypatch.setattr(type(team.responder), "decide", sometimes)
    await slack.submit("bob", view, {"reason": "yes"})
    told = await team.told("bob", "NodeBusy")
    assert sorted(told.text.split("\n")) == [f"node-1: {BUG}", "node-2: It is being acted on. (NodeBusy)"]
    await team.idle()
    assert {one.node: one.state.value for one in await team.ledger.incidents()}["node-3"] == "approved"


async def test_yes_that_meets_a_bug_is_answered(
    slack: SlackWorkspace, team: ActingTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = await team.dialog("bob", await team.proposed("node-1"))

    async def broken(*_: object, **__: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(type(team.acting.decisions), "_incidents_and_notice", broken)
    await slack.submit("bob", view, {"reason": "yes"})
    await team.told("bob", BUG)
    await team.decided_nothing()


async def test_yes_that_was_refused_for_the_brake_is_not_taken_up_once_it_is_released(
    slack: SlackWorkspace, team: ActingTeam
) -> None:
    view = await team.dialog("bob", await team.proposed("node-1"))
    pulled = await team.ledger.append(HOUSE, None, BrakePulled("a rollout"), f"slack:T0DEMO0001/{ALICE}")
    team.chat_requests.is_gone_for = "done"
    await slack.submit("bob", view, {"reason": "yes"})
    await asyncio.sleep(1)
    team.chat_requests.is_gone_for = ""
    await team.told("bob", "Braked")
    await team.ledger.append(HOUSE, None, BrakeReleased("it is over", pulled.seq), f"slack:T0DEMO0001/{ALICE}")
    await team.restarted("runner-2").decisions.resume_unfinished()
    await team.decided_nothing()


async def test_who_is_told_in_the_dialog_that_nothing_was_decided_is_right_although_it_was_kept_too_late(
    slack: SlackWorkspace, team: ActingTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.decisions.KEEP_SECONDS", 0.1)
    view, keep = await team.dialog("bob", await team.proposed("node-1")), team.chat_requests.keep

    async def late(key: str, body: str = "", *, done: bool = False) -> bool:
        await asyncio.sleep(0.3)
        return bool(await keep(key, body, done=done))

    team.chat_requests.keep, team.chat_requests.is_gone_for = late, "done"
    sent = await slack.submit("bob", view, {"reason": "yes"})
    assert NOT_WRITTEN in sent.errors["reason"]
    await asyncio.sleep(1)
    team.chat_requests.is_gone_for = ""
    await team.idle()
    await team.restarted("runner-2").decisions.resume_unfinished()
    await team.decided_nothing()


async def test_only_of_the_plan_that_was_not_decided_is_said_that_nothing_was(
    slack: SlackWorkspace, team: ActingTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.run_plans = False
    view = await team.dialog("bob", await team.proposed("node-1", "node-2"))
    decide = type(team.responder).decide
    first = [one.id for one in await team.ledger.incidents() if one.node == "node-1"]

    async def sometimes(self: Any, incident_id: str, approval: Any) -> Any:
        if incident_id in first:
            raise LedgerUnavailable("The database is locked.")
        return await decide(self, incident_id, approval)

    monkeypatch.setattr(type(team.responder), "decide", sometimes)
    await slack.submit("bob", view, {"reason": "yes"})
    told = await team.told("bob", "nothing was decided")
    assert told.text.startswith(f"node-1: {NOT_WRITTEN}")
    await team.idle()
    assert sorted((one.node, one.state.value) for one in await team.ledger.incidents()) == [
        ("node-1", "proposed"),
        ("node-2", "approved"),
    ]


async def test_one_person_who_says_yes_to_two_programs_at_once_is_one_voice(
    slack: SlackWorkspace, team: ActingTeam
) -> None:
    team.needed, team.run_plans = 2, False
    offer = await team.proposed("node-1")
    sent = []
    for key in ("sent-1", "sent-2"):
        view = await team.dialog("bob", offer)
        sent.append(Submission(key, Person(BOB, TEAM), view.private_metadata, "yes"))
        await slack.close("bob", view)
    programs = (team.acting.decisions, team.restarted("runner-2").decisions)
    taken = await asyncio.gather(
        *(program.handle_submission(each) for program, each in zip(programs, sent, strict=True))
    )
    assert taken == ["", ""]
    assert "You have said yes already; 1 of 2 have." in (await team.told("bob", "NotEnoughApprovers")).text
    await team.decided_nothing()
    (incident,) = await team.ledger.incidents()
    assert len((await team.find(incident.id)).endorsements) == 1


async def test_dialog_that_slack_does_not_open_is_said(slack: SlackWorkspace, team: ActingTeam) -> None:
    offer = await team.proposed("node-1")
    slack.triggers.are_dead = True
    await slack.click("bob", offer, "approve")
    told = await team.told("bob", "CannotTell")
    assert told.text == "Slack did not open the dialog (expired_trigger_id). Click again. (CannotTell)"


async def test_answer_of_a_minute_ago_serves_where_slack_is_asked_too_often(
    slack: SlackWorkspace, team: ActingTeam
) -> None:
    await team.decides("bob", await team.proposed("node-1"))
    await team.card("Approved by")
    offer = await team.proposed("node-2", key="cmd-2")
    slack.faults.rate_limit("usergroups.users.list", 1)
    await team.decides("bob", offer)
    await slack.until(lambda: len(team.cards("Approved by")) == 2, what="both approved")
