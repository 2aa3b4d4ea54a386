"""What is typed about incidents, the policy and the brake, and the App Home: the same checks as for a click."""

from __future__ import annotations

import json
from dataclasses import replace

from bot.chat.home import MOST_READ
from bot.demo.slack.typed import mentions
from bot.demo.slack.view import View
from bot.domain.alert import Alert
from bot.domain.events import AlertReceived, Triaged
from bot.domain.verdict import Status
from tests.record.incidents import HEALTHY
from tests.slack.acting_team import ALICE, CAROL, ActingTeam
from tests.slack.workspace import SlackWorkspace


async def only(team: ActingTeam) -> str:
    """The id of the one incident."""
    (one,) = await team.ledger.incidents()
    return str(one.id)


async def only_of(team: ActingTeam, source: str) -> str:
    """The id of the one incident of that source."""
    (one,) = [each for each in await team.ledger.incidents() if each.source == source]
    return str(one.id)


async def test_status_lists_what_is_open_and_the_brake(slack: SlackWorkspace, team: ActingTeam) -> None:
    await slack.say("carol", "oncall-gpu", "/zombie status")
    assert (await team.told("carol", "Nothing is open.")).text.endswith("The brake is off.")
    await team.proposed("node-1")
    await slack.say("carol", "oncall-gpu", "/zombie brake on a rollout")
    await team.told("carol", "NotAnApprover")
    await slack.say("bob", "oncall-gpu", "/zombie brake on a rollout")
    await team.told("bob", "The brake is on: nothing new begins.")
    await slack.say("carol", "oncall-gpu", "/zombie status")
    told = await team.told("carol", "1 open incidents.")
    assert f"node-1: proposed, leaked-memory-cgroups — {await only(team)}" in told.text
    assert "The brake is on: bob pulled it at" in told.text
    assert mentions(told) == []
    await slack.say("bob", "oncall-gpu", "/zombie brake off rollout is over")
    await team.told("bob", "The brake is off.")
    assert await team.ledger.brake_pull() is None


async def test_cancel_is_for_whoever_asked_and_approvers(slack: SlackWorkspace, team: ActingTeam) -> None:
    await team.proposed("node-1")
    incident = await only(team)
    await slack.say("carol", "oncall-gpu", f"/zombie cancel {incident} no")
    await team.told("carol", "NotAnApprover")
    await slack.say("alice", "oncall-gpu", f"/zombie cancel {incident} asked for the wrong node")
    assert (await team.told("alice", "is cancelled")).text == f"Incident {incident} is cancelled."
    card = await team.card("Cancelled: node-1")
    assert "asked for the wrong node" in card.text
    assert '"approve"' not in json.dumps(card.blocks)
    await slack.say("alice", "oncall-gpu", f"/zombie cancel {incident}")
    await team.told("alice", "AlreadyDecided")
    await slack.say("alice", "oncall-gpu", "/zombie cancel nosuchone")
    assert "There is no incident 'nosuchone'. (UnknownIncident)" in (await team.told("alice", "UnknownIncident")).text
    await team.idle()
    assert await team.refusals() == [
        (CAROL.id, "NotAnApprover"), (ALICE, "AlreadyDecided"), (ALICE, "UnknownIncident")
    ]  # fmt: skip


async def test_undo_by_command_proposes(slack: SlackWorkspace, team: ActingTeam) -> None:
    team.run_plans = True
    await team.card_of(await team.proposed("node-1"), "Resolved: node-1", by="bob")
    incident = await only(team)
    await slack.say("bob", "oncall-gpu", f"/zombie undo {incident} we need it")
    await team.told("bob", "another person has to approve it.")
    offer = await team.offering("bring back ecs.service")
    assert f"undo of incident {incident}" in offer.text


async def test_mention_in_a_thread_orders_too(slack: SlackWorkspace, team: ActingTeam) -> None:
    offer = await team.proposed("node-1")
    await slack.say("alice", "oncall-gpu", "@zombie status", thread_ts=offer.ts)
    told = await team.told("alice", "1 open incidents")
    assert told.thread_ts == offer.ts


async def test_person_of_another_workspace_orders_nothing(slack: SlackWorkspace, team: ActingTeam) -> None:
    await team.proposed("node-1")
    slack.state.add_user(replace(CAROL, is_stranger=True))
    for text in (f"cancel {await only(team)}", "brake on"):
        await slack.say("carol", "oncall-gpu", f"/zombie {text}")
    await team.told("carol", "carol is from another organisation")
    await team.idle()
    assert await team.ledger.brake_pull() is None
    assert [name for _, name in await team.refusals()] == ["NotAnApprover", "NotAnApprover"]


# --- the App Home


async def home(slack: SlackWorkspace, user: str, words: str) -> View:
    await slack.open_home(user)
    return await slack.until(
        lambda: view if (view := slack.home(user)) and words in json.dumps(view.blocks) else None,
        what=f"{user}'s home: {words}",
    )


async def test_many_nodes_that_wait_for_their_wave_push_nothing_else_out_of_the_home(
    slack: SlackWorkspace, team: ActingTeam
) -> None:
    await team.proposed("node-1")
    for number in range(MOST_READ + 1):
        team.stage.propose(f"w{number}", "node-1", "wave-7k3m9x2qpv")
    said = json.dumps((await home(slack, "bob", "Waiting for you")).blocks)
    assert await only_of(team, "slack") in said
    assert all(f'"w{number}"' not in said for number in range(MOST_READ + 1)), "its wave's card asks for them"


async def test_home_says_how_many_plans_wait_that_it_had_no_room_to_read(
    slack: SlackWorkspace, team: ActingTeam
) -> None:
    """Whoever asked for many nodes is not told that nothing waits: an older plan, behind theirs, may wait for them."""
    for number in range(MOST_READ + 2):
        team.stage.propose(f"w{number}", "node-1")
    bobs = json.dumps((await home(slack, "bob", "Waiting for you")).blocks)
    assert "And 2 more plans wait, for you or for others: /zombie status" in bobs
    assert "Nothing waits for your decision." not in bobs
    carols = json.dumps((await home(slack, "carol", "Waiting")).blocks)
    assert "You cannot decide anything here. " in carols


async def test_home_calls_no_node_well_that_it_had_no_room_to_look_at(slack: SlackWorkspace, team: ActingTeam) -> None:
    """Of many verdicts without a cause the newest are read first: among them are nodes that nobody could reach."""
    dead = replace(HEALTHY, node="dead", status=Status.UNREACHABLE, summary="nobody could talk to it")
    for number, verdict in enumerate(
        [dead, *[replace(HEALTHY, node=f"n{number}") for number in range(MOST_READ)], dead]
    ):
        received = AlertReceived(Alert("alertmanager", f"{number}", ""), verdict.node, f"g{number}", "node-health")
        await team.ledger.append(f"i{number}", 0, received, "bot")
        await team.ledger.append(f"i{number}", 1, Triaged(verdict, "node-health", 1), "bot")
        if number == MOST_READ:
            told = json.dumps((await home(slack, "bob", "Sick nodes")).blocks)
            assert "No node was found sick" not in told
            assert "And 1 whose verdict names no cause were not looked at here: zombie incidents" in told
    await home(slack, "bob", "dead")


async def test_home_shows_my_pending_approvals_and_they_can_be_decided_there(
    slack: SlackWorkspace, team: ActingTeam
) -> None:
    await team.proposed("node-1")
    assert "Nothing waits for your decision." in json.dumps((await home(slack, "alice", "Waiting for you")).blocks)
    carols = await home(slack, "carol", "Waiting")
    said = json.dumps(carols.blocks)
    assert "You cannot decide anything here. " in said
    assert "(NotAnApprover)" in said
    view = await home(slack, "bob", "disable ecs.service, then reboot")
    await slack.click_in_view("bob", view, "approve")
    dialog = await slack.until(lambda: slack.modal("bob"), what="the dialog")
    await slack.submit("bob", dialog, {"reason": "from home"})
    await team.card("from home")
    await slack.until(
        lambda: (view := slack.home("bob")) and "approved, since" in json.dumps(view.blocks), what="it runs, at home"
    )


async def test_refusal_of_a_click_at_home_comes_as_a_direct_message(slack: SlackWorkspace, team: ActingTeam) -> None:
    view = await home(slack, "carol", "Pull the brake")
    await slack.click_in_view("carol", view, "brake")
    dialog = await slack.until(lambda: slack.modal("carol"), what="the dialog")
    await slack.submit("carol", dialog, {"reason": "stop"})
    direct = slack.state.direct("carol").id
    await team.told("carol", "NotAnApprover", direct)
    assert await team.ledger.brake_pull() is None
