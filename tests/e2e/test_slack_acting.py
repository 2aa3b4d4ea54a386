"""Two people and a plan in Slack: from the button to the cure, undo, and who was first."""

from __future__ import annotations

import asyncio
import copy
import json
from datetime import timedelta
from functools import partial
from pathlib import Path

from bot.demo.slack.message import Message
from bot.demo.slack.people import BOT_USER
from bot.demo.slack.view import View
from bot.domain.entry import Head
from tests.slack.acting_team import BOB, ONCALL, acting_team, people, with_carol
from tests.slack.notified import mentions
from tests.slack.workspace import SlackWorkspace, workspace


async def test_second_person_approves_and_the_card_follows_to_the_cure(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as team:
        offer = await team.proposed("node-1")
        view = await team.dialog("bob", offer)
        assert (view.callback_id, view.fields["title"]["text"]) == ("reason", "Approve")
        shown = str(view.blocks)
        assert "node-1" in shown
        assert "sudo -n systemctl disable --now -- ecs.service" in shown
        assert "everything that runs on the node ends" in shown
        team.world.looking.clear()
        sent = await slack.submit("bob", view, {"reason": "core 39 is gone"})
        assert sent.view is None, "the dialog has closed"
        await team.card(f"checking… <@{BOB}> said yes")
        team.world.looking.set()
        card = await team.card("Resolved: node-1")
        assert card.ts == offer.ts
        assert "leaked-memory-cgroups" in card.text
        assert f"Approved by <@{BOB}>" in card.text
        assert "core 39 is gone" in card.text
        assert sum(team.stage.nodes["node-1"].reboots.values()) == 1
        assert await team.refusals() == []
        await team.idle()
        (said,) = slack.thread(card)[1:]
        house = await team.ledger.read("house")
        heads = [Head(entry.seq, entry.hash).noted for entry in house]
        assert any(f"record {head}" in json.dumps(card.blocks) for head in heads), "the record's end stands on it"
        yes = next(at for at, entry in enumerate(house) if entry.body.get("kind") == "Approved")
        assert said.text.startswith(f"<@{BOB}> said yes to node-1. record ")
        assert said.text.rpartition(" ")[2] in heads[yes:], "the record as it stood with the yes in it"


async def test_button_of_several_covers_those_still_proposed(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as team:
        team.run_plans = False
        await team.proposed("node-1", "node-2", "node-3")
        offer = await team.card("3 nodes: 3 critical; 3 wait for approval")
        view = await team.dialog("bob", offer)
        assert all(f"node-{n}" in str(view.blocks) for n in (1, 2, 3))
        team.stage.nodes["node-2"].boot += 1
        await slack.submit("bob", view, {"reason": "all three leak"})
        told = await team.told("bob", "node-2: Read again")
        assert "node-1" not in told.text
        await team.card("3 nodes: 3 critical; 2 approved, 1 cancelled")


async def test_button_of_one_among_several_covers_that_one_alone(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as team:
        team.run_plans = False
        await team.proposed("node-1", "node-2")
        offer = await team.card("2 nodes: 2 critical; 2 wait for approval")
        (row,) = [block for block in offer.blocks if "Review and approve node-2" in str(block)]
        await slack.click("bob", offer, "approve", block_id=row["block_id"])
        view = await slack.until(lambda: slack.modal("bob"), what="the dialog")
        assert "node-2" in str(view.blocks)
        assert "node-1" not in str(view.blocks)
        await slack.submit("bob", view, {"reason": "this one first"})
        card = await team.card("2 nodes: 2 critical; 1 wait for approval, 1 approved")
        assert "Review and approve node" not in str(card.blocks), "one is left, and it has the buttons of the card"


async def test_card_of_before_a_restart_works(tmp_path: Path) -> None:
    async with workspace() as slack:
        async with acting_team(slack, tmp_path) as team:
            offer = await team.proposed("node-1")
            clicked = await slack.click("bob", offer, "approve")
            view = await slack.until(lambda: slack.modal("bob"), what="the dialog")
        async with acting_team(slack, tmp_path) as team:
            team.run_plans = False
            await slack.submit("bob", view, {"reason": "opened before, sent after"})
            card = await team.card("Approved by")
            assert card.ts == offer.ts
            again = copy.deepcopy(clicked.payload)
            again["actions"][0]["action_ts"] = "1.0"
            await slack.dispatcher.interaction(again)
            await team.told("bob", "bob approved it")


async def test_question_is_answered_by_a_button_with_a_reason(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path, endings="other-key") as team:
        await team.decides("bob", await team.proposed("node-1"))
        asked = await team.card("A question: ")
        view = await team.dialog("bob", asked, "answer-1")
        assert "Your answer: give up" in str(view.blocks)
        await slack.submit("bob", view, {"reason": "somebody replaced it"})
        card = await team.card("Escalated: node-1")
        assert "gave it up: somebody replaced it" in card.text


async def test_slack_that_is_down_while_it_acts_shows_the_end_when_it_is_back(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as team:
        await team.decides("bob", await team.proposed("node-1"))
        await team.card("Acting.")
        for method in ("chat.update", "chat.postMessage"):
            slack.faults.status(method, 503, times=10_000)
        await team.until_state("resolved")
        slack.faults.clear()
        card = await team.card("Resolved: node-1")
        await slack.until(lambda: slack.thread(card)[1:], what="the yes")
        assert len(team.cards("node-1")) == 2, "the card and the yes; nothing came twice"


async def test_restart_says_nothing_again_and_puts_right_what_it_broke_off(tmp_path: Path) -> None:
    async with workspace() as slack:
        async with acting_team(slack, tmp_path) as team:
            offer = await team.proposed("node-1")
            await team.proposed("node-2", key="cmd-2")
            await team.poster.drain(5)
            team.world.looking.clear()
            await team.decides("bob", offer)
            await team.card(f"checking… <@{BOB}> said yes")
            for task in set(team.tasks):  # it is killed while the node is looked at again
                task.cancel()
            team.slack.faults.status("chat.update", 503, times=10_000)
        slack.faults.clear()
        edited = len(slack.asked("chat.update"))
        async with acting_team(slack, tmp_path) as team:
            for one in await team.ledger.incidents():
                await team.shown(one.id)
            card = await team.offering("node-1")
            assert "checking" not in card.text
            await team.poster.drain(5)
            edits = [each.arguments["ts"] for each in slack.asked("chat.update")[edited:]]
            assert edits == [offer.ts], "node-2 is shown as it stands already"


async def test_home_offers_what_waits_and_what_is_refused_there_is_told_directly(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as team:
        team.run_plans = False
        with_carol(slack)
        await team.proposed("node-1")
        for user, words, action, reason in (
            ("carol", "You cannot decide anything here. ", "brake", "stop"),
            ("bob", "disable ecs.service, then reboot", "approve", "from home"),
        ):
            await slack.open_home(user)
            view = await slack.until(partial(home_of, slack, user, words), what=f"the home of {user}")
            await slack.click_in_view(user, view, action)
            dialog = await slack.until(partial(slack.modal, user), what="the dialog")
            await slack.submit(user, dialog, {"reason": reason})
        await team.told("carol", "NotAnApprover", slack.state.direct("carol").id)
        assert await team.ledger.brake_pull() is None
        await team.card("from home")
        await slack.until(partial(home_of, slack, "bob", "approved, since"), what="it runs, at home")


def home_of(slack: SlackWorkspace, user: str, words: str) -> View | None:
    view = slack.home(user)
    return view if view is not None and words in json.dumps(view.blocks) else None


async def test_mention_in_a_thread_is_answered_there(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as team:
        offer = await team.proposed("node-1")
        await slack.say("alice", "oncall-gpu", "@zombie status", thread_ts=offer.ts)
        told = await team.told("alice", "1 open incidents")
        assert (told.thread_ts, mentions(told)) == (offer.ts, [])


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


WAITS = "still waits for a decision"


def reminders(slack: SlackWorkspace, card: Message) -> list[Message]:
    return [message for message in slack.thread(card) if WAITS in message.text]


async def test_reminder_comes_once_in_the_thread_also_after_a_restart(tmp_path: Path) -> None:
    policy = people(approvers=frozenset((f"slack:T0000/{BOB}",)))
    async with workspace() as slack, acting_team(slack, tmp_path, policy=policy) as team:
        card = await team.proposed("node-1")
        (summary,) = await team.ledger.incidents()
        incident = await team.find(summary.id)
        assert incident.proposed_at is not None
        half, mine = incident.proposed_at + policy.approval_expires / 2, {summary.card}
        await team.acting.cards.remind(half - timedelta(seconds=1), mine)
        await team.acting.cards.remind(half, set())
        await asyncio.sleep(0.2)
        assert reminders(slack, card) == [], "not before its time, and not by who does not see to it"

        await team.acting.cards.remind(half, mine)
        reminder = await slack.until(lambda: next(iter(reminders(slack, card)), None), what="the reminder")
        assert f"node-1 {WAITS}" in reminder.text
        assert f"<@{BOB}>" in reminder.text
        assert not reminder.is_broadcast

        again = team.restarted("runner-2")
        await again.cards.show(await again.cards.group(summary.card))
        for acting in (team.acting, again):
            await acting.cards.remind(half + timedelta(minutes=1), mine)
        await asyncio.sleep(0.3)
        assert len(reminders(slack, card)) == 1, "a restart says nothing twice"
