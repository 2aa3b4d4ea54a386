"""A card stands once in its channel, whatever comes between a wording's being written down and its being sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from bot.chat.post_state import CARD, MessageTarget
from bot.chat.poster import Poster
from bot.chat.service import Delivered, Message, RetryLater, Uploaded
from bot.chat.thread_files import FileRequest, ThreadFile
from bot.domain.errors import LedgerUnavailable
from bot.domain.post import MessageRef, Post, StoredPost
from bot.ledger import Database, Leases, Outbox
from bot.surfaces.slack.calls import Calls
from bot.surfaces.slack.drawing import draw
from tests.slack.replicas import until
from tests.slack.service import QUICK

AT = MessageTarget("C1")


class Channel:
    """Slack, as far as it takes posts and edits."""

    logged = "slack"

    def __init__(self) -> None:
        self.posts: list[str] = []
        self.edits: list[str] = []
        self.threads: list[str] = []
        self.files: list[tuple[str, str]] = []  # with the thread of each
        self.takes_files = asyncio.Event()
        self.takes_files.set()
        self.busy = 0  # it does not take so many of the next files now

    draw = staticmethod(draw)

    async def post(self, channel: str, thread_ts: str, message: Message) -> Delivered:
        self.posts.append(message.text)
        self.threads.append(thread_ts)
        return Delivered(MessageRef(channel, f"1700000000.{len(self.posts):06}"))

    async def edit(self, place: MessageRef, message: Message) -> Delivered:
        self.edits.append(message.text)
        return Delivered(place)

    async def upload(
        self, name: str, content: bytes, alt_text: str, *, channel: str, thread: str
    ) -> Uploaded | RetryLater:
        await self.takes_files.wait()
        self.busy, is_busy = max(0, self.busy - 1), self.busy > 0
        if is_busy:
            return RetryLater("busy")
        self.files.append((name, thread))
        return Uploaded(f"F{len(self.files)}")


class Log:
    """A kind of file."""

    prefix, word = "log-", "log"

    async def make(self, name: str, content: Mapping[str, Any]) -> ThreadFile:
        return ThreadFile(name, b"")

    def instead(self, name: str, because: str) -> str:
        return because


class SlowOutbox:
    """An outbox that answers late: that something is written down is told once it is let go."""

    def __init__(self, outbox: Any) -> None:
        self._outbox = outbox
        self.kept = asyncio.Event()
        self.let_go = asyncio.Event()
        self.let_go.set()
        self.fails = 0  # so many of the next questions
        self.untaken = 0  # and of the next deliveries that are to be noted

    def __getattr__(self, name: str) -> Any:
        return getattr(self._outbox, name)

    async def place(self, incident: str, part: str) -> MessageRef | None:
        self._may_fail()
        found: MessageRef | None = await self._outbox.place(incident, part)
        return found

    def _may_fail(self) -> None:
        self.fails, fails = max(0, self.fails - 1), self.fails > 0
        if fails:
            raise LedgerUnavailable("The database is locked.")

    async def last_id(self, incident: str, part: str) -> str:
        self._may_fail()
        found: str = await self._outbox.last_id(incident, part)
        return found

    async def mark_delivered(self, *what: str) -> None:
        self.untaken, fails = max(0, self.untaken - 1), self.untaken > 0
        if fails:
            raise LedgerUnavailable("The database is locked.")
        await self._outbox.mark_delivered(*what)

    async def keep(self, post: Post) -> StoredPost:
        self._may_fail()
        kept: StoredPost = await self._outbox.keep(post)
        self.kept.set()
        await self.let_go.wait()
        return kept


@asynccontextmanager
async def poster_at(database: Database, *kinds: Log) -> AsyncIterator[tuple[Poster, Channel, SlowOutbox]]:
    channel, outbox = Channel(), SlowOutbox(Outbox(database))
    timing, log = QUICK, lambda *_, **__: None
    poster = Poster(cast(Calls, channel), cast(Any, outbox), timing, lambda: datetime.now(UTC), log, files=kinds)
    yield poster, channel, outbox
    await poster.drain(10.0)


async def test_card_that_is_finished_while_its_next_wording_is_written_down_is_edited(sqlite: Database) -> None:
    async with poster_at(sqlite) as (poster, channel, outbox):
        await poster.enqueue("a", CARD, AT, Message("the verdict"))
        await until(lambda: channel.posts, "the card")
        outbox.kept.clear()
        outbox.let_go.clear()
        proposing = asyncio.create_task(poster.enqueue("a", CARD, AT, Message("the offer")))
        await outbox.kept.wait()
        poster.mark_finished("a")  # by who showed the verdict
        outbox.let_go.set()
        await proposing
        poster.mark_finished("a")
        await until(lambda: channel.edits, "the offer")
        assert (channel.posts, channel.edits) == (["the verdict"], ["the offer"])
        await until(lambda: poster.parts == 0, "its being forgotten")


async def test_card_of_which_nobody_can_say_whether_it_is_posted_is_not_posted_again(sqlite: Database) -> None:
    async with poster_at(sqlite) as (poster, channel, outbox):
        await poster.enqueue("a", CARD, AT, Message("the verdict"))
        await until(lambda: channel.posts, "the card")
        poster.mark_finished("a")
        await until(lambda: poster.parts == 0, "its being forgotten")
        outbox.fails = 2
        assert not await poster.adopt("a", AT)
        with pytest.raises(LedgerUnavailable):
            await poster.enqueue("a", CARD, AT, Message("the offer"))
        await poster.enqueue("a", CARD, AT, Message("the offer"))
        await until(lambda: channel.edits, "the offer")
        assert (channel.posts, channel.edits) == (["the verdict"], ["the offer"])


async def test_new_card_is_posted_though_it_cannot_be_stored(sqlite: Database) -> None:
    async with poster_at(sqlite) as (poster, channel, outbox):
        assert not await poster.adopt("a", AT)
        outbox.fails = 1
        await poster.enqueue("a", CARD, AT, Message("the verdict"))
        await until(lambda: channel.posts, "the card")


async def test_card_that_is_held_is_edited_though_somebody_else_is_done_with_it(sqlite: Database) -> None:
    async with poster_at(sqlite) as (poster, channel, _):
        poster.hold("a")
        await poster.enqueue("a", CARD, AT, Message("begun"))
        await until(lambda: channel.posts, "the card")
        poster.mark_finished("a")  # by who withdrew the offer of before
        poster.show("a", AT, lambda: Message("3 of 40 answers"))
        await until(lambda: channel.edits, "the progress")
        assert channel.posts == ["begun"]
        poster.mark_finished("a")
        assert poster.parts == 1
        poster.let_go("a")
        await until(lambda: poster.parts == 0, "its being forgotten")


async def test_reply_to_a_card_that_is_forgotten_stands_in_its_thread(sqlite: Database) -> None:
    async with poster_at(sqlite) as (poster, channel, _):
        await poster.enqueue("a", CARD, AT, Message("the verdict"))
        await until(lambda: channel.posts, "the card")
        poster.mark_finished("a")
        await until(lambda: poster.parts == 0, "its being forgotten")
        await poster.enqueue("a", "evidence", AT, Message("the evidence"), under=CARD)
        await until(lambda: len(channel.posts) == 2, "the reply")
        assert channel.threads == ["", "1700000000.000001"]
        await until(lambda: poster.parts == 0, "its being forgotten again")


async def test_reply_that_is_worded_anew_is_edited_also_once_it_is_forgotten_and_by_another_run(
    sqlite: Database,
) -> None:
    async with poster_at(sqlite) as (poster, channel, _):
        await poster.enqueue("a", CARD, AT, Message("the verdict"))
        await poster.enqueue("a", "evidence", AT, Message("the evidence"), under=CARD)
        await until(lambda: len(channel.posts) == 2, "the reply")
        poster.mark_finished("a")
        await until(lambda: poster.parts == 0, "its being forgotten")
        await poster.enqueue("a", "evidence", AT, Message("and why"), under=CARD)
        await until(lambda: channel.edits, "the edit")
        assert (len(channel.posts), channel.edits) == (2, ["and why"])
    async with poster_at(sqlite) as (poster, channel, _):
        await poster.enqueue("a", "evidence", AT, Message("said again"), under=CARD)
        await until(lambda: channel.edits, "the edit")
        assert (channel.posts, channel.edits) == ([], ["said again"])


async def test_card_whose_delivery_cannot_be_noted_at_once_stands_once_and_is_edited(sqlite: Database) -> None:
    async with poster_at(sqlite) as (poster, channel, outbox):
        outbox.untaken = 3
        await poster.enqueue("a", CARD, AT, Message("the offer"))
        poster.mark_finished("a")
        await until(lambda: channel.posts, "the card")
        await until(lambda: outbox.untaken < 3, "its note to fail")
        poster.show("a", AT, lambda: Message("being checked"))
        await until(lambda: channel.edits, "what is newer, though the first is not noted")
        poster.mark_finished("a")
        await until(lambda: poster.parts == 0, "its being noted and forgotten")
        assert (await outbox.place("a", CARD), await outbox.waiting()) == (MessageRef("C1", "1700000000.000001"), 0)
        assert (channel.posts, channel.edits, outbox.untaken) == (["the offer"], ["being checked"], 0)


async def test_file_is_sent_once_however_often_it_is_asked_for_and_though_its_delivery_cannot_be_noted_at_once(
    sqlite: Database,
) -> None:
    async with poster_at(sqlite, Log()) as (poster, channel, outbox):
        asked = FileRequest("log-", "x")
        await poster.enqueue("a", CARD, AT, Message("the verdict"))
        await until(lambda: channel.posts and not outbox.waiting.now(), "the card")
        outbox.untaken = 3
        assert await asyncio.gather(*(poster.attach("a", AT, asked) for _ in range(2))) == [True, True]
        await until(lambda: not outbox.untaken and not outbox.waiting.now(), "its being noted")
        assert not await poster.attach("a", AT, asked), "it is there"
        assert await poster.sweep() == 0
        poster.mark_finished("a")
        assert poster.parts == 0
    assert channel.files == [("x", "1700000000.000001")]


@pytest.mark.parametrize("kinds", [[Log()], []], ids=["sent", "dropped without the extra that makes it"])
async def test_file_on_its_way_when_the_bot_ends_is_the_next_runs_which_need_not_wait_for_it(
    sqlite: Database, kinds: list[Log]
) -> None:
    async with poster_at(sqlite, Log()) as (poster, channel, _):
        channel.takes_files.clear()
        await poster.enqueue("a", CARD, AT, Message("the verdict"))
        await poster.attach("a", AT, FileRequest("log-", "x"))
        await until(lambda: channel.posts, "the card")
        assert await poster.sweep() == 0, "it is on its way, and the outbox hands it to nobody for a while"
    async with poster_at(sqlite, *kinds) as (poster, channel, outbox):
        assert await poster.sweep() == 1
        await until(lambda: not outbox.waiting.now(), "its end")
        assert (len(channel.files), channel.posts) == (len(kinds), []), "nothing is posted in its place"


async def test_file_that_is_not_taken_in_a_few_tries_leaves_a_sentence_and_has_as_many_when_it_is_asked_for_again(
    sqlite: Database,
) -> None:
    async with poster_at(sqlite, Log()) as (poster, channel, _):
        channel.busy = 3 + 2
        await poster.enqueue("a", CARD, AT, Message("the verdict"))
        assert await poster.attach("a", AT, FileRequest("log-", "x"))
        await until(lambda: channel.posts[1:], "the sentence")
        assert (channel.posts[1:], channel.files) == (["The chat rejected the file (busy)."], [])
        assert await poster.attach("a", AT, FileRequest("log-", "x"))
        await until(lambda: channel.files, "the file")
        assert not channel.busy


async def test_file_of_a_card_that_another_program_posts_waits_for_it(sqlite: Database) -> None:
    async with poster_at(sqlite, Log()) as (poster, channel, outbox):
        await poster.attach("a", AT, FileRequest("log-", "x"))
        assert await poster.sweep() == 0
        await outbox.mark_delivered((await outbox.keep(Post("a", CARD, "C1"))).id, "C1", "17.1")
        assert await poster.sweep() == 1
        await until(lambda: channel.files and not poster.parts, "the file, and its being forgotten")
    assert channel.files == [("x", "17.1")]


class BusyChannel(Channel):
    """Slack on a bad day: a post is taken once it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = 0
        self.let_go = asyncio.Event()

    async def post(self, channel: str, thread_ts: str, message: Message) -> Delivered:
        self.begun += 1
        await self.let_go.wait()
        return await super().post(channel, thread_ts, message)


async def test_what_a_program_is_sending_is_left_to_it_by_all_others(sqlite: Database) -> None:
    channel = BusyChannel()

    def program(name: str) -> Poster:
        outbox: Any = Outbox(sqlite, leases=Leases(sqlite, name))
        return Poster(cast(Calls, channel), outbox, QUICK, lambda: datetime.now(UTC), lambda *_, **__: None)

    ours, theirs = program("a"), program("b")
    for name in ("sweep0123", "storm0123"):  # cards of no incident, which no engine sees to
        await ours.enqueue(name, CARD, AT, Message(name))
    await until(lambda: channel.begun == 2, "both to be on their way")
    assert await theirs.sweep() == 0
    channel.let_go.set()
    await until(lambda: len(channel.posts) == 2, "both cards")
    await ours.drain(10.0)
    assert await theirs.sweep() == 0
    await theirs.drain(10.0)
    assert sorted(channel.posts) == ["storm0123", "sweep0123"], "each once"


class DownOnce(Channel):
    """Slack, which answers the first edit late, and with a failure."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = asyncio.Event()
        self.begun = 0

    async def edit(self, place: MessageRef, message: Message) -> Any:
        self.begun += 1
        if self.begun == 1:
            await self.let_go.wait()
            return RetryLater("no answer in time")
        return await super().edit(place, message)


@pytest.mark.slow
@pytest.mark.parametrize(("is_progress", "is_cut_off"), [(False, False), (True, False), (False, True)])
async def test_card_never_stays_at_what_another_program_replaced_while_this_one_paused(
    sqlite: Database, is_progress: bool, is_cut_off: bool
) -> None:
    channel, paused = DownOnce(), asyncio.Event()
    ours: Any = SlowOutbox(Outbox(sqlite))
    theirs: Any = Outbox(sqlite)
    timing, now = replace(QUICK, first_pause=1.0, longest_pause=1.0), lambda: datetime.now(UTC)
    slow = Poster(cast(Calls, channel), ours, timing, now, lambda event, **_: paused.set())
    fast = Poster(cast(Calls, channel), theirs, timing, now, lambda *_, **__: None)
    await slow.enqueue("a", CARD, AT, Message("the offer"))
    await until(lambda: channel.posts and not Outbox(sqlite).waiting.now(), "the card")
    if is_progress:
        slow.show("a", AT, lambda: Message("a step runs"))
        await until(lambda: channel.begun, "the first edit")  # it fails once the end stands
    else:
        await slow.enqueue("a", CARD, AT, Message("the question"))
        channel.let_go.set()
        await paused.wait()
    await fast.enqueue("a", CARD, AT, Message("the end"))
    await until(lambda: channel.edits and not Outbox(sqlite).waiting.now(), "the end")
    channel.let_go.set()
    await paused.wait()
    ours.fails = 1 if is_cut_off else 0
    slow.mark_finished("a")
    await until(lambda: slow.parts == 0, "its being done")
    assert channel.edits == ["the end", *(["the question"] if is_cut_off else [])]
    assert await fast.sweep() == int(is_cut_off), "what went over it unasked does not stay"
    await fast.drain(10.0)
    assert (channel.edits[-1], len(channel.posts), Outbox(sqlite).waiting.now()) == ("the end", 1, 0)


async def test_wording_that_another_program_has_replaced_meanwhile_is_not_sent_again(sqlite: Database) -> None:
    channel = DownOnce()
    outbox: Any = Outbox(sqlite)
    ours, theirs = (
        Poster(cast(Calls, channel), outbox, QUICK, lambda: datetime.now(UTC), lambda *_, **__: None) for _ in range(2)
    )
    await ours.enqueue("a", CARD, AT, Message("the offer"))
    await until(lambda: channel.posts, "the card")
    await ours.enqueue("a", CARD, AT, Message("the question"))
    await until(lambda: channel.begun, "its edit to be on its way")
    await theirs.enqueue("a", CARD, AT, Message("the end"))
    await until(lambda: channel.edits, "the end")
    channel.let_go.set()
    await ours.drain(10.0)
    await theirs.drain(10.0)
    assert channel.edits == ["the end"], "the card does not go back"
    assert Outbox(sqlite).waiting.now() == 0
