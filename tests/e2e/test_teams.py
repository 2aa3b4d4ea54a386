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

from bot.chat.document import ButtonRow, Document, Lines, Menu, Paragraph, Title, bullets, line
from bot.surfaces.teams.connection import BROKEN_OFF, TeamsConnection
from bot.surfaces.teams.drawing import draw
from bot.view.standing import PICK
from bot.view.words import Person
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
