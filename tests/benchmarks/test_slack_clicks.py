"""How long a click waits for its dialog, and a decision for the first word of it, in the simulated workspace."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.demo.slack.people import User
from tests.slack.acting_team import BOB, ONCALL, acting_team
from tests.slack.workspace import workspace

pytestmark = pytest.mark.benchmark
CLICKS = 200


def p99(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=100)[98]


async def test_click_opens_its_dialog_within_300_ms(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as team:
        offer = await team.proposed("node-1")
        took = []
        for _ in range(CLICKS):
            began = time.perf_counter()
            await slack.click("bob", offer, "approve")
            view = await slack.until(lambda: slack.modal("bob"), what="the dialog")
            took.append(time.perf_counter() - began)
            await slack.close("bob", view)
        print(f"click to dialog: p50 {statistics.median(took) * 1e3:.1f} ms, p99 {p99(took) * 1e3:.1f} ms")
        record_property("click_to_dialog_p99_seconds", p99(took))
        assert p99(took) < 0.3


async def test_fifty_clicks_at_once_open_their_dialogs_within_300_ms(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as team:
        crowd = [User(f"U0CROWD{n:03}", f"person-{n}", f"Person {n}") for n in range(50)]
        for user in crowd:
            slack.state.add_user(user)
            slack.state.set_member(ONCALL, user.id, member=True)
        offer = await team.proposed("node-1")

        async def click(user: User) -> float:
            began = time.perf_counter()
            await slack.click(user.id, offer, "approve")
            await slack.until(lambda: slack.modal(user.id), what="the dialog")
            return time.perf_counter() - began

        took = list(await asyncio.gather(*(click(user) for user in crowd)))
        print(
            f"fifty at once, click to dialog: p50 {statistics.median(took) * 1e3:.1f} ms, p99 {p99(took) * 1e3:.1f} ms"
        )
        assert p99(took) < 1.0, "all of it in one process with the workspace itself"


async def test_first_word_of_a_decision_comes_within_300_ms(tmp_path: Path) -> None:
    async with workspace() as slack, acting_team(slack, tmp_path) as team:
        team.run_plans = False
        offer = await team.proposed("node-1")
        view = await team.dialog("bob", offer)
        team.world.looking.clear()
        began = time.perf_counter()
        await slack.submit("bob", view, {"reason": "it leaks"})
        await team.card(f"checking… <@{BOB}> said yes")
        took = time.perf_counter() - began
        team.world.looking.set()
        print(f"submission to “checking…”: {took * 1e3:.1f} ms")
