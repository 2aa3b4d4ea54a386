"""Dialogs from a while ago: what they answer has to be the present one, be it a question or the stop of a wave."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from bot.demo.slack.message import Message
from bot.domain.events import GO_ON
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased
from bot.domain.policy import Approval
from bot.extras.waves.events import TurnEnded, TurnGiven, TurnOutcome, WaveStopped
from tests.e2e.test_slack_wave_requests import done, fleet_of, planned, wave_of
from tests.slack.acting_team import ALICE, BOB, CAROL, TEAM, ActingTeam, acting_team
from tests.slack.wave_team import Fleet
from tests.slack.workspace import SlackWorkspace, workspace

SRE = frozenset(("slack:S0SRE00001",))


async def test_dialog_of_an_earlier_question_answers_no_later_one(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path, endings="other-key") as team:
        await team.decides("bob", await team.proposed("node-1"))
        view = await team.dialog("bob", await team.card("A question: "), "answer-1")
        await team.idle()
        (summary,) = await team.ledger.incidents()
        team.world.later = timedelta(minutes=1)
        await team.responder.answer(summary.id, GO_ON, Approval(f"slack:{TEAM}/{ALICE}", "it is back", groups=SRE))
        team.decided(summary.id)
        await team.idle()
        asked_again = await team.find(summary.id)
        assert asked_again.state == "unknown"
        await slack.submit("bob", view, {"reason": "somebody replaced it"})
        told = await team.told("bob", "StaleRequest")
        assert "That was about an earlier question. Open is: " in told.text
        await team.idle()
        assert (await team.find(summary.id)).seq == asked_again.seq


async def test_dialog_that_was_opened_for_an_earlier_stop_resumes_nothing(tmp_path: Path) -> None:
    async with fleet_of(tmp_path) as (slack, team, fleet):
        await team.decides("bob", await planned(slack, team, fleet))
        await slack.until(lambda: team.cards("running"), what="a wave that runs")
        wave = await wave_of(fleet)
        carol = Approval(f"slack:{TEAM}/{CAROL.id}", "an odd graph", groups=SRE)
        known_until, _ = await fleet.desk.look(await fleet.desk.stop(wave.id, carol))
        assert known_until is not None
        stopped = await slack.until(
            lambda: next((card for card in team.cards("Wave: ") if '"wave-resume"' in json.dumps(card.blocks)), None),
            what="a wave that may be resumed",
        )
        view = await team.dialog("bob", stopped, "wave-resume")
        await fleet.desk.resume(wave.id, carol, known_until)
        team.world.later = timedelta(minutes=1)
        await fleet.desk.stop(wave.id, replace(carol, reason="the canary burns"))
        await slack.submit("bob", view, {"reason": "the graph was wrong"})
        told = await team.told("bob", "StaleRequest")
        assert "It was stopped again since: " in told.text
        assert "the canary burns" in told.text
        assert (await wave_of(fleet)).state == "stopped"
        assert done(team) == []


async def braked(slack: SlackWorkspace, team: ActingTeam, fleet: Fleet) -> Message:
    """A wave that the brake has stopped while its first node had the turn; the brake is released again."""
    await team.decides("bob", await planned(slack, team, fleet))
    await slack.until(lambda: team.cards("running"), what="a wave that runs")
    wave = await wave_of(fleet)
    first = wave.waiting[0]
    await fleet.desk.append(wave.id, wave.seq, TurnGiven(first.incident, first.node), "bot")
    await fleet.desk.append(wave.id, wave.seq + 1, WaveStopped("bob pulled the brake at 09:00 UTC."), "bot")
    await team.ledger.append(HOUSE, None, BrakePulled("odd"), f"slack:{TEAM}/{BOB}")
    await team.ledger.append(HOUSE, None, BrakeReleased("over"), f"slack:{TEAM}/{BOB}")
    return await slack.until(
        lambda: next((card for card in team.cards("Wave: ") if '"wave-resume"' in json.dumps(card.blocks)), None),
        what="a wave that may be resumed",
    )


async def test_node_that_fails_while_a_wave_stands_still_is_forgiven_only_by_who_was_told_of_it(tmp_path: Path) -> None:
    async with fleet_of(tmp_path) as (slack, team, fleet):
        stopped = await braked(slack, team, fleet)
        before = await team.dialog("bob", stopped, "wave-resume")
        assert "not fixed" not in json.dumps(before.blocks)
        team.world.later = timedelta(minutes=1)
        wave = await wave_of(fleet)
        (turn,) = wave.under_way
        failed = TurnEnded(turn.member.incident, turn.member.node, TurnOutcome.FAILED, "it did not come back")
        await fleet.desk.append(wave.id, wave.seq, failed, "bot")

        await slack.submit("bob", before, {"reason": "the graph was wrong"})
        told = await team.told("bob", "StaleRequest")
        assert f"It would stop now: {turn.member.node} was acted on and is not fixed" in told.text
        assert (await wave_of(fleet)).state == "stopped"

        after = await team.dialog("bob", stopped, "wave-resume")
        assert f"It would stop now: {turn.member.node} was acted on and is not fixed" in json.dumps(after.blocks)
        await slack.submit("bob", after, {"reason": "a broken disk"})
        await team.card("running")
        assert (await wave_of(fleet)).unfixed == ()
