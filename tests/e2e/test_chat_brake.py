"""The brake: what releases it is about the present pull, and pulling it waits for nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.chat.people import Person
from bot.domain.house_events import HOUSE, BrakePulled
from tests.slack.acting_team import BOB, CAROL, ONCALL, TEAM, ActingTeam, acting_team, people
from tests.slack.memory_chat import MemoryChat
from tests.slack.service import eventually


async def dialog(chat: MemoryChat, home: Any) -> Any:
    await chat.click_in_home("bob", home, "brake")
    return await chat.until(lambda: chat.modal("bob"), what="the dialog")


async def moves(team: ActingTeam) -> list[str]:
    """What was done to the brake, in its order."""
    return [entry.kind for entry in await team.ledger.read(HOUSE) if entry.kind.startswith("Brake")]


async def pulled(chat: MemoryChat, team: ActingTeam) -> int:
    """Have the brake pulled once more by a command, and return the pull's number."""
    before = await moves(team)
    await chat.say("bob", ONCALL, "brake on a rollout")
    await eventually(lambda: moves(team), [*before, "BrakePulled"])
    return int((await team.ledger.brake_pull()).seq)


async def test_dialog_that_was_opened_for_an_earlier_pull_releases_nothing(chat: MemoryChat, team: ActingTeam) -> None:
    first = await pulled(chat, team)
    opened = await dialog(chat, await chat.home("bob"))
    assert f"This releases pull #{first}" in str(opened.dialog.blocks)
    await chat.say("bob", ONCALL, f"brake off #{first} it is over")
    await team.told("bob", "The brake is off.")
    second = await pulled(chat, team)
    await chat.submit("bob", opened, {"reason": "it is over"})
    told = await team.told("bob", "StaleRequest", chat.direct("bob"))
    assert f"That was about pull #{first}. Pull #{second} is on" in told.text
    await chat.say("bob", ONCALL, f"brake off #{first} it is over")
    await team.told("bob", f"To release that pull: /zombie brake off #{second}")
    assert (await team.ledger.brake_pull()).seq == second


async def test_button_that_was_drawn_for_an_earlier_pull_opens_no_dialog(chat: MemoryChat, team: ActingTeam) -> None:
    first = await pulled(chat, team)
    home = await chat.home("bob")
    await pulled(chat, team)
    await chat.click_in_home("bob", home, "brake")
    told = await team.told("bob", "StaleRequest", chat.direct("bob"))
    assert f"That button was about pull #{first}." in told.text
    assert chat.modal("bob") is None


async def test_person_whom_the_policy_names_pulls_it_without_asking_the_chat(chat: MemoryChat, tmp_path: Path) -> None:
    policy = people(approvers=frozenset((f"slack:{BOB}",)))
    async with acting_team(chat, tmp_path, policy=policy, chat=chat) as team:
        never: Any = None
        chat.admit = chat.membership = never  # type: ignore[method-assign]
        await pulled(chat, team)
        elsewhere = replace(chat.said[0], key="cmd-elsewhere", person=Person(BOB, "T0OTHER001"))
        team.acting.commands.take(elsewhere)
        await team.told("bob", "That came from another workspace than the bot's own.")
        await team.idle()
        assert await moves(team) == ["BrakePulled"], "a name of another workspace is not the policy's"


async def test_whoever_may_be_in_a_group_that_is_not_told_pulls_it_and_does_not_release_it(
    chat: MemoryChat, team: ActingTeam
) -> None:
    chat.silent = {"group"}
    await chat.say("carol", ONCALL, "brake on it burns")
    await team.told("carol", "The brake is on: nothing new begins.")
    await chat.say("carol", ONCALL, "brake off never mind")
    await team.told("carol", "CannotTell")
    assert await moves(team) == ["BrakePulled"]


async def test_dialog_that_is_not_opened_keeps_nobody_from_pulling_it(chat: MemoryChat, team: ActingTeam) -> None:
    chat.silent = {"dialog"}
    await chat.click_in_home("bob", await chat.home("bob"), "brake")
    await team.told("bob", "The brake is on", chat.direct("bob"))
    assert await moves(team) == ["BrakePulled"]


# --- what is delivered again, or late


async def test_release_that_is_delivered_again_to_the_next_program_does_nothing(
    chat: MemoryChat, team: ActingTeam
) -> None:
    await pulled(chat, team)
    await chat.say("bob", ONCALL, "brake off it is over")
    await team.told("bob", "The brake is off.")
    await pulled(chat, team)
    before = await moves(team)
    for program in (team.acting, team.restarted("runner-2")):
        program.commands.take(chat.said[1])
        await team.idle()
    assert await moves(team) == before


async def test_release_from_before_the_pull_that_comes_late_does_nothing(chat: MemoryChat, team: ActingTeam) -> None:
    asked_at = team.world.now
    await pulled(chat, team)
    team.acting.commands.take(replace(chat.said[0], key="msg-late", text="brake off", asked_at=asked_at))
    assert "You asked before it was pulled." in (await team.told("bob", "StaleRequest")).text
    assert await moves(team) == ["BrakePulled"]


async def test_command_that_names_no_pull_releases_none_that_came_while_the_chat_was_asked_who_typed_it(
    chat: MemoryChat, team: ActingTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await pulled(chat, team)
    context = team.acting.commands.context
    approval = context.people.approval

    async def slow(*words: Any, **more: Any) -> Any:
        await team.ledger.append(HOUSE, None, BrakePulled("a storm"), f"slack:{TEAM}/{CAROL.id}")
        return await approval(*words, **more)

    monkeypatch.setattr(context.people, "approval", slow)
    await chat.say("bob", ONCALL, "brake off it is over")
    told = await team.told("bob", "StaleRequest")
    assert told.text.startswith(f"That was about pull #{first}.")
    assert await moves(team) == ["BrakePulled", "BrakePulled"]


# --- submissions are on disk before they are acknowledged


async def test_pull_that_was_acknowledged_before_a_crash_is_carried_on_once(chat: MemoryChat, team: ActingTeam) -> None:
    opened = await dialog(chat, await chat.home("bob"))
    assert (await team.dies_over("bob", opened, "it burns")).errors == {}
    assert await moves(team) == []
    await team.goes_on()
    assert await moves(team) == ["BrakePulled"]
    assert (await team.ledger.brake_pull()).body["reason"] == "it burns"
    await team.goes_on()
    assert await moves(team) == ["BrakePulled"]


async def test_pull_whose_runner_died_after_it_is_not_made_again(chat: MemoryChat, team: ActingTeam) -> None:
    opened = await dialog(chat, await chat.home("bob"))
    team.chat_requests.lose("mark_done")
    await chat.submit("bob", opened, {"reason": "it burns"})
    await team.idle()
    number = (await team.ledger.brake_pull()).seq
    await chat.say("bob", ONCALL, f"brake off #{number} it is out")
    await team.told("bob", "The brake is off.")
    await team.goes_on()
    assert await moves(team) == ["BrakePulled", "BrakeReleased"]


async def test_submission_that_cannot_be_kept_says_so_in_the_dialog_and_decides_nothing(
    chat: MemoryChat, team: ActingTeam
) -> None:
    opened = await dialog(chat, await chat.home("bob"))
    team.chat_requests.is_gone = True
    sent = await chat.submit("bob", opened, {"reason": "it burns"})
    assert sent.errors["reason"].startswith("The ledger cannot be used now. Unless the card says otherwise")
    team.chat_requests.is_back()
    assert await moves(team) == []
    assert (await chat.submit("bob", opened, {"reason": "it burns"})).errors == {}
    await eventually(lambda: moves(team), ["BrakePulled"])


# --- earlier voices, at the last yes


async def test_voice_of_somebody_who_is_no_member_any_more_counts_no_more(chat: MemoryChat, tmp_path: Path) -> None:
    chat.ids = {**chat.ids, "dave": "U0DAVE0001"}
    names = frozenset(f"slack:{user}" for user in (BOB, CAROL.id, "U0DAVE0001"))
    policy = people(approver_groups=frozenset(), approvers=names)
    async with acting_team(chat, tmp_path, policy=policy, chat=chat) as team:
        team.needed, team.run_plans = 2, False
        await team.decides("bob", await team.proposed("node-1"))
        await team.idle()
        chat.guests |= {BOB}
        for user, state in (("carol", "proposed"), ("dave", "approved")):
            await team.decides(user, await team.offering("node-1"))
            await team.idle()
            await team.until_state(state)
        (one,) = await team.ledger.incidents()
        incident = await team.find(one.id)
        assert incident.decision is not None
        voices = [word.by.rpartition("/")[2] for word in (*incident.endorsements, incident.decision)]
        assert (voices, incident.approvals_needed) == ([BOB, CAROL.id, "U0DAVE0001"], 3)
