"""A profile asked for in Slack always gets an answer: also where the bot is killed while it samples."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bot.chat.background import Background
from bot.chat.clicks import Click
from bot.chat.people import Person
from bot.chat.post_state import MessageTarget
from bot.chat.poster import Poster
from bot.chat.service import Delivered, Message
from bot.domain.chat_request import ChatRequest
from bot.domain.errors import UsageError
from bot.domain.events import ProfileTaken
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.post import MessageRef
from bot.domain.transitions import State
from bot.extras.profiles.chat import ProfileChat
from bot.extras.profiles.perf_command import CaptureRequest
from bot.extras.profiles.runner import ProfileAnswer, ProfileRunner
from bot.ledger import Database, Leases, Outbox
from bot.ledger.chat_requests import ChatRequestStore
from bot.surfaces.slack.calls import Calls
from tests.record.incidents import WAYS, entries
from tests.slack.replicas import until
from tests.slack.service import QUICK
from tests.unit.surfaces.test_slack_poster import Channel

NODE, AT = Node("node-1", "10.0.0.1"), MessageTarget("C1", "1700000000.000001")
WITHOUT_END = 3600.0


class Wall(Channel):
    """Slack, with the last message as it stands there."""

    def __init__(self) -> None:
        super().__init__()
        self.last = Message("")

    async def post(self, channel: str, thread_ts: str, message: Message) -> Delivered:
        self.last = message
        return await super().post(channel, thread_ts, message)

    async def edit(self, place: MessageRef, message: Message) -> Delivered:
        self.last = message
        return await super().edit(place, message)


class Desk:
    """A desk whose profiles say what a test wants, fail, or take an hour."""

    def __init__(self, says: ProfileAnswer | Exception | None = None) -> None:
        self.says = says
        self.begun = 0

    async def profile(self, *_: object) -> ProfileAnswer:
        self.begun += 1
        if isinstance(self.says, Exception):
            raise self.says
        if self.says is None:
            await asyncio.sleep(WITHOUT_END)
        return cast(ProfileAnswer, self.says)


@dataclass
class Program:
    """What one start of the program has."""

    profiles: ProfileChat
    desk: Desk
    leases: Leases
    chat_requests: Any
    poster: Poster
    background: Background

    async def asked(self, key: str = "click-1") -> None:
        await self.profiles.show(NODE, CaptureRequest(), AT, key, "slack:T1/U1")

    async def ends(self) -> None:
        await self.background.drain(10.0)
        await self.poster.drain(10.0)


class Bench:
    """A database and a channel that outlive every program."""

    def __init__(self, database: Database) -> None:
        self.database, self.channel = database, Wall()

    def program(self, name: str, says: ProfileAnswer | Exception | None = None, **of_context: Any) -> Program:
        def log(event: str, **_: object) -> None:
            return

        desk, leases, background = Desk(says), Leases(self.database, name), Background(log)
        outbox: Any = Outbox(self.database, leases=leases)
        chat_requests: Any = ChatRequestStore(leases)
        poster = Poster(cast(Calls, self.channel), outbox, QUICK, lambda: datetime.now(UTC), log)
        nothing: Any = None
        context: Any = SimpleNamespace(chat_requests=chat_requests, log=log, **of_context)
        profiles = ProfileChat(context, nothing, cast(ProfileRunner, desk), poster, background)
        return Program(profiles, desk, leases, chat_requests, poster, background)


@pytest.fixture
def bench(sqlite: Database) -> Bench:
    return Bench(sqlite)


async def test_profile_that_a_kill_broke_off_is_answered_by_the_next_run(bench: Bench) -> None:
    killed = bench.program("a")
    asking = asyncio.create_task(killed.asked())
    await until(lambda: bench.channel.posts, "its first words")
    assert "every core is sampled" in bench.channel.posts[0]
    beside = bench.program("b")
    assert await beside.chat_requests.take_over_unowned() == (), "its program is alive"
    await beside.asked()
    assert beside.desk.begun == 0, "another delivery of the click"
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    killed.leases.leave.now()

    (kept,) = await beside.chat_requests.take_over_unowned()
    assert beside.profiles.takes(kept)
    await until(lambda: bench.channel.edits, "the answer")
    assert bench.channel.edits == ["The bot was restarted while node-1 was profiled. Ask again."]
    await beside.ends()
    assert (len(bench.channel.posts), bench.channel.threads) == (1, [AT.thread_ts])
    assert await bench.program("c").chat_requests.take_over_unowned() == ()


async def test_profile_that_fails_for_any_reason_is_answered_and_done(bench: Bench) -> None:
    program = bench.program("a", UsageError("The key file is gone", "Put it back."))
    await program.asked()
    await program.ends()
    said = [*bench.channel.posts, *bench.channel.edits]
    assert said[-1] == "node-1 was not profiled: The key file is gone. Put it back."
    program.leases.leave.now()
    assert await bench.program("b").chat_requests.take_over_unowned() == ()


async def test_answer_says_what_it_means_and_what_follows_before_its_table(bench: Bench) -> None:
    rows = (("69.0%", "mem_cgroup_nr_lru_pages", "<!here> (2114), core 52"), ("1.0%", "[agent]", "agent (7), core 3"))
    headline, meant, follows = "Core 52 ran kubelet.", "That walks every memory cgroup.", "It changes the verdict."
    taken = ProfileTaken(headline, "cycles at 49 Hz for 10 s.")
    program = bench.program("a", ProfileAnswer(headline, meant, rows, ("cycles at 49 Hz",), taken, follows=follows))
    await program.asked()
    await program.ends()
    said = bench.channel.last
    assert [block["type"] for block in said.blocks] == ["header", "section", "section", "section", "table", "context"]
    assert [block["text"]["text"] for block in said.blocks[1:4]] == [headline, meant, follows]
    cells = [[cell["text"] for cell in row] for row in said.blocks[4]["rows"]]
    assert cells == [["Of all", "Function", "Where"], *map(list, rows)]
    assert {cell["type"] for row in said.blocks[4]["rows"] for cell in row} == {"raw_text"}, "no mention comes of it"
    assert said.text == "Profile of node-1: Core 52 ran kubelet."


def test_other_wishes_are_left_to_others(bench: Bench) -> None:
    profiles = bench.program("a").profiles
    for key in ("profile", "capture-0123456789ab", "V0123:profile", f"profile{'g' * 20}"):
        assert not profiles.takes(ChatRequest(key, "{}", datetime.now(UTC)))


class Cards:
    """The cards of a chat; what they said, in order."""

    def __init__(self) -> None:
        self.said: list[str] = []

    @asynccontextmanager
    async def working(self, incident: Incident, words: str) -> AsyncIterator[None]:
        self.said.append(words)
        yield
        self.said.append("done")

    async def show_again(self, incident: Incident) -> None:
        self.said.append(f"again {incident.id}")


async def test_button_says_on_the_card_what_it_does_until_the_answer_is_there(bench: Bench) -> None:
    incident, cards = fold(entries(WAYS[State.TRIAGED])), Cards()

    async def found(*_: object) -> Incident:
        return incident

    async def admitted(_: object) -> None:
        assert not cards.said, "who may not ask changes nothing"

    asker = SimpleNamespace(admit=admitted, count=lambda _: None)
    nodes = SimpleNamespace(nodes=SimpleNamespace(find=lambda _: NODE))
    context: Any = {"incident_of_click": found, "find": found, "askers": asker, "responder": nodes, "surface": cards}
    program = bench.program("a", UsageError("no perf"), **context)
    await program.profiles.ask(Click("k1", Person("U1", "T1"), "profile", incident.id, "", "", "C1", "1.0"))
    assert cards.said == ["Profiling every core for 10 s…", "done"]
    await program.ends()
    assert "was not profiled" in bench.channel.edits[-1]

    program = bench.program("b", **context)
    kept = SimpleNamespace(key="profile" + "0" * 20, body=json.dumps({"channel": "C1", "thread_ts": "", "node": "n"}))
    assert program.profiles.takes(cast(ChatRequest, kept)), "one of an older version names no incident"
    kept = SimpleNamespace(key=kept.key, body=json.dumps(json.loads(kept.body) | {"incident": incident.id}))
    assert program.profiles.takes(cast(ChatRequest, kept))
    await until(lambda: cards.said[-1:] == [f"again {incident.id}"], "the card without it")
    await program.ends()
