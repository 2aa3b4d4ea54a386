"""What Teams answers when something is wrong, and what the bot makes of it: nothing is lost, and no card is doubled."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from bot.chat.document import Dialog, Document, Paragraph, Title, line
from bot.chat.service import Delivered, MessageGone, NoAccess, Rejected, RetryLater
from bot.domain.errors import CannotTell
from bot.domain.post import MessageRef
from bot.surfaces.teams.calls import TeamsCalls
from bot.view.words import Person
from tests.faults import Fault
from tests.slack.service import QUICK
from tests.teams.simulated import ALICE, BOB, ONCALL, TENANT, SimulatedTeams, simulated_teams

CARD = Document("node-1: CRITICAL", (Title("node-1: CRITICAL"), Paragraph("why")))


@asynccontextmanager
async def calling() -> AsyncIterator[tuple[SimulatedTeams, TeamsCalls, list[str]]]:
    async with simulated_teams() as teams:
        lines = list[str]()
        timing = replace(QUICK, call_limit=2.0)
        connection = teams.connection(timing, lambda event, **_: lines.append(event))
        try:
            yield teams, connection.calls, lines
        finally:
            await connection.stop()


ANSWERS: dict[str, tuple[int, dict[str, str], Any]] = {
    "limited": (429, {"Retry-After": "7"}, RetryLater("http_429", 7.0)),
    "limited, without saying for how long": (429, {}, RetryLater("http_429", 1.0)),
    "limited, for nonsense": (429, {"Retry-After": "soon"}, RetryLater("http_429", 1.0)),
    "limited, for ever": (429, {"Retry-After": "99999999"}, RetryLater("http_429", 3600.0)),
    "down": (503, {}, RetryLater("http_503", 0.0)),
    "a gateway": (502, {}, RetryLater("http_502", 0.0)),
    "the token has ended": (401, {}, RetryLater("http_401", 0.0)),
    "uninstalled": (403, {}, NoAccess("http_403")),
}


@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_answer_is_understood_and_the_next_try_is_taken(method: str) -> None:
    async with calling() as (teams, calls, _):
        message = calls.draw(CARD)
        first = await calls.post(ONCALL, "", message)
        assert isinstance(first, Delivered)
        assert first.place is not None
        place = first.place

        async def again() -> Any:
            return await (calls.post(ONCALL, "", message) if method == "POST" else calls.edit(place, message))

        for what, (status, headers, meaning) in ANSWERS.items():
            teams.faults.add(method, Fault(status, {}, tuple(headers.items())))
            assert await again() == meaning, what
            assert isinstance(await again(), Delivered), what
        assert len(teams.posted) == (1 + len(ANSWERS) if method == "POST" else 1)


@pytest.mark.parametrize("status", [400, 413])
async def test_card_that_is_refused_is_shown_as_text(status: int) -> None:
    async with calling() as (teams, calls, lines):
        teams.faults.status("POST", status)
        assert isinstance(await calls.post(ONCALL, "", calls.draw(CARD)), Delivered)
        (shown,) = teams.posted
        assert (shown.text, shown.blocks) == ("node-1: CRITICAL\nwhy", ())
        assert lines == ["teams_refused"]
        teams.faults.status("POST", status, times=2)
        assert await calls.post(ONCALL, "", calls.draw(CARD)) == Rejected(f"http_{status}")


async def test_message_or_thread_that_is_gone_is_told_from_a_channel_that_is() -> None:
    async with calling() as (teams, calls, _):
        message = calls.draw(CARD)
        assert await calls.edit(MessageRef(ONCALL, "1600000000000"), message) == MessageGone("http_404")
        teams.faults.status("POST", 404)
        assert await calls.post(ONCALL, "1600000000000", message) == MessageGone("http_404")
        assert await calls.post("19:nowhere01@thread.tacv2", "", message) == NoAccess("http_404")


async def test_nothing_that_is_no_answer_of_teams_is_taken_for_one() -> None:
    async with calling() as (teams, calls, _):
        object.__setattr__(calls.settings, "service_url", f"{teams.url}/elsewhere/")
        outcome = await calls.post(ONCALL, "", calls.draw(CARD))
        assert outcome == NoAccess("http_404")
        object.__setattr__(calls.settings, "service_url", "http://127.0.0.1:1/")
        assert isinstance(await calls.post(ONCALL, "", calls.draw(CARD)), RetryLater)
        with pytest.raises(CannotTell, match="Teams did not say who you are"):
            await calls.member(ONCALL, ALICE)


async def test_chat_with_a_person_is_opened_once_and_told_apart_from_one_that_cannot_be() -> None:
    async with calling() as (teams, calls, _):
        message = calls.draw(Document("for you", (Paragraph("for you"),)))
        for _ in range(2):
            assert await calls.whisper("", BOB, "", message) == Delivered()
        assert [path for method, path in teams.calls if path.endswith("/conversations")] == ["/teams/v3/conversations"]
        teams.installed.clear()
        assert isinstance(await calls.whisper("", ALICE, "", message), NoAccess)
        teams.faults.status("POST", 503)
        assert isinstance(await calls.whisper(ONCALL, ALICE, "", message), RetryLater), "it is not said to everybody"
        assert [one.only_for for one in teams.posted] == [BOB, BOB]


async def test_dialog_for_a_click_that_was_answered_or_never_came_does_not_open() -> None:
    async with calling() as (_, calls, _):
        with pytest.raises(CannotTell, match="too late"):
            await calls.open_dialog("click-1", Dialog("Approve", "Approve", ()), "sealed")


async def test_person_who_cannot_be_named_stands_by_id_and_is_asked_for_once() -> None:
    async with calling() as (teams, calls, _):
        teams.members[ONCALL] -= {ALICE}
        known, unknown = (Document("", (line("By ", Person(f"teams:{TENANT}/{user}")),)) for user in (BOB, ALICE))
        for _ in range(3):
            await calls.post(ONCALL, "", calls.draw(known))
            await calls.post(ONCALL, "", calls.draw(unknown))
        shown = [one.blocks[0]["inlines"][1]["text"] for one in teams.posted]
        assert shown[:2] == ["Bob", f"teams:{TENANT}/{ALICE}"]
        assert len([call for call in teams.calls if call[0] == "GET"]) == 2
