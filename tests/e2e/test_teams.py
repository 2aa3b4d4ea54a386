"""What is Teams' own: who is let in, which card counts, what is delivered twice, and what the bot bears there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.chat.document import ButtonRow, Dialog, Document, Lines, Menu, Paragraph, Title, bullets, line
from bot.chat.service import Delivered, MessageGone, NoAccess, Rejected, RetryLater
from bot.domain.errors import CannotTell
from bot.domain.post import MessageRef
from bot.surfaces.teams.calls import TeamsCalls
from bot.surfaces.teams.connection import BROKEN_OFF, TeamsConnection
from bot.surfaces.teams.drawing import draw
from bot.view.standing import PICK
from bot.view.words import Person
from tests.faults import Fault
from tests.slack.acting_team import ActingTeam, Cast, acting_team, people
from tests.slack.memory_chat import Shown
from tests.slack.service import QUICK
from tests.teams.simulated import ALICE, APPROVERS, BOB, EVE, GUS, ONCALL, TENANT, SimulatedTeams, simulated_teams

CAST = Cast("teams", TENANT, ALICE, BOB, ONCALL)
POLICY = people(approver_groups=frozenset(), approvers=frozenset({f"teams:{BOB}"}), kinds=frozenset({"teams"}))


@asynccontextmanager
async def deciding(folder: Path, **changes: Any) -> AsyncIterator[tuple[SimulatedTeams, ActingTeam]]:
    async with simulated_teams() as teams:
        connection = teams.connection(QUICK, lambda event, **_: None)
        policy = replace(POLICY, **changes)
        whole: Any = teams
        async with (
            acting_team(whole, folder, chat=connection, cast=CAST, policy=policy) as team,
            teams.hosted(connection),
        ):
            yield teams, team


STRANGERS = {"gus": (GUS, "is a guest"), "eve": (EVE, "is from another organisation")}


@pytest.mark.parametrize("by_group", [False, True])
async def test_guest_and_person_of_another_tenant_decide_nothing_though_the_policy_names_them(
    tmp_path: Path, by_group: bool
) -> None:
    users = {user for user, _ in STRANGERS.values()}
    named: dict[str, Any] = {"approvers": frozenset({f"teams:{user}" for user in (BOB, *users)})}
    if by_group:
        named = {"approvers": frozenset(), "approver_groups": frozenset({f"teams:{APPROVERS}"})}
    async with deciding(tmp_path, **named) as (teams, team):
        team.run_plans = False
        teams.members[APPROVERS] |= users
        offer = await team.proposed("node-1")
        for who, (user, why) in STRANGERS.items():
            await team.decides(who, offer)
            assert why in (await team.told(who, "NotAnApprover")).text
            await team.decided_nothing()
            assert (user, "NotAnApprover") in await team.refusals()
        await team.decides("bob", offer)
        await team.until_state("approved")


async def test_whoever_left_the_conversation_decides_nothing(tmp_path: Path) -> None:
    async with deciding(tmp_path) as (teams, team):
        offer = await team.proposed("node-1")
        view = await team.dialog("bob", offer)
        teams.members[ONCALL] -= {BOB}
        await teams.submit("bob", view, {"reason": "it leaks"})
        await team.told("bob", "NotAnApprover")
        await team.decided_nothing()


SAYS: dict[str, tuple[dict[str, str], str]] = {
    "somebody else": ({"aadObjectId": ALICE}, "NotAnApprover"),
    "no tenant": ({"tenantId": ""}, "NotAnApprover"),
    "a role of which nobody knows": ({"userRole": "anonymous"}, "NotAnApprover"),
    "neither login nor role": ({"userRole": "", "userPrincipalName": ""}, "CannotTell"),
}


async def test_nobody_is_let_in_while_teams_says_too_little_or_nothing_of_who_they_are(tmp_path: Path) -> None:
    async with deciding(tmp_path) as (teams, team):
        offer = await team.proposed("node-1")
        for trouble in (500, 429, 403):
            view = await team.dialog("bob", offer)
            teams.faults.status("GET", trouble)
            await teams.submit("bob", view, {"reason": f"it leaks, {trouble}"})
            await team.idle()
        told = ["CannotTell"] * 3
        known = teams.profiles[BOB]
        for changed, refusal in SAYS.values():
            teams.profiles[BOB] = {**known, **changed}
            await team.decides("bob", offer, reason=f"it leaks, says {changed}")
            await team.idle()
            told.append(refusal)
            assert [name for _, name in await team.refusals()] == told
        await team.decided_nothing()


async def test_same_node_chosen_for_two_alerts_of_a_card_is_two_choices(tmp_path: Path) -> None:
    async with simulated_teams() as teams:
        connection, taken = teams.connection(QUICK, lambda event, **_: None), list[str]()

        class Taking:
            def handle_click(self, click: Any) -> asyncio.Task[None]:
                async def handled() -> None:
                    taken.append(click.block)
                    if click.block == "pick-3":
                        raise ValueError("a bug")

                return asyncio.create_task(handled())

        nothing: Any = None
        taking: Any = Taking()
        connection.listen(nothing, nothing, taking)
        await connection.start()
        rows = [
            ButtonRow((Menu(PICK, "Which node?", (("node-1", "node-1"),)),), f"pick-{number}") for number in (1, 2, 3)
        ]
        async with teams.hosted(connection):
            card: Any = Shown(ONCALL, "1700000000001", "", draw(Document("", tuple(rows))).blocks)
            buttons = [each for block in card.blocks for each in block.get("actions", ())]
            answers = [(await teams.press("bob", card, each, typed="node-1"))["value"] for each in buttons]
        assert taken == ["pick-1", "pick-2", "pick-3"]
        assert answers == ["Done.", "Done.", BROKEN_OFF["words"]], "what broke off is not done"
        await connection.stop()


async def test_thread_lost_from_a_click_and_a_card_in_a_thread_are_borne(tmp_path: Path) -> None:
    async with deciding(tmp_path) as (teams, team):
        offer = await team.proposed("node-1")
        where = {"id": ONCALL, "tenantId": TENANT, "conversationType": "channel"}
        await teams.click("bob", offer, "approve", conversation=where)
        assert teams.modal("bob") is not None


async def test_refusal_finds_its_person_alone_or_says_that_it_could_not(tmp_path: Path) -> None:
    async with deciding(tmp_path) as (teams, team):
        teams.installed -= {ALICE}
        await teams.say("alice", ONCALL, "brake on for a test")
        told = await teams.until(lambda: next(iter(teams.posted), None), what="an answer")
        assert (told.channel, told.only_for) == (ONCALL, "")
        assert "brake" not in told.text
        assert "add me to your apps" in told.text
        teams.installed |= {ALICE}
        await teams.say("alice", ONCALL, "brake on for a test")
        assert (await team.told("alice", "NotAnApprover")).channel == teams.direct("alice")


async def test_home_belongs_to_one_person(tmp_path: Path) -> None:
    async with deciding(tmp_path) as (teams, team):
        await team.proposed("node-1")
        blocks = await teams.home("bob")
        assert "Waiting for you" in json.dumps(blocks)
        home = teams.posted[-1]
        await teams.click("bob", home, "approve")
        view: Any = teams.modal("bob")
        assert "ecs.service" in json.dumps(view.dialog.blocks)
        await teams.close("bob", view)

        answer = await teams.click("gus", replace(home, channel=teams.direct("gus")), "approve")
        assert answer["task"]["value"].startswith("This is not the card of that incident")
        assert teams.modal("gus") is None


async def test_hostile_words_are_neither_link_nor_mention_and_a_name_is_known() -> None:
    evil = "[APPROVED](https://evil.example) <at>everyone</at> **b** \u202e\x1b[31m"
    drawn = draw(Document(evil, (Title(evil), Paragraph(evil), Lines((evil,)), bullets([(evil, evil)]), line(evil))))
    texts = json.dumps([drawn.text, *drawn.blocks], ensure_ascii=False)
    assert not any(kind in texts for kind in ('"TextBlock"', "FactSet", "\u202e", "\x1b", "Action.OpenUrl"))
    shown = json.dumps(drawn.blocks, ensure_ascii=False)
    assert not any(live in shown for live in ("](", "https://", "<at>", "</at>"))
    assert "person" not in shown, "nobody's words are taken for a person"
    (block,) = draw(Document("", (line(Person(f"teams:{TENANT}/{BOB}")),))).blocks
    assert block["inlines"][0]["person"] == BOB


async def test_connection_names_no_secret() -> None:
    async with simulated_teams() as teams:
        connection = TeamsConnection(teams.settings, QUICK, lambda event, **_: None)
        assert teams.secret not in repr(vars(connection)) + repr(teams.settings)
        await connection.stop()


# --- what Teams answers when something is wrong: nothing is lost, and no card is doubled


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
