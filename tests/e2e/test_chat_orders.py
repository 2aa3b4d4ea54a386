"""What is typed about incidents and the brake, and what a home shows: the same checks as for a click."""

from __future__ import annotations

import json
from dataclasses import replace

from bot.chat.home import MOST_READ
from bot.chat.people import Person
from bot.chat.requests import CommandRequest
from bot.domain.alert import Alert
from bot.domain.events import AlertReceived, Triaged
from bot.domain.verdict import Status
from tests.record.incidents import HEALTHY
from tests.slack.acting_team import ALICE, CAROL, ONCALL, ActingTeam
from tests.slack.memory_chat import MemoryChat


async def only(team: ActingTeam) -> str:
    """The id of the one incident."""
    (one,) = await team.ledger.incidents()
    return str(one.id)


async def test_status_lists_what_is_open_and_the_brake(chat: MemoryChat, team: ActingTeam) -> None:
    await chat.say("carol", ONCALL, "status")
    assert (await team.told("carol", "Nothing is open.")).text.endswith("The brake is off.")
    await team.proposed("node-1")
    await chat.say("carol", ONCALL, "brake on a rollout")
    await team.told("carol", "NotAnApprover")
    await chat.say("bob", ONCALL, "brake on a rollout")
    await team.told("bob", "The brake is on: nothing new begins.")
    await chat.say("carol", ONCALL, "status")
    told = await team.told("carol", "1 open incidents.")
    assert f"node-1: proposed, leaked-memory-cgroups — {await only(team)}" in told.text
    assert "The brake is on: bob pulled it at" in told.text
    await chat.say("bob", ONCALL, "brake off rollout is over")
    await team.told("bob", "The brake is off.")
    assert await team.ledger.brake_pull() is None


async def test_cancel_is_for_whoever_asked_and_approvers(chat: MemoryChat, team: ActingTeam) -> None:
    await team.proposed("node-1")
    incident = await only(team)
    await chat.say("carol", ONCALL, f"cancel {incident} no")
    await team.told("carol", "NotAnApprover")
    await chat.say("alice", ONCALL, f"cancel {incident} asked for the wrong node")
    assert (await team.told("alice", "is cancelled")).text == f"Incident {incident} is cancelled."
    card = await team.card("Cancelled: node-1")
    assert "asked for the wrong node" in card.text
    assert '"approve"' not in json.dumps(card.blocks)
    await chat.say("alice", ONCALL, f"cancel {incident}")
    await team.told("alice", "AlreadyDecided")
    await chat.say("alice", ONCALL, "cancel nosuchone")
    assert "There is no incident 'nosuchone'. (UnknownIncident)" in (await team.told("alice", "UnknownIncident")).text
    await team.idle()
    refused = [(CAROL.id, "NotAnApprover"), (ALICE, "AlreadyDecided"), (ALICE, "UnknownIncident")]
    assert await team.refusals() == refused


async def test_undo_by_command_proposes(chat: MemoryChat, team: ActingTeam) -> None:
    team.run_plans = True
    await team.card_of(await team.proposed("node-1"), "Resolved: node-1", by="bob")
    incident = await only(team)
    await chat.say("bob", ONCALL, f"undo {incident} we need it")
    await team.told("bob", "another person has to approve it.")
    offer = await team.offering("bring back ecs.service")
    assert f"undo of incident {incident}" in offer.text


async def test_person_of_another_workspace_orders_nothing(chat: MemoryChat, team: ActingTeam) -> None:
    await team.proposed("node-1")
    for text in (f"cancel {await only(team)}", "brake on", "brake off"):
        asked = CommandRequest(text, Person(CAROL.id, "T0OTHER001"), ONCALL, text)
        team.acting.commands.take(asked)
        await team.told("carol", "That came from another workspace than the bot's own.")
        chat.posted.clear()
    await team.idle()
    assert await team.ledger.brake_pull() is None
    assert await team.refusals() == [(CAROL.id, "NotAnApprover")] * 3


# --- the home


async def test_many_nodes_that_wait_for_their_wave_push_nothing_else_out_of_the_home(
    chat: MemoryChat, team: ActingTeam
) -> None:
    await team.proposed("node-1")
    asked_for = await only(team)
    for number in range(MOST_READ + 1):
        team.stage.propose(f"w{number}", "node-1", "wave-7k3m9x2qpv")
    said = str(await chat.home("bob"))
    assert asked_for in said
    assert all(f"'w{number}'" not in said for number in range(MOST_READ + 1)), "its wave's card asks for them"


async def test_home_says_how_many_plans_wait_that_it_had_no_room_to_read(chat: MemoryChat, team: ActingTeam) -> None:
    """Whoever asked for many nodes is not told that nothing waits: an older plan, behind theirs, may wait for them."""
    for number in range(MOST_READ + 2):
        team.stage.propose(f"w{number}", "node-1")
    bobs = str(await chat.home("bob"))
    assert "And 2 more plans wait, for you or for others: /zombie status" in bobs
    assert "Nothing waits for your decision." not in bobs
    carols = str(await chat.home("carol"))
    assert "You cannot decide anything here. " in carols


async def test_home_calls_no_node_well_that_it_had_no_room_to_look_at(chat: MemoryChat, team: ActingTeam) -> None:
    """Of many verdicts without a cause the newest are read first: among them are nodes that nobody could reach."""
    dead = replace(HEALTHY, node="dead", status=Status.UNREACHABLE, summary="nobody could talk to it")
    healthy = [replace(HEALTHY, node=f"n{number}") for number in range(MOST_READ)]
    for number, verdict in enumerate((dead, *healthy, dead)):
        received = AlertReceived(Alert("alertmanager", f"{number}", ""), verdict.node, f"g{number}", "node-health")
        await team.ledger.append(f"i{number}", 0, received, "bot")
        await team.ledger.append(f"i{number}", 1, Triaged(verdict, "node-health", 1), "bot")
        if number == MOST_READ:
            told = str(await chat.home("bob"))
            assert "No node was found sick" not in told
            assert "And 1 whose verdict names no cause were not looked at here: zombie incidents" in told
    assert "dead" in str(await chat.home("bob"))
