"""Other chats stand on the seat alone: all that is decided in Slack is decided in Teams, by the same handler.

In a chat in memory most of it is told by test_chat_*.py.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot.chat.connection import NoChat
from bot.chat.post_state import MessageTarget
from bot.domain.alert import BOT, PEOPLE, Alert
from bot.domain.entry import OwnEvent, instant_text
from bot.domain.events import BESIDE, Declined, SampleTaken
from bot.domain.fold import fold
from bot.domain.policy import Policy
from bot.domain.post import Post
from bot.domain.transitions import State
from bot.domain.verdict import Evidence
from bot.extras.fleet.fleet_request import FleetRequest
from bot.extras.marks.marks import scores
from bot.ledger import Database, Leases, Outbox
from bot.ledger.chat_requests import ChatRequestStore
from bot.ledger.entries import append_entry
from tests.program import Running
from tests.record.incidents import OPENING, PROPOSED, TRIAGED, WAYS
from tests.record.keeping import keep
from tests.serving import Served
from tests.slack.acting_team import ALICE, BOB, GROUPED, GUEST, IN_SLACK, ActingTeam, Cast, acting_team, people
from tests.slack.memory_chat import MemoryChat
from tests.slack.service import QUICK, Readings, serving
from tests.slack.wave_team import LEAK, Fleet
from tests.teams import simulated as teams

IDS = {"alice": ALICE, "bob": BOB, "gus": GUEST}
IN_TEAMS = Cast("teams", teams.TENANT, teams.ALICE, teams.BOB, teams.ONCALL)
TEAMS = people(approver_groups=frozenset({f"teams:{teams.APPROVERS}"}), kinds=frozenset({"teams", "terminal"}))


@dataclass(frozen=True, slots=True)
class FromTheFuture(OwnEvent):
    """An event of a newer program, which serves at the same record during a rollout."""


def memory(kind: str = "slack") -> Any:
    return MemoryChat(IDS, frozenset({ALICE, BOB}), frozenset({GUEST}), chat=kind)


@dataclass(frozen=True)
class Chat:
    """A chat as its people see it, and as the bot does."""

    seen: Any
    connection: Any
    cast: Cast
    policy: Policy = GROUPED


@pytest.fixture
async def chat(request: pytest.FixtureRequest) -> AsyncIterator[Chat]:
    if getattr(request, "param", "teams") == "memory":
        one = memory()
        yield Chat(one, one, IN_SLACK)
        return
    async with teams.simulated_teams() as simulated:
        yield Chat(simulated, simulated.connection(QUICK, lambda event, **_: None), IN_TEAMS, TEAMS)


@asynccontextmanager
async def team_in(chat: Chat, folder: Path, **more: Any) -> AsyncIterator[ActingTeam]:
    whole = {"chat": chat.connection, "cast": chat.cast, "policy": chat.policy, **more}
    async with acting_team(chat.seen, folder, **whole) as team, chat.seen.hosted(chat.connection):
        yield team


def of_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the chat's people be known, as a chat does that is added."""
    monkeypatch.setattr("bot.chat.post_state.CHATS", frozenset({"memory"}))
    monkeypatch.setattr("bot.view.words.CHATS", frozenset({"memory"}))
    monkeypatch.setattr("bot.view.view.PEOPLE", PEOPLE | {"memory"})


@pytest.mark.parametrize("chat", ["memory", "teams"], indirect=True)
async def test_check_has_its_card_and_who_may_not_ask_is_told_in_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chat: Chat
) -> None:
    seen, cast, readings = chat.seen, chat.cast, Readings()
    if cast is IN_SLACK:
        of_another_kind(monkeypatch)
        seen.chat, cast = "memory", replace(cast, kind="memory")
    async with serving(seen, tmp_path, readings, chat=chat.connection) as bot:
        seen.bot = bot.address
        readings.hold()
        await seen.say("alice", cast.channel, "check node-7")
        card = await seen.until(lambda: next(iter(seen.messages(cast.channel)), None), what="the card")
        assert "reading" in card.text
        readings.let_go()
        await seen.until(lambda: "node-7: CRITICAL" in card.text, what="the verdict on the same card")
        reply = await seen.until(lambda: next((one for one in seen.posted if one.thread_ts), None), what="its details")
        assert (reply.thread_ts, reply.text) == (card.ts, "node-7: details")
        (incident,) = await bot.ledger.incidents()
        assert (incident.source, incident.source_id.split("/")[0]) == (cast.kind, cast.channel)
        assert fold(await bot.ledger.read(incident.id)).alert.asked_by == cast.by(cast.alice)
        assert "Asked by" in json.dumps(card.blocks)
        assert (cast.by(cast.alice) if cast.kind == "memory" else "Alice") in json.dumps(card.blocks), "who asked"

        await seen.say("gus", cast.channel, "check node-8")
        told = await seen.until(lambda: next((one for one in seen.posted if one.only_for), None), what="the refusal")
        assert told.only_for == seen.state.user("gus").id
        assert "NotAllowedToAsk" in told.text
        assert readings.asked == {"node-7": 1}


async def test_second_person_approves_with_a_reason_and_the_asker_is_refused_in_private(
    tmp_path: Path, chat: Chat
) -> None:
    async with team_in(chat, tmp_path) as team:
        offer = await team.proposed("node-1")
        await team.decides("alice", offer)
        assert (await team.told("alice", "SelfApproval")).only_for == chat.cast.alice
        await team.decided_nothing()

        view = await team.dialog("bob", offer)
        assert "ecs.service" in json.dumps([str(block) for block in view.dialog.blocks]), "the plan is shown whole"
        blank = await chat.seen.submit("bob", view, {"reason": ""})
        assert "ReasonMissing" in blank.errors["reason"]
        await chat.seen.submit("bob", view, {"reason": "it leaks, and training dies"})
        await team.until_state("resolved")
        await team.idle()
        await chat.seen.until(lambda: offer.text.startswith("Resolved: node-1"), what="the card, edited in place")
        assert "it leaks, and training dies" in json.dumps(offer.blocks)
        said = await chat.seen.until(lambda: [one for one in chat.seen.posted if YES in one.text], what="the yes")
        assert [one.thread_ts for one in said] == [offer.ts]


async def test_changed_dialog_is_refused(tmp_path: Path, chat: Chat) -> None:
    async with team_in(chat, tmp_path) as team:
        view = await team.dialog("bob", await team.proposed("node-1"))
        changed = view.private_metadata.replace("node", "n0de").replace(chat.cast.bob, chat.cast.alice)
        view.private_metadata = changed
        sent = await chat.seen.submit("bob", view, {"reason": "now"})
        assert "PlanChanged" in sent.errors["reason"]
        await team.decided_nothing()


async def test_undo_says_what_it_brings_back_and_is_a_plan_of_its_own(tmp_path: Path, chat: Chat) -> None:
    async with team_in(chat, tmp_path) as team:
        offer = await team.proposed("node-1")
        await team.decides("bob", offer)
        await team.until_state("resolved")
        await team.idle()
        await chat.seen.until(lambda: '"undo"' in json.dumps(offer.blocks), what="the button")
        row = next(block for block in offer.blocks if '"undo"' in json.dumps(block))
        assert row["actions"][-1]["title"] == "Undo: bring back ecs.service"
        before, _, after = json.dumps(offer.blocks).partition('"undo"')
        assert "proved after" in before, "what came of it is seen first"
        assert '"report"' not in after
        view = await team.dialog("bob", offer, "undo")
        assert "ecs.service is again as it was before (enable start)" in str(view.dialog.blocks)
        await chat.seen.submit("bob", view, {"reason": "it was the wrong agent"})
        await team.idle()
        again = await team.offering("undo")
        assert again.ts != offer.ts
        await team.decides("bob", again)
        assert "SelfApproval" in (await team.told("bob", "SelfApproval")).text


async def test_wrong_verdict_is_asked_what_it_was_and_taken_back_by_whoever_said_so(tmp_path: Path, chat: Chat) -> None:
    async with team_in(chat, tmp_path) as team:
        offer = await team.proposed("node-1")
        await team.decides("bob", offer, "decline", "the job has to finish")
        await team.until_state("declined")
        await team.idle()
        await chat.seen.until(lambda: '"feedback-wrong"' in json.dumps(offer.blocks), what="the question")
        view = await team.dialog("bob", offer, "feedback-wrong")
        assert view.dialog.asks["label"].startswith("What was it?"), "nobody is asked for a reason"
        assert not await team.marks.read(), "a click alone says nothing"
        assert "ReasonMissing" in (await chat.seen.submit("bob", view, {"reason": ""})).errors["reason"]
        await chat.seen.submit("bob", view, {"reason": "the disk is full"})
        told = await team.told("bob", "was wrong, and it was: the disk is full.")
        assert "--expect CAUSE|none" in told.text, "those words name no cause"
        (score,) = scores(await team.marks.read())
        assert (score.right, score.wrong) == (0, 1)

        await chat.seen.click("alice", offer, "feedback-right")
        await team.told("alice", "was right.")
        await chat.seen.click("bob", told, "feedback-back")
        taken = await team.told("bob", "Taken back")
        assert not any("actions" in block for block in taken.blocks)
        (score,) = scores(await team.marks.read())
        assert (score.right, score.wrong) == (1, 0), "alice's word stands"
        again = await team.dialog("bob", offer, "feedback-wrong")
        await chat.seen.submit("bob", again, {"reason": "io-stall"})
        assert "--expect io-stall" in (await team.told("bob", "io-stall")).text
        (score,) = scores(await team.marks.read())
        assert (score.right, score.wrong) == (1, 1)


async def test_pressed_button_shows_on_the_card_at_once_that_it_works(tmp_path: Path, chat: Chat) -> None:
    async with team_in(chat, tmp_path) as team:
        offer = await team.proposed("node-1")
        before = json.dumps(offer.blocks)
        incident = await team.find((await team.ledger.incidents())[0].id)
        async with team.acting.cards.working(incident, "Profiling core 39 for 10 s…"):
            await chat.seen.until(
                lambda: "Profiling core 39 for 10 s" in json.dumps(offer.blocks), what="that it works"
            )
            said = json.dumps(offer.blocks)
            assert '"approve"' in said, "nobody has to wait for it"
        await chat.seen.until(lambda: json.dumps(offer.blocks) == before, what="the card as it was")


async def test_home_shows_what_waits_for_me_and_for_others_then_the_sick_nodes_then_the_brake(
    tmp_path: Path, chat: Chat
) -> None:
    async with team_in(chat, tmp_path) as team:
        await team.proposed("node-1")
        await team.decides("bob", await team.proposed("node-2", key="cmd-2"), "decline", "the job has to finish")
        await team.card("Declined: node-2")
        await team.idle()

        bobs, alices, guests = [str(await chat.seen.home(who)) for who in ("bob", "alice", "gus")]
        order = ["Waiting for you", "disable ecs.service, then reboot", "approve", "Sick nodes", "node-1: CRITICAL"]
        assert all(words in bobs for words in order)
        assert sorted(order, key=bobs.index) == order
        assert bobs.index("node-2: CRITICAL") < bobs.index("declined") < bobs.index("Pull the brake")
        assert "You asked" not in bobs
        assert "until" in bobs.split("approve")[0]

        order = ["Nothing waits for your decision.", "You asked, others decide", "then reboot", "Who may approve: "]
        assert sorted(order, key=alices.index) == order
        assert "Sick nodes" in alices.split("Who may approve: ")[1]
        assert "'approve'" not in alices

        assert "NotAllowedToAsk" in guests
        assert not any(words in guests for words in ("node-1", "node-2", "Sick nodes", "You asked"))


async def test_home_shows_a_node_as_sick_by_its_last_verdict_whatever_nobody_read_since(
    tmp_path: Path, chat: Chat
) -> None:
    async with team_in(chat, tmp_path) as team:
        keep(team.ledger, "aaaaaaaaaa", WAYS[State.ESCALATED])
        asked = Alert(chat.cast.kind, "undo aaaaaaaaaa 1", chat.cast.by(chat.cast.bob))
        undo = replace(OPENING, alert=asked, group="g2", undoes="aaaaaaaaaa")
        keep(team.ledger, "bbbbbbbbbb", (undo, TRIAGED, PROPOSED, Declined("no")))
        keep(team.ledger, "cccccccccc", WAYS[State.CANCELLED])
        assert "node-gpu-01: CRITICAL" in str(await chat.seen.home("bob"))


@pytest.mark.parametrize("beside", ["", "critical io-stall"])
async def test_home_shows_a_cured_node_as_sick_where_it_has_another_fault(
    tmp_path: Path, chat: Chat, beside: str
) -> None:
    async with team_in(chat, tmp_path) as team:
        look = SampleTaken(True, (Evidence(BESIDE if beside else "figures", "verdict", beside),))
        *way, _, end = WAYS[State.RESOLVED]
        keep(team.ledger, "aaaaaaaaaa", (*way, look, end))
        assert ("at the end critical io-stall" in str(await chat.seen.home("bob"))) == bool(beside)


async def test_home_counts_what_only_a_newer_program_can_read_and_shows_the_rest(tmp_path: Path, chat: Chat) -> None:
    async with team_in(chat, tmp_path) as team:
        await team.proposed("node-1")
        keep(team.ledger, "aaaaaaaaaa", WAYS[State.PROPOSED])
        with team.ledger.database.writing() as connection:
            append_entry(connection, "aaaaaaaaaa", None, FromTheFuture(), BOT, instant_text(datetime.now(UTC)))
        home = str(await chat.seen.home("bob"))
        shown = ["'approve'", "And 1 more plans wait", "node-1: CRITICAL", "And 1 more: /zombie", "Pull the brake"]
        assert sorted(shown, key=home.find) == shown
        assert home.find(shown[0]) > 0


async def test_yes_to_a_wave_is_one_dialog_with_every_plan(tmp_path: Path, chat: Chat) -> None:
    fleet, cast = Fleet(), chat.cast
    async with team_in(chat, tmp_path, fleet=fleet) as team:
        fleet.reader.let_go.set()
        ask = FleetRequest.typed(["role=gpu", "--cause", LEAK])
        await team.fleet.start(ask, "cmd-1", MessageTarget(cast.channel), cast.by(cast.alice))
        await chat.seen.click("alice", await team.card("nodes have"), "fleet-plan")
        card = await team.card("Wave: ")
        await chat.seen.until(lambda: '"approve"' in json.dumps(card.blocks), what="its offer")
        await team.decides("bob", card)
        await chat.seen.until(lambda: "running" in card.text or "completed" in card.text, what="the wave to run")
        await fleet.carry_on()
        await chat.seen.until(lambda: "completed" in card.text, what="its end")
        assert [wave.state.value for wave in await fleet.waves()] == ["completed"]
        assert all(one.stopped for one in team.stage.nodes.values())
        await fleet.watching.drain(0)


async def test_without_a_chat_alerts_are_diagnosed_and_recorded(tmp_path: Path) -> None:
    readings = Readings()
    nobody = memory()
    alert = {"status": "firing", "labels": {"alertname": "CpuPinned", "instance": "node-3"}, "fingerprint": "f1"}
    body = {"version": "4", "groupKey": "g1", "status": "firing", "alerts": [alert | {"startsAt": NOW}]}
    environment = {"ALERTMANAGER_TOKEN": "t" * 20}
    async with (
        serving(nobody, tmp_path, readings, chat=NoChat(), environment=environment, toml=ALERTS) as bot,
        aiohttp.ClientSession() as client,
    ):
        async with client.get(f"{bot.address}/readyz") as ready:
            assert (ready.status, bot.logged("ready")[0]["by"]) == (200, "none")
        headers = {"Authorization": f"Bearer {'t' * 20}"}
        async with client.post(f"{bot.address}/alertmanager", json=body, headers=headers) as answer:
            assert answer.status == 202
        async with asyncio.timeout(20):
            while (await bot.incidents()).get("node-3") in (None, "opened"):  # noqa: ASYNC110 - asks a database
                await asyncio.sleep(0.02)
        assert readings.asked == {"node-3": 1}
        assert not [line for line in bot.lines if line["event"].endswith("_failed")]


async def test_without_a_chat_nothing_is_taken_from_those_that_share_the_record_and_have_one(tmp_path: Path) -> None:
    """A dialog that was acknowledged right before its program died is for the next one that is in that chat."""
    readings, nobody = Readings(), memory()
    with Database.open(f"sqlite:///{tmp_path / 'zombie.db'}") as database:
        left, outbox = ChatRequestStore(Leases(database, "gone")), Outbox(database)
        assert left.keep.now("sent-1", '{"metadata": "of Slack", "reason": "it burns"}')
        outbox.keep.now(Post("incident", "card", IN_SLACK.channel, {"text": "Escalated: node-1"}))
    environment = {"ALERTMANAGER_TOKEN": "t" * 20}
    settings: dict[str, Any] = {"chat": NoChat(), "environment": environment, "toml": ALERTS}
    async with serving(nobody, tmp_path, readings, **settings) as bot:
        await asyncio.sleep(10 * QUICK.sweep_every)
        assert bot.logged("ready")
    with Database.open(f"sqlite:///{tmp_path / 'zombie.db'}") as database:
        assert [kept.key for kept in ChatRequestStore(Leases(database, "next")).take_over_unowned.now()] == ["sent-1"]
        assert Outbox(database).waiting.now() == 1


@pytest.mark.parametrize(("token", "status"), [("t" * 20, 0), ("", 2)])
async def test_serve_needs_a_chat_or_alerts(tmp_path: Path, token: str, status: int) -> None:
    (tmp_path / "nodes.toml").write_text('[nodes.node-1]\naddress = "127.0.0.1"\n')
    environ = {"HOME": str(tmp_path), "ZOMBIE_LISTEN": "127.0.0.1:0", "ZOMBIE_STATE_DIR": str(tmp_path)}
    environ["ALERTMANAGER_TOKEN"] = token
    inventory = str(tmp_path / "nodes.toml")
    program = Served(await Running.start("serve", "--inventory", inventory, cwd=tmp_path, env=environ, out=False))
    if status == 0:
        assert (await program.ready()).logged("ready")["by"] == "none"
        assert await program.end() == 0
    else:
        assert await asyncio.wait_for(program.process.wait(), 60) == status
        await program.kill()
    assert any("SLACK_BOT_TOKEN is not set" in str(line) for line in program.lines) is bool(status)


NOW = "2026-11-22T03:00:00Z"
YES = "said yes to node-1"
ALERTS = '[slack]\nalerts_channel = "C0ONCALL01"\n'
