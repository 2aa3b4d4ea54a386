"""What a capture that was begun in a terminal caught: told once under the incident's card, with its pictures."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.app.json_log import JsonLog
from bot.chat.post_state import MessageTarget
from bot.demo.slack.message import Message
from bot.domain.chat_request import ChatRequest
from bot.domain.node import Node
from bot.extras.captures.capture_fold import RollingCapture, RollingState
from bot.extras.captures.capture_watch import CaptureLookResult, RollingWatch
from bot.extras.captures.chat_card import card_name
from bot.extras.captures.chat_cards import CaptureCards, CaptureClaims
from bot.extras.captures.events import CaptureEnded, SymptomCaught
from bot.extras.captures.recorder_commands import RollingRequest
from bot.extras.profiles.sketches import Sketches
from bot.ledger import CaseStore, Database, Leases, Outbox
from tests.slack.acting_team import ONCALL, ActingTeam, acting_team
from tests.slack.workspace import SlackWorkspace, workspace
from tests.unit.extras.profiles.test_sketch import DRAWN

ID = "c4pture0001"
SAID = "reset at 12:03:07.412 UTC; in the 6.6 s before it core 39 ran <!channel> (2114) in walk for 97 % of samples"


class Parts:
    """Makes what tells it, anew as each start of the program does, of what the team's database is reached by."""

    def __call__(self, team: ActingTeam, _: object, database: Database) -> None:
        self.team, self.database = team, database

    def made(self, control: Any = None) -> tuple[CaptureCards, Sketches]:
        cases: Any = CaseStore(self.database)
        outbox: Any = Outbox(self.database)
        team: Any = self.team
        log = JsonLog(team.log).log
        sketches = Sketches(cases, lambda: datetime.now(UTC), "zombie", log)
        leases: Any = Leases(self.database, "runner-1")
        stores = SimpleNamespace(
            ledger=team.ledger, outbox=outbox, leases=leases, chat_requests=team.chat_requests, case_store=cases
        )
        posting = SimpleNamespace(poster=team.poster, work=team, connection=SimpleNamespace(address=lambda _: ""))
        bot: Any = SimpleNamespace(stores=stores, posting=posting, log=log)
        return CaptureCards(bot, RollingWatch(control, sketches), CaptureClaims(team.chat_requests)), sketches


def caught(at: datetime, sketch: str = "", mono: float = 4400.25) -> RollingCapture:
    """A capture of node-1 that somebody began in a terminal, and what it caught."""
    event = SymptomCaught(ID, "nic-reset", at, mono, SAID, sketch=sketch)
    by = "terminal:ann"
    return RollingCapture(ID, "node-1", RollingRequest(1), by, at, state=RollingState.RUNNING, caught=(event,))


def told(slack: SlackWorkspace, card: Message) -> list[Message]:
    return [said for said in slack.thread(card) if said.text.startswith("reset at ")]


async def test_it_is_told_once_under_the_card_of_its_incident_with_both_pictures(tmp_path: Path) -> None:
    parts = Parts()
    async with workspace() as slack, acting_team(slack, tmp_path, reports=True, fleet=parts) as team:
        card = await team.proposed("node-1")
        beside, sketches = parts.made()
        at = (await team.ledger.incidents(node="node-1"))[0].opened_at - timedelta(minutes=2)
        rolling = caught(at, await sketches.keep(ID, DRAWN))
        await beside.news(CaptureLookResult(rolling))
        for _ in range(2):  # the next look brings the same, be it told by then or not
            await beside.news(CaptureLookResult(rolling))
            await team.idle()
        again, _ = parts.made()
        await again.news(CaptureLookResult(rolling))
        await team.idle()
        (said,) = await slack.until(lambda: told(slack, card), what="what was caught, in the thread")
        assert "<!channel>" not in said.text, "no mention comes of it"
        assert "core 39 ran" in said.text

        def files() -> set[str] | None:
            found = {file.name for message in slack.thread(card) for file in message.files}
            return found if len(found) == 2 else None

        assert await slack.until(files, what="both pictures") == {"flame-core-39.png", "seconds-core-39.png"}
        assert len(told(slack, card)) == 1


async def test_one_that_ended_elsewhere_is_shown_as_it_is_on_record_with_the_cost_that_was_seen(tmp_path: Path) -> None:
    parts = Parts()
    async with workspace() as slack, acting_team(slack, tmp_path, fleet=parts) as team:
        cards, _ = parts.made()
        rolling = caught(team.world.clock())
        await cards.news(CaptureLookResult(replace(rolling, caught=()), 1.0, 100.0, waits=("the log",)))
        ended = CaptureEnded(ID, "terminal:ann stopped it")
        over = replace(rolling, state=RollingState.ENDED, ended=ended)
        assert await cards.look(over) == CaptureLookResult(over, 1.0, 100.0)


async def test_what_belongs_to_no_incident_waits_for_one_and_what_has_a_card_is_told_there(tmp_path: Path) -> None:
    parts = Parts()
    async with workspace() as slack, acting_team(slack, tmp_path, fleet=parts) as team:
        beside, _ = parts.made()
        early = caught(team.world.clock())
        await beside.news(CaptureLookResult(early))
        await team.idle()
        card = await team.proposed("node-1")
        await beside.news(
            CaptureLookResult(replace(early, caught=(*early.caught, *caught(team.world.clock(), mono=9.0).caught)))
        )
        await team.idle()
        await slack.until(lambda: len(told(slack, card)) == 2, what="both, under the card that came after the first")

        await team.chat_requests.keep(card_name(ID), "{}")
        asked_in_slack, _ = parts.made()
        await asked_in_slack.news(CaptureLookResult(caught(team.world.clock(), mono=99.0)))
        await team.idle()
        assert len(told(slack, card)) == 2


async def test_hold_that_goes_on_is_told_when_it_has_doubled_and_at_its_end(tmp_path: Path) -> None:
    parts = Parts()
    async with workspace() as slack, acting_team(slack, tmp_path, fleet=parts) as team:
        card = await team.proposed("node-1")
        cards, _ = parts.made()
        (reset,) = (rolling := caught(team.world.clock(), mono=100.0)).caught
        for ends in (220, *range(340, 3700, 120), 3705):
            held = replace(reset, sentence=f"reset at {ends}", core=7, ends_mono=ends, unfinished=ends != 3705)
            await cards.news(CaptureLookResult(replace(rolling, caught=(held,))))
            await team.idle()
        held = replace(reset, sentence="reset at 700", core=8, ends_mono=700, unfinished=True)
        over = replace(rolling, state=RollingState.ENDED, ended=CaptureEnded(ID, "the node rebooted"))
        for ends, of in ((220, rolling), (700, rolling), (700, over)):  # its end is the capture's
            held = replace(held, sentence=f"reset at {ends}", ends_mono=ends)
            await cards.news(CaptureLookResult(replace(of, caught=(held,))))
            await team.idle()
        await slack.until(lambda: told(slack, card)[6:], what="both ends")
        *first, seventh = [each.text.removeprefix("reset at ") for each in told(slack, card)]
        goes_on = [f"{ends}, and it may go on." for ends in (220, 820, 1540, 2980, 220)]
        assert first == [*goes_on[:4], "3705.", goes_on[4]], "12 min, 24 min, 48 min, and its end"
        assert seventh == "700."


async def test_bug_while_a_node_is_looked_at_is_said_on_the_card(tmp_path: Path) -> None:
    async def fails(*_: Any, **__: Any) -> RollingCapture:
        raise KeyError("a bug")

    async def nothing() -> dict[str, RollingCapture]:
        return {}

    parts = Parts()
    async with workspace() as slack, acting_team(slack, tmp_path, fleet=parts) as team:
        cards, _ = parts.made(SimpleNamespace(ask=fails, all=nothing))
        await cards.begin(Node("node-1", ""), RollingRequest(1), MessageTarget(ONCALL), "cmd-1", "terminal:ann")
        await team.card("node-1 is not recorded: The bot failed at it, and its log says how.")


@pytest.mark.parametrize("is_on_record", [True, False])
async def test_card_of_one_that_was_over_before_the_bot_came_back_says_what_is_on_record(
    tmp_path: Path, is_on_record: bool
) -> None:
    parts = Parts()
    async with workspace() as slack, acting_team(slack, tmp_path, fleet=parts) as team:
        ended = CaptureEnded(ID, "terminal:bob stopped it")
        over = replace(caught(team.world.clock()), state=RollingState.ENDED, ended=ended)

        async def on_record() -> dict[str, RollingCapture]:
            return {ID: over} if is_on_record else {}

        again, _ = parts.made(SimpleNamespace(all=on_record))
        body = json.dumps({"channel": ONCALL, "node": "node-1"})
        assert again.takes(ChatRequest(card_name(ID), body, team.world.clock()))
        card = await team.card("has ended on node-1" if is_on_record else "The bot was restarted before it began")
        await team.idle()
        assert await slack.until(lambda: len(told(slack, card)) == is_on_record, what="what it caught, in the thread")
