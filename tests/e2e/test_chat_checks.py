"""Checks that people of a chat ask for: typed, by a click, left behind by a run that was killed, without an extra."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from sqlalchemy import text

from bot.chat.people import Person
from bot.chat.requests import CommandRequest
from bot.chat.stored_checks import encode_check
from bot.domain.house_events import HOUSE
from bot.domain.transitions import State
from bot.ledger import Database, Leases, Ledger
from bot.ledger.chat_requests import ChatRequestStore
from tests.record.incidents import WAYS
from tests.record.keeping import keep
from tests.slack.acting_team import ALICE, BOB, CAROL, GUEST, ONCALL, TEAM
from tests.slack.memory_chat import MemoryChat, Shown
from tests.slack.service import Bot, Readings, eventually, serving

ASKED = CommandRequest("cmd-1.2", Person(ALICE, TEAM), ONCALL, "check node-1 node-2")
Serve: TypeAlias = Callable[..., AbstractAsyncContextManager[Bot]]


@pytest.fixture
def serve(chat: MemoryChat, tmp_path: Path) -> Serve:
    """Runs the bot in that chat, over readings."""
    return partial(serving, chat, tmp_path, chat=chat)


def buttons(message: Shown) -> dict[str, str]:
    """Return the buttons of a message: what each says, by its name or its action."""
    rows = [block for block in message.blocks if block["is"] == "ButtonRow"]
    return {item["name"] or item["action"]: item["words"] for row in rows for item in row["items"] if "words" in item}


def cards(chat: MemoryChat) -> list[Shown]:
    return [one for one in chat.messages(ONCALL) if not one.thread_ts]


async def card_saying(chat: MemoryChat, words: str) -> Shown:
    return await chat.until(lambda: next((one for one in cards(chat) if words in one.text), None), what=words)


async def told(chat: MemoryChat, words: str, user: str = "alice") -> Shown:
    """Wait for what one person alone is told."""

    def found() -> Shown | None:
        said = [one for one in chat.messages(ONCALL, user) if one.only_for]
        return next((one for one in said if words in f"{one.text} {json.dumps(one.blocks, ensure_ascii=False)}"), None)

    return await chat.until(found, what=words)


# --- by a click


async def closed_card(chat: MemoryChat, asked: str, words: str) -> Shown:
    await chat.say("alice", ONCALL, f"check {asked}")
    card = await card_saying(chat, words)
    await chat.until(lambda: "check_again" in buttons(card), what="its button")
    return card


@pytest.mark.parametrize(
    ("nodes", "words", "button"),
    [(("node-7",), "node-7: CRITICAL", "Check again"), (("node-7", "node-8"), "2 nodes: 2 critical", "Check 2 again")],
)
async def test_card_is_checked_again_on_a_card_of_its_own_by_whoever_clicks(
    chat: MemoryChat, serve: Serve, nodes: tuple[str, ...], words: str, button: str
) -> None:
    readings = Readings()
    async with serve(readings) as bot:
        card = await closed_card(chat, " ".join(nodes), words)
        assert buttons(card)["check_again"] == button
        before = json.dumps(card.blocks)
        await chat.click("bob", card, "check_again")
        await chat.until(lambda: len(cards(chat)) == 2, what="a card of its own")
        await chat.until(lambda: words in cards(chat)[1].text, what="its verdicts")
        assert readings.asked == dict.fromkeys(nodes, 2)
        assert json.dumps(cards(chat)[0].blocks) == before, "what was found before stays as it was found"
        incidents = await bot.ledger.incidents()
        assert len(incidents) == 2 * len(nodes)
        entries = [(await bot.ledger.read(incident.id))[0] for incident in incidents]
        assert {entry.by.rpartition("/")[2] for entry in entries} == {ALICE, BOB}


async def test_click_is_counted_and_judged_as_a_typed_check(chat: MemoryChat, serve: Serve) -> None:
    readings = Readings()
    toml = '[slack]\nchecks_per_person = "1/1h"\n[policy]\naskers = ["U0ALICE001"]\n'
    async with serve(readings, toml=toml):
        card = await closed_card(chat, "node-7", "node-7: CRITICAL")
        await chat.click("bob", card, "check_again")
        await told(chat, "does not name you", "bob")
        await chat.click("alice", card, "check_again")
        await told(chat, "You asked for 1 checks within 1 h")
        assert readings.asked == {"node-7": 1}
        assert len(cards(chat)) == 1


async def test_mistyped_name_is_answered_in_private_with_a_button_for_each_near_one(
    chat: MemoryChat, serve: Serve
) -> None:
    readings = Readings()
    async with serve(readings):
        await chat.say("alice", ONCALL, "check zzz <!channel>")
        assert buttons(await told(chat, "zzz")) == {}, "near to nothing"
        await chat.say("alice", ONCALL, "check nod-77")
        meant = await told(chat, "nod-77")
        offered = buttons(meant)
        assert offered["check_meant-0"] == "Check node-77"
        assert not readings.asked, "a suggestion is offered, never taken"
        await chat.click("alice", meant, "check_meant-0")
        await card_saying(chat, "node-77: CRITICAL")
        assert readings.asked == {"node-77": 1}
        assert len(cards(chat)) == 1


# --- who may ask, and how often


async def refusals(bot: Bot) -> list[str]:
    """What was refused to whom, as it stands on record."""
    entries: list[Any] = [entry for entry in await bot.ledger.read(HOUSE) if entry.kind == "WishRefused"]
    return [f"{entry.by.rpartition('/')[2]} {entry.body['refusal']}" for entry in entries]


NOT_NAMED = "[policy] askers does not name you, nor a group that you are in."


@pytest.mark.parametrize(
    ("who", "askers", "says"),
    [
        ("gus", "members", f"{GUEST} is a guest: only full members of this workspace ask for checks."),
        ("gus", [GUEST, BOB], f"{GUEST} is a guest"),
        ("carol", [BOB], NOT_NAMED),
        ("carol", ["S0SRE00001"], NOT_NAMED),
    ],
)
async def test_whoever_may_not_ask_has_no_node_read_and_learns_no_name(
    chat: MemoryChat, serve: Serve, who: str, askers: object, says: str
) -> None:
    readings = Readings()
    async with serve(readings, toml=f"[policy]\naskers = {json.dumps(askers)}\n") as bot:
        for words in ("check node-1 node-1x", "fleet node-1*"):
            await chat.say(who, ONCALL, words)
            refused = await told(chat, says, who)
            assert "(NotAllowedToAsk)" in refused.text
            assert "node-1" not in refused.text
            chat.posted.remove(refused)
        await chat.say("bob", ONCALL, "check node-2")
        await card_saying(chat, "node-2")
        assert (set(readings.asked), len(cards(chat))) == ({"node-2"}, 1)
        assert await refusals(bot) == [f"{chat.ids[who]} NotAllowedToAsk"] * 2


async def test_whoever_may_not_ask_does_not_learn_either_which_nodes_are_sick(
    chat: MemoryChat, serve: Serve, tmp_path: Path
) -> None:
    with Database.open(f"sqlite:///{tmp_path / 'zombie.db'}") as database:
        keep(Ledger(database), "7k3m9x2qpv", WAYS[State.UNKNOWN])
    async with serve(Readings(), toml=f'[policy]\naskers = ["{BOB}"]\napprovers = ["{CAROL.id}"]\n'):
        for who, learns in (("gus", False), ("alice", False), ("bob", True), ("carol", True)):
            home = str(await chat.home(who))
            assert ("node-gpu-01" in home, "Sick nodes" in home) == (learns, learns), who
            await chat.say(who, ONCALL, "status")
            status = await told(chat, "incident" if learns else "(NotAllowedToAsk)", who)
            assert ("node-gpu-01" in status.text) is learns, who


async def test_who_decides_sees_what_is_open_also_while_the_group_of_the_askers_cannot_be_read(
    chat: MemoryChat, serve: Serve
) -> None:
    chat.silent = {"group"}
    async with serve(Readings(), toml=f'[policy]\naskers = ["S0SRE00001"]\napprovers = ["{CAROL.id}"]\n'):
        for who, words in (("alice", "(CannotTell)"), ("carol", "Nothing is open.")):
            await chat.say(who, ONCALL, "status")
            await told(chat, words, who)


async def test_checks_of_one_person_are_limited_and_others_go_on(chat: MemoryChat, serve: Serve) -> None:
    readings = Readings()
    async with serve(readings, toml='[slack]\nchecks_per_person = "2/1h"\n') as bot:
        for number in (1, 2):
            await chat.say("carol", ONCALL, f"check node-{number} node-1{number}")
            await card_saying(chat, f"node-{number}")
        for number in range(20, 35):
            await chat.say("carol", ONCALL, f"check node-{number}")
        await told(chat, "You asked for 2 checks within 1 h, which is the limit.", "carol")
        await chat.say("bob", ONCALL, "check node-3")
        await card_saying(chat, "node-3")
        await chat.until(
            lambda: len([one for one in chat.messages(ONCALL, "carol") if "TooManyRequests" in one.text]) == 15,
            what="an answer to each",
        )
        assert set(readings.asked) == {"node-1", "node-2", "node-3", "node-11", "node-12"}
        assert await refusals(bot) == [f"{CAROL.id} TooManyRequests"] * 10, "the rest is counted"


async def test_chat_that_does_not_say_who_asks_causes_no_login(chat: MemoryChat, serve: Serve) -> None:
    readings = Readings()
    chat.silent = {"person"}
    async with serve(readings):
        await chat.say("carol", ONCALL, "check node-1")
        await told(chat, "Memory did not say who you are", "carol")
        assert not readings.asked


# --- left behind by a run that was killed


def left(folder: Path, *asked: CommandRequest, ago: timedelta = timedelta(0)) -> None:
    """Leave what was asked behind, as a bot does that is killed right after its acknowledgement."""
    with Database.open(f"sqlite:///{folder / 'zombie.db'}") as database:
        dead = ChatRequestStore(Leases(database, "dead", time=lambda: datetime.now(UTC) - ago))
        for request in asked:
            assert dead.keep.now(request.key, encode_check(request, ["node-1", "node-2"]))


async def test_next_run_begins_it_once_on_a_card(chat: MemoryChat, serve: Serve, tmp_path: Path) -> None:
    readings = Readings()
    left(tmp_path, ASKED)
    async with serve(readings) as bot:
        await card_saying(chat, "2 nodes: 2 critical")
        await eventually(bot.incidents, {"node-1": "triaged", "node-2": "triaged"})
        found = [await bot.ledger.incident(one.id) for one in await bot.ledger.incidents()]
        assert {one.alert.asked_by for one in found} == {ASKED.by}
    async with serve(readings):
        await card_saying(chat, "2 nodes: 2 critical")
    assert readings.asked == {"node-1": 1, "node-2": 1}


async def test_guest_and_whoever_asked_long_ago_cause_no_login(chat: MemoryChat, serve: Serve, tmp_path: Path) -> None:
    readings = Readings()
    left(tmp_path, replace(ASKED, person=Person(GUEST, TEAM)))
    left(tmp_path, replace(ASKED, key="cmd-3.4"), ago=timedelta(minutes=16))
    async with serve(readings) as bot:
        await told(chat, "NotAllowedToAsk", "gus")
        late = await told(chat, "Ask again.")
        assert late.text.startswith("You asked for “check node-1 node-2” more than 15m ago")
        assert await bot.incidents() == {}
    assert not readings.asked


async def test_check_is_on_disk_while_it_is_not_begun(chat: MemoryChat, serve: Serve, tmp_path: Path) -> None:
    may_ask, admit = asyncio.Event(), chat.admit

    async def slow(user: str, do: str = "decide") -> None:
        await may_ask.wait()
        await admit(user, do)

    chat.admit = slow  # type: ignore[method-assign]
    async with serve(Readings()):
        await chat.say("alice", ONCALL, "check node-1")
        with Database.open(f"sqlite:///{tmp_path / 'zombie.db'}") as database:

            async def kept(wanted: str) -> list[str]:
                with database.reading() as connection:
                    asked = text("SELECT body FROM wishes WHERE key LIKE 'cmd-%'")
                    return [str(wanted in body) for body in connection.execute(asked).scalars()]

            await eventually(lambda: kept('"nodes":["node-1"]'), ["True"])
            may_ask.set()
            await card_saying(chat, "node-1: CRITICAL")
            await eventually(lambda: kept("node"), ["False"])


# --- without an extra


async def test_many_nodes_are_not_asked_for_where_fleets_are_left_out(chat: MemoryChat, serve: Serve) -> None:
    toml = '[extras]\noff = ["fleet"]\n'
    async with serve(Readings(), toml=toml) as bot:
        for said, answered in (
            ("fleet role=gpu", "I do not know the command `fleet`."),
            ("check role=gpu", "Name each node: what reads `role=gpu`, which may mean many, is left out here."),
        ):
            await chat.say("alice", ONCALL, said)
            reply = await told(chat, answered)
            assert "zombie fleet" not in json.dumps(reply.blocks), "nor does the help beside it"
        assert not bot.logged("swept")
        await chat.say("alice", ONCALL, "check node-7")
        card = await card_saying(chat, "node-7: CRITICAL")
        assert "who-else" not in json.dumps(card.blocks)


@pytest.mark.parametrize(
    ("off", "gone", "there"),
    [("captures", ("capture",), ("profile",)), ("profiles", ("profile", "capture"), ()), ("mcp", (), ("profile",))],
)
async def test_what_people_type_is_known_with_its_extra_alone(
    chat: MemoryChat, serve: Serve, off: str, gone: tuple[str, ...], there: tuple[str, ...]
) -> None:
    toml = f'[extras]\noff = ["{off}"]\n'
    async with serve(Readings(), toml=toml) as bot:
        await chat.say("alice", ONCALL, "help")
        said = str((await told(chat, "What I can do")).blocks)
        for verb in gone:
            assert f"/zombie {verb}" not in said
            await chat.say("alice", ONCALL, f"{verb} node-7")
            await told(chat, f"I do not know the command `{verb}`")
        for verb in there:
            assert f"/zombie {verb}" in said
        assert not bot.logged("extra_left_out")
