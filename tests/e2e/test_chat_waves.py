"""Sweeps and waves as people of a chat wish for them: who may, what comes twice, and what it came to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.chat.clicks import Click, Submission
from bot.chat.context import ChatContext
from bot.chat.document import Block, Lines
from bot.chat.people import Person
from bot.chat.post_state import MessageTarget
from bot.domain.errors import NothingProposed, UsageError
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased
from bot.domain.policy import Approval
from bot.extras.fleet.fleet_request import FleetRequest
from bot.extras.waves.chat_cards import PlansFile, plans_file
from bot.extras.waves.chat_decisions import WaveDecisions
from bot.extras.waves.events import TurnOutcome
from bot.extras.waves.wave import Wave
from tests.slack.acting_team import ALICE, BOB, CAROL, ONCALL, TEAM, ActingTeam, acting_team, people
from tests.slack.memory_chat import MemoryChat, button_of
from tests.slack.wave_team import LEAK, Fleet

SRE = frozenset(("slack:S0SRE00001",))
ASKER = f"slack:{TEAM}/{ALICE}"


@asynccontextmanager
async def fleet_of(chat: MemoryChat, folder: Path, nodes: int = 3, **policy: Any) -> AsyncIterator[Fleet]:
    """So many nodes of which a sweep finds that they have the leak, and the team that sees to them."""
    fleet = Fleet()
    async with acting_team(chat, folder, policy=people(**policy), nodes=nodes, fleet=fleet, chat=chat):
        try:
            yield fleet
        finally:
            await fleet.watching.drain(0)


@pytest.fixture
async def fleet(chat: MemoryChat, tmp_path: Path) -> AsyncIterator[Fleet]:
    async with fleet_of(chat, tmp_path) as fleet:
        yield fleet


async def swept(fleet: Fleet, words: str = "nodes have") -> Any:
    """Have alice ask who has it, and return the card that says so."""
    if words == "nodes have":
        fleet.reader.let_go.set()
    ask = FleetRequest.typed(["role=gpu", "--cause", LEAK])
    await fleet.team.fleet.start(ask, "cmd-1", MessageTarget(ONCALL), ASKER)
    return await fleet.team.card(words)


async def planned(fleet: Fleet, asker: str = "alice") -> Any:
    """Have somebody press *Plan*; return the card of the wave."""
    await fleet.team.slack.click(asker, await swept(fleet), "fleet-plan")
    return await fleet.team.offering("Wave: ")


async def running_wave(fleet: Fleet) -> Any:
    """Have bob approve a wave; return its card once it runs."""
    await fleet.team.decides("bob", await planned(fleet))
    return await fleet.team.card("running")


async def wave_of(fleet: Fleet) -> Wave:
    (wave,) = await fleet.waves()
    return wave


def done(team: ActingTeam) -> list[str]:
    return [name for name, node in team.stage.nodes.items() if node.asked or node.stopped]


async def test_guest_may_press_no_button_of_a_sweep(chat: MemoryChat, fleet: Fleet) -> None:
    await chat.click("gus", await swept(fleet), "fleet-plan")
    await fleet.team.told("gus", "NotAllowedToAsk")
    await fleet.team.idle()
    assert await fleet.waves() == []


async def test_button_of_an_older_card_that_would_leave_nodes_alone_says_that_this_is_gone(fleet: Fleet) -> None:
    team = fleet.team
    value = json.dumps({"words": ["role=gpu"], "causes": [LEAK], "kind": "wave", "control": "10%"})
    click = Click("click-1", Person(ALICE, TEAM), "fleet-go", value, "", "", ONCALL, "1.0")
    with pytest.raises(UsageError, match="Control groups of waves are gone"):
        await team.fleet.ask(click)
    await team.idle()
    assert await fleet.waves() == []


async def test_so_many_nodes_are_only_asked_after_a_yes_that_says_how_many_and_how_long(
    chat: MemoryChat, tmp_path: Path
) -> None:
    async with fleet_of(chat, tmp_path, nodes=201) as fleet:
        team = fleet.team
        asking = await swept(fleet, "201 nodes?")
        assert "201 nodes would be asked; that takes about 10 s." in asking.text
        assert not team.cards("Asking")
        fleet.reader.let_go.set()
        await chat.click("alice", asking, "fleet-go-sample")
        told = await team.card("20 of 20 nodes have")
        assert (told.ts, "a sample of 201" in told.text) == (asking.ts, True)


async def test_wave_over_so_many_nodes_is_only_checked_after_a_yes(chat: MemoryChat, tmp_path: Path) -> None:
    async with fleet_of(chat, tmp_path, nodes=30) as fleet:
        team = fleet.team
        await chat.click("alice", await swept(fleet), "fleet-plan")
        asking = await team.card("30 nodes? 30 nodes would be checked, and a wave proposed for those that have it")
        assert "takes about 24 s" in asking.text
        assert "zombie wave start" in json.dumps(asking.blocks)
        assert await fleet.waves() == []
        await chat.click("alice", asking, "fleet-go")
        await team.offering("Wave: ")
        wave = await wave_of(fleet)
        assert len(wave.proposal.members) == 30


async def test_plan_whose_click_comes_twice_proposes_one_wave(chat: MemoryChat, fleet: Fleet) -> None:
    team = fleet.team
    offer = await planned(fleet)
    team.acting.decisions.handle_click(chat.clicked[0])  # it is delivered once more
    await team.goes_on()  # and another program looks for what is left
    assert len(await fleet.waves()) == 1
    assert [card.ts for card in team.cards("Wave: ")] == [offer.ts]
    assert done(team) == []


async def test_copy_of_a_waves_card_asks_for_nothing(chat: MemoryChat, fleet: Fleet) -> None:
    team = fleet.team
    await planned(fleet)
    wave = (await wave_of(fleet)).id
    copied = Click("click-2", Person(BOB, TEAM), "approve", wave, "", "", ONCALL, "1.000002")
    with pytest.raises(NothingProposed, match="This is not the card of that wave"):
        await WaveDecisions(team.fleet.context, fleet.cards).ask(copied)


async def test_nodes_without_room_in_the_dialog_are_approved_once_their_file_is_there(
    chat: MemoryChat, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fits(_: ChatContext, blocks: Sequence[Block]) -> bool:
        return not any(isinstance(block, Lines) and block.lines[0].startswith("node  plan") for block in blocks)

    monkeypatch.setattr(ChatContext, "fits_dialog", fits)
    team = fleet.team
    offer = await planned(fleet)
    wave = (await wave_of(fleet)).id
    await chat.click("bob", offer, "approve")
    await team.told("bob", f"zombie wave approve {wave}")
    assert chat.modal("bob") is None
    kind: Any = PlansFile(lambda: fleet.cards)
    monkeypatch.setitem(team.poster._kinds, kind.prefix, kind)
    await team.poster.attach(wave, MessageTarget(ONCALL), plans_file(wave))
    await chat.until(lambda: chat.files, what="the file")
    await team.idle()
    view = await team.dialog("bob", offer)
    assert ("submit" in view.fields, "in this card's thread" in str(view.dialog.blocks)) == (True, True)


async def test_wave_is_approved_once_by_somebody_who_may_and_never_under_the_brake(
    chat: MemoryChat, fleet: Fleet
) -> None:
    team = fleet.team
    offer = await planned(fleet)
    await team.decides("alice", offer)
    await team.told("alice", "SelfApproval")
    await team.decides("carol", offer)
    await team.told("carol", "NotAnApprover")
    await team.ledger.append(HOUSE, None, BrakePulled("odd"), f"slack:{TEAM}/{BOB}")
    await team.decides("bob", offer)
    await team.told("bob", "Braked")
    assert ((await wave_of(fleet)).state, done(team)) == ("proposed", [])

    await team.ledger.append(HOUSE, None, BrakeReleased("over"), f"slack:{TEAM}/{BOB}")
    await team.decides("bob", offer)
    for key in (chat.sent[-1].key, "a second click on the dialog's button"):  # the same once more, and another
        await team.acting.decisions.handle_submission(replace(chat.sent[-1], key=key))
    await team.told("bob", "AlreadyDecided")
    await team.card("running")
    kinds = [entry.kind for entry in await fleet.desk.waves.read((await wave_of(fleet)).id)]
    assert kinds == ["WaveProposed", "WaveApproved"]
    refused = [(who, name) for who, name in await team.refusals()]
    assert refused[:3] == [(ALICE, "SelfApproval"), (CAROL.id, "NotAnApprover"), (BOB, "Braked")]


async def test_where_two_have_to_say_yes_the_card_counts_them_and_nobody_counts_twice(
    chat: MemoryChat, tmp_path: Path
) -> None:
    async with fleet_of(chat, tmp_path, approvals=2) as fleet:
        team = fleet.team
        offer = await planned(fleet, "carol")
        assert "It waits for a yes (0 of 2)" in json.dumps(offer.blocks)
        await team.decides("alice", offer)
        waits = await chat.until(
            lambda: next((card for card in team.cards("Wave: ") if "(1 of 2)" in json.dumps(card.blocks)), None),
            what="a card that counts the first",
        )
        assert waits.ts == offer.ts
        await team.decides("alice", waits)
        await team.told("alice", "NotEnoughApprovers")
        assert ((await wave_of(fleet)).state, done(team)) == ("proposed", [])
        await team.decides("bob", waits)
        running = await team.card("running")
        assert all(user in json.dumps(running.blocks) for user in (ALICE, BOB))
        assert [approval.by.rpartition("/")[2] for approval in (await wave_of(fleet)).approvals] == [ALICE, BOB]


async def test_two_programs_that_hear_a_yes_at_once_put_one_on_record(chat: MemoryChat, fleet: Fleet) -> None:
    team = fleet.team
    offer = await planned(fleet)
    sealed = []
    for _ in range(2):  # two windows
        view = await team.dialog("bob", offer)
        sealed.append(view.private_metadata)
        await chat.close("bob", view)
    programs = [team.acting.decisions, team.restarted("runner-2").decisions]
    bob = Person(BOB, TEAM)
    sent = [Submission(f"sent-{at}", bob, metadata, "now") for at, metadata in enumerate(sealed)]
    taken = [program.handle_submission(wish) for program, wish in zip(programs, sent, strict=True)]
    again = programs[0].handle_submission(sent[0])  # and the first is delivered once more
    assert await asyncio.gather(*taken, again) == [""] * 3
    await team.told("bob", "AlreadyDecided")
    await team.idle()
    kinds = [entry.kind for entry in await fleet.desk.waves.read((await wave_of(fleet)).id)]
    assert kinds == ["WaveProposed", "WaveApproved"]
    assert await team.refusals() == [(BOB, "AlreadyDecided")]


async def test_no_to_a_wave_that_another_has_approved_is_said_to_be_too_late_after_a_crash_too(
    chat: MemoryChat, fleet: Fleet
) -> None:
    team = fleet.team
    offer = await planned(fleet)
    no = await team.dialog("alice", offer, "decline")
    await team.decides("bob", offer)
    await team.card("running")
    assert (await team.dies_over("alice", no, "not now")).errors == {}
    await team.goes_on()
    assert "The wave is running." in (await team.told("alice", "AlreadyDecided")).text


async def test_program_that_ends_while_nodes_are_checked_leaves_a_card_that_says_so(
    chat: MemoryChat, fleet: Fleet
) -> None:
    team = fleet.team
    fleet.checks.clear()
    await chat.click("alice", await swept(fleet), "fleet-plan")
    preparing = await team.card("3 nodes are being checked")
    for task in set(team.tasks):  # it is killed
        task.cancel()
    await team.idle()
    await team.goes_on()
    ended = await team.card("The bot was restarted before the wave was proposed. Press Plan again.")
    assert ended.ts == preparing.ts
    assert await fleet.waves() == []


async def test_bug_while_nodes_are_checked_is_said_on_the_card(chat: MemoryChat, fleet: Fleet) -> None:
    async def fails(*_: Any) -> Wave:
        raise KeyError("a bug")

    fleet.cards.start = fails
    await chat.click("alice", await swept(fleet), "fleet-plan")
    assert "The bot failed at it, and its log says how." in (await fleet.team.card("No wave.")).text


async def test_brake_stops_a_wave_that_runs_and_who_asked_for_it_does_not_resume_it(
    chat: MemoryChat, fleet: Fleet
) -> None:
    team = fleet.team
    await running_wave(fleet)
    await team.ledger.append(HOUSE, None, BrakePulled("odd"), f"slack:{TEAM}/{BOB}")
    running = asyncio.create_task(fleet.carry_on())
    stopped = await team.card("stopped")
    assert "pulled the brake" in json.dumps(stopped.blocks)
    assert done(team) == []
    await team.decides("alice", stopped, "wave-resume")
    await team.told("alice", "SelfApproval")
    await team.decides("bob", stopped, "wave-resume")
    await team.told("bob", "Braked")
    await team.ledger.append(HOUSE, None, BrakeReleased("over"), f"slack:{TEAM}/{BOB}")
    await team.decides("bob", stopped, "wave-resume")
    await team.card("At the end 3 of 3 were cured.")
    await running
    assert sorted(done(team)) == ["node-1", "node-2", "node-3"]


@pytest.mark.parametrize("person", ["bob", "carol"])
async def test_wave_is_stopped_while_the_chat_does_not_say_who_may_and_goes_on_only_by_an_approver(
    chat: MemoryChat, fleet: Fleet, person: str
) -> None:
    """To stop is safe, as the brake is: Bob is in the approvers' group, and whether Carol is, is not known."""
    team = fleet.team
    running = await running_wave(fleet)
    chat.silent = {"person", "group"}
    await team.decides(person, running, "wave-stop", "it looks odd")
    stopped = await team.card("stopped")
    assert "it looks odd" in json.dumps(stopped.blocks)
    chat.silent = {"group"}
    await team.decides(person, stopped, "wave-resume")
    await team.told(person, "CannotTell")
    assert (await wave_of(fleet)).stop is not None
    assert done(team) == []


async def test_whoever_the_chat_says_may_not_does_not_stop_a_wave(chat: MemoryChat, fleet: Fleet) -> None:
    team = fleet.team
    running = await running_wave(fleet)
    await team.decides("carol", running, "wave-stop")
    await team.told("carol", "NotAnApprover")
    assert (await wave_of(fleet)).stop is None


async def test_node_that_became_another_is_left_alone_and_the_card_says_why(chat: MemoryChat, fleet: Fleet) -> None:
    team = fleet.team
    offer = await planned(fleet)
    first = (await wave_of(fleet)).proposal.members[0].node
    await team.decides("bob", offer)
    await team.card("running")
    team.stage.nodes[first].reboot(by_us=False)
    await fleet.carry_on()
    closed = await team.card("At the end 2 of 3 were cured.")
    assert f"dropped: 1: {first}" in json.dumps(closed.blocks)
    assert first not in done(team)
    dropped = (await wave_of(fleet)).having(TurnOutcome.DROPPED)
    assert [turn.member.node for turn in dropped] == [first]


async def test_stop_ends_a_sweep_whichever_program_hears_of_it(fleet: Fleet) -> None:
    team = fleet.team
    running = await swept(fleet, "1 answered so far")
    row, stop = button_of(running.blocks, "fleet-stop")
    team.restarted("runner-2")  # its cards know nothing of what runs here
    carol = Person(CAROL.id, TEAM)
    click = Click("click-1", carol, stop["name"] or stop["action"], stop["value"], row, "", ONCALL, running.ts)
    await team.fleet.ask(click)
    stopped = await team.card("stopped after 1 of them")
    assert (stopped.ts, "Stopped by a person" in json.dumps(stopped.blocks)) == (running.ts, True)
    await team.idle()
    with pytest.raises(NothingProposed, match="no longer running"):
        await team.fleet.ask(replace(click, key="click-2"))
    with pytest.raises(NothingProposed, match="no longer running"):
        await team.fleet.ask(replace(click, key="click-3", value="wave-0123456789abcdef"))


async def test_dialog_that_was_opened_for_an_earlier_stop_resumes_nothing(chat: MemoryChat, fleet: Fleet) -> None:
    team = fleet.team
    await running_wave(fleet)
    wave = await wave_of(fleet)
    carol = Approval(f"slack:{TEAM}/{CAROL.id}", "an odd graph", groups=SRE)
    known_until, _ = await fleet.desk.look(await fleet.desk.stop(wave.id, carol))
    assert known_until is not None
    stopped = await chat.until(
        lambda: next((card for card in team.cards("Wave: ") if '"wave-resume"' in json.dumps(card.blocks)), None),
        what="a wave that may be resumed",
    )
    view = await team.dialog("bob", stopped, "wave-resume")
    await fleet.desk.resume(wave.id, carol, known_until)
    team.world.later = timedelta(minutes=1)
    await fleet.desk.stop(wave.id, replace(carol, reason="the canary burns"))
    await chat.submit("bob", view, {"reason": "the graph was wrong"})
    told = await team.told("bob", "StaleRequest")
    assert "It was stopped again since: " in told.text
    assert "the canary burns" in told.text
    assert (await wave_of(fleet)).state == "stopped"
    assert done(team) == []
