"""A check that was asked for and not begun, because the bot was killed: the next run begins it, for whoever may ask."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import text

from bot.chat.people import Person
from bot.chat.requests import CommandRequest
from bot.chat.stored_checks import encode_check
from bot.demo.slack.people import ALICE, GUEST, TEAM_ID
from bot.ledger import Database, Leases
from bot.ledger.chat_requests import ChatRequestStore
from tests.slack.service import Readings, card_saying, eventually, reply_saying, serving
from tests.slack.workspace import workspace

CHANNEL = "C0ONCALL01"
ASKED = CommandRequest("cmd-1.2", Person(ALICE.id, TEAM_ID), CHANNEL, "check node-1 node-2")


def left(folder: Path, *asked: CommandRequest, ago: timedelta = timedelta(0)) -> None:
    """Leave what was asked behind, as a bot does that is killed right after its acknowledgement."""
    with Database.open(f"sqlite:///{folder / 'zombie.db'}") as database:
        dead = ChatRequestStore(Leases(database, "dead", time=lambda: datetime.now(UTC) - ago))
        for request in asked:
            assert dead.keep.now(request.key, encode_check(request, ["node-1", "node-2"]))


async def test_next_run_begins_it_once_on_a_card(tmp_path: Path) -> None:
    readings = Readings()
    left(tmp_path, ASKED)
    async with workspace() as slack:
        async with serving(slack, tmp_path, readings) as bot:
            await card_saying(slack, "2 nodes: 2 critical")
            await eventually(bot.incidents, {"node-1": "triaged", "node-2": "triaged"})
            found = [await bot.ledger.incident(one.id) for one in await bot.ledger.incidents()]
            assert {one.alert.asked_by for one in found} == {f"slack:{TEAM_ID}/{ALICE.id}"}
        async with serving(slack, tmp_path, readings):
            await card_saying(slack, "2 nodes: 2 critical")
    assert readings.asked == {"node-1": 1, "node-2": 1}


async def test_guest_and_whoever_asked_long_ago_cause_no_login(tmp_path: Path) -> None:
    readings = Readings()
    left(tmp_path, replace(ASKED, person=Person(GUEST.id, TEAM_ID)))
    left(tmp_path, replace(ASKED, key="cmd-3.4"), ago=timedelta(minutes=16))
    async with workspace() as slack, serving(slack, tmp_path, readings) as bot:
        await reply_saying(slack, "NotAllowedToAsk", "gina")
        told = await reply_saying(slack, "Ask again.")
        assert told.text.startswith("You asked for “check node-1 node-2” more than 15m ago")
        assert await bot.incidents() == {}
    assert not readings.asked


async def test_check_is_on_disk_while_it_is_not_begun(tmp_path: Path) -> None:
    async with workspace() as slack, serving(slack, tmp_path, Readings()):
        slack.faults.slow("users.info", timedelta(seconds=1))
        await slack.say("alice", CHANNEL, "/zombie check node-1")
        with Database.open(f"sqlite:///{tmp_path / 'zombie.db'}") as database:

            async def kept(wanted: str) -> list[str]:
                with database.reading() as connection:
                    asked = text("SELECT body FROM wishes WHERE key LIKE 'cmd-%'")
                    return [str(wanted in body) for body in connection.execute(asked).scalars()]

            await eventually(lambda: kept('"nodes":["node-1"]'), ["True"])
            await card_saying(slack, "node-1: CRITICAL")
            await eventually(lambda: kept("node"), ["False"])
