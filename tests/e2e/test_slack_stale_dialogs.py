"""Dialogs from a while ago: what they answer has to be the present one, be it a question or the stop of a wave."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from bot.domain.events import GO_ON
from bot.domain.policy import Approval
from tests.e2e.test_slack_wave_requests import done, fleet_of, planned, wave_of
from tests.slack.acting_team import ALICE, CAROL, TEAM, acting_team
from tests.slack.workspace import workspace

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
