"""The brake in Slack: what releases it is about the present pull, and pulling it waits for nothing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.demo.slack.people import User
from bot.demo.slack.view import View
from bot.domain.house_events import HOUSE, BrakePulled
from tests.slack.acting_team import BOB, CAROL, ONCALL, TEAM, ActingTeam, acting_team, people
from tests.slack.service import Readings, eventually, reply_saying, serving
from tests.slack.workspace import SlackWorkspace

NAMED = people(approvers=frozenset((f"slack:{BOB}",)))


@pytest.fixture
async def team(slack: SlackWorkspace, tmp_path: Path) -> AsyncIterator[ActingTeam]:
    async with acting_team(slack, tmp_path, policy=NAMED) as team:
        yield team


async def home(slack: SlackWorkspace, words: str) -> View:
    await slack.open_home("bob")
    return await slack.until(
        lambda: view if (view := slack.home("bob")) and words in json.dumps(view.blocks) else None, what=words
    )


async def dialog(slack: SlackWorkspace, view: View) -> View:
    await slack.click_in_view("bob", view, "brake")
    return await slack.until(lambda: slack.modal("bob"), what="the dialog")


async def moves(team: ActingTeam) -> list[str]:
    """What was done to the brake, in its order."""
    return [entry.kind for entry in await team.ledger.read(HOUSE) if entry.kind.startswith("Brake")]


async def pulled(slack: SlackWorkspace, team: ActingTeam) -> int:
    """Have the brake pulled once more by a command, and return the pull's number."""
    before = len(await moves(team))
    await slack.say("bob", "oncall-gpu", "/zombie brake on a rollout")
    await eventually(lambda: _count(team), before + 1)
    return int((await team.ledger.brake_pull()).seq)


async def _count(team: ActingTeam) -> int:
    return len(await moves(team))


async def test_dialog_that_was_opened_for_an_earlier_pull_releases_nothing(
    slack: SlackWorkspace, team: ActingTeam
) -> None:
    first = await pulled(slack, team)
    opened = await dialog(slack, await home(slack, "Release the brake"))
    assert f"This releases pull #{first}" in json.dumps(opened.blocks)
    await slack.say("bob", "oncall-gpu", f"/zombie brake off #{first} it is over")
    await team.told("bob", "The brake is off.")
    second = await pulled(slack, team)
    await slack.submit("bob", opened, {"reason": "it is over"})
    told = await team.told("bob", "StaleRequest", slack.state.direct("bob").id)
    assert f"That was about pull #{first}. Pull #{second} is on" in told.text
    assert (await team.ledger.brake_pull()).seq == second
    await slack.say("bob", "oncall-gpu", f"/zombie brake off #{first} it is over")
    await team.told("bob", f"To release that pull: /zombie brake off #{second}")
    assert (await team.ledger.brake_pull()).seq == second


async def test_button_that_was_drawn_for_an_earlier_pull_opens_no_dialog(
    slack: SlackWorkspace, team: ActingTeam
) -> None:
    first = await pulled(slack, team)
    view = await home(slack, "Release the brake")
    await pulled(slack, team)
    await slack.click_in_view("bob", view, "brake")
    told = await team.told("bob", "StaleRequest", slack.state.direct("bob").id)
    assert f"That button was about pull #{first}." in told.text
    assert slack.modal("bob") is None


async def test_person_whom_the_policy_names_pulls_it_without_a_call_to_slack(
    slack: SlackWorkspace, team: ActingTeam
) -> None:
    for method in ("users.info", "usergroups.users.list", "views.open"):
        slack.faults.silent(method, timedelta(minutes=1), times=100)
    asked = len(slack.asked("users.info")) + len(slack.asked("usergroups.users.list"))
    await slack.say("bob", "oncall-gpu", "/zombie brake on it burns")
    await eventually(lambda: _count(team), 1)
    assert len(slack.asked("users.info")) + len(slack.asked("usergroups.users.list")) == asked


async def test_whoever_may_be_in_a_group_that_slack_does_not_tell_pulls_it_and_does_not_release_it(
    slack: SlackWorkspace, team: ActingTeam
) -> None:
    slack.faults.status("usergroups.users.list", 503, times=100)
    await slack.say("carol", "oncall-gpu", "/zombie brake on it burns")
    await team.told("carol", "The brake is on: nothing new begins.")
    await slack.say("carol", "oncall-gpu", "/zombie brake off never mind")
    await team.told("carol", "CannotTell")
    assert await moves(team) == ["BrakePulled"]


async def test_dialog_that_slack_does_not_open_keeps_nobody_from_pulling_it(
    slack: SlackWorkspace, team: ActingTeam
) -> None:
    view = await home(slack, "Pull the brake")
    slack.faults.status("views.open", 503, times=100)
    await slack.click_in_view("bob", view, "brake")
    await team.told("bob", "The brake is on", slack.state.direct("bob").id)
    assert await moves(team) == ["BrakePulled"]


# --- what Slack delivers again, or late


POLICY = f"""[policy]
acting = true
approvers = ["{BOB}"]
"""


async def moved(bot: Any) -> list[str]:
    return [entry.kind for entry in await bot.ledger.read(HOUSE) if entry.kind.startswith("Brake")]


async def test_release_that_is_delivered_again_after_a_restart_does_nothing(
    slack: SlackWorkspace, tmp_path: Path
) -> None:
    async with serving(slack, tmp_path, Readings(), toml=POLICY) as bot:
        await slack.say("bob", "oncall-gpu", "/zombie brake on a rollout")
        await eventually(lambda: moved(bot), ["BrakePulled"])
        off = await slack.say("bob", "oncall-gpu", "/zombie brake off it is over")
        await eventually(lambda: moved(bot), ["BrakePulled", "BrakeReleased"])
    assert off.delivered is not None
    async with serving(slack, tmp_path, Readings(), toml=POLICY) as bot:
        await slack.say("bob", "oncall-gpu", "/zombie brake on a storm")
        await eventually(lambda: moved(bot), ["BrakePulled", "BrakeReleased", "BrakePulled"])
        await slack.dispatcher.command(off.delivered.payload)
        await slack.say("bob", "oncall-gpu", "/zombie chekc")  # what comes later is answered
        await reply_saying(slack, "Did you mean", user="bob")
        await slack.say("bob", "oncall-gpu", "/zombie status")
        await reply_saying(slack, "The brake is on: bob pulled it", user="bob")
        assert (await moved(bot))[-1] == "BrakePulled"


async def test_mention_from_before_the_pull_that_slack_retries_releases_nothing(
    slack: SlackWorkspace, tmp_path: Path
) -> None:
    async with serving(slack, tmp_path, Readings(), toml=POLICY) as bot:
        said = await slack.say("alice", "oncall-gpu", "@zombie help")
        assert said.delivered is not None
        await slack.say("bob", "oncall-gpu", "/zombie brake on a storm")
        await eventually(lambda: moved(bot), ["BrakePulled"])
        late = json.loads(json.dumps(said.delivered.payload))
        late["event"] |= {
            "user": BOB,
            "client_msg_id": "another",
            "text": late["event"]["text"].replace("help", "brake off"),
        }
        await slack.dispatcher.event(late)
        told = await reply_saying(slack, "StaleRequest", user="bob")
        assert "You asked before it was pulled." in told.text
        assert await moved(bot) == ["BrakePulled"]


async def test_command_that_names_no_pull_releases_none_that_came_while_slack_was_asked_who_typed_it(
    slack: SlackWorkspace, team: ActingTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await pulled(slack, team)
    context = team.acting.commands.context
    approval = context.people.approval

    async def slow(*words: Any, **more: Any) -> Any:
        await team.ledger.append(HOUSE, None, BrakePulled("a storm"), f"slack:{TEAM}/{CAROL.id}")
        return await approval(*words, **more)

    monkeypatch.setattr(context.people, "approval", slow)
    await slack.say("bob", "oncall-gpu", "/zombie brake off it is over")
    told = await team.told("bob", "StaleRequest")
    assert told.text.startswith(f"That was about pull #{first}.")
    assert await moves(team) == ["BrakePulled", "BrakePulled"]


# --- submissions are on disk before they are acknowledged


async def test_pull_that_was_acknowledged_before_a_crash_is_carried_on_once(
    slack: SlackWorkspace, team: ActingTeam
) -> None:
    opened = await dialog(slack, await home(slack, "Pull the brake"))
    team.is_dying = True
    sent = await slack.submit("bob", opened, {"reason": "it burns"})
    assert (dict(sent.errors), sent.trouble) == ({}, "")
    team.is_dying = False
    assert await moves(team) == []
    next_run = team.restarted("runner-2")
    await next_run.decisions.resume_unfinished()
    await team.idle()
    assert await moves(team) == ["BrakePulled"]
    assert (await team.ledger.brake_pull()).body["reason"] == "it burns"
    await team.restarted("runner-3").decisions.resume_unfinished()
    await team.idle()
    assert await moves(team) == ["BrakePulled"]


async def test_pull_whose_runner_died_after_it_is_not_made_again(slack: SlackWorkspace, team: ActingTeam) -> None:
    opened = await dialog(slack, await home(slack, "Pull the brake"))
    team.chat_requests.is_gone_for = "done"
    await slack.submit("bob", opened, {"reason": "it burns"})
    await team.idle()
    number = (await team.ledger.brake_pull()).seq
    await slack.say("bob", "oncall-gpu", f"/zombie brake off #{number} it is out")
    await team.told("bob", "The brake is off.")
    await team.restarted("runner-2").decisions.resume_unfinished()
    await team.idle()
    assert await moves(team) == ["BrakePulled", "BrakeReleased"]


async def test_submission_that_cannot_be_kept_says_so_in_the_dialog_and_decides_nothing(
    slack: SlackWorkspace, team: ActingTeam
) -> None:
    opened = await dialog(slack, await home(slack, "Pull the brake"))
    team.chat_requests.is_gone = True
    sent = await slack.submit("bob", opened, {"reason": "it burns"})
    assert sent.errors["reason"].startswith("The ledger cannot be used now. Unless the card says otherwise")
    team.chat_requests.is_gone = False
    assert await moves(team) == []
    again = await slack.submit("bob", opened, {"reason": "it burns"})
    assert dict(again.errors) == {}
    await eventually(lambda: _count(team), 1)


# --- earlier voices, at the last yes


async def test_voice_of_somebody_who_is_deactivated_meanwhile_counts_no_more(
    slack: SlackWorkspace, tmp_path: Path
) -> None:
    dave = User("U0DAVE0001", "dave", "Dave Ode")
    slack.state.add_user(dave)
    slack.state.set_member(ONCALL, dave.id, member=True)
    policy = people(
        approver_groups=frozenset(), approvers=frozenset(f"slack:{user}" for user in (BOB, CAROL.id, dave.id))
    )
    async with acting_team(slack, tmp_path, policy=policy) as team:
        team.needed, team.run_plans = 2, False
        offer = await team.proposed("node-1")
        await team.decides("bob", offer)
        await team.idle()
        slack.state.add_user(replace(slack.state.user("bob"), is_deleted=True))
        for user, state in (("carol", "proposed"), ("dave", "approved")):
            await team.decides(user, await team.offering("node-1"))
            await team.idle()
            await team.until_state(state)
        (one,) = await team.ledger.incidents()
        incident = await team.find(one.id)
        assert incident.decision is not None
        assert [word.by.rpartition("/")[2] for word in (*incident.endorsements, incident.decision)] == [
            BOB,
            CAROL.id,
            dave.id,
        ]
        assert incident.approvals_needed == 3
