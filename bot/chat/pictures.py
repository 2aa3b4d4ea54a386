"""Pictures that replace text strips on cards once the chat has them. No card waits for its picture.

A card is made with a strip, whose block id names what it shows. Messages get the picture in the strip's
place as soon as it is uploaded; if the chat rejects a picture, the strip stays. The outbox stores which file belongs to
which name: a restart uploads nothing twice, and goes on with unfinished uploads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from bot.chat.document import Strip
from bot.chat.remembered import Remembered
from bot.chat.service import ChatService, Message, RetryLater, Timing, Uploaded
from bot.domain.contracts import Clock, Log, Outbox
from bot.domain.core_heat import CoreHeat
from bot.domain.errors import LedgerError
from bot.domain.json_form import NotOfForm, plain, read
from bot.domain.post import DuePost, Post
from bot.domain.safe_text import one_line

PICTURE = "picture-"  # prefix of their block ids, and of their parts' names in the outbox
UNDER = "card"  # the part that a picture belongs to
TRIES = 3
AT_ONCE = 2  # in a storm nothing else may wait for pictures
# Slack refuses a file that it is still processing (slackapi/python-slack-sdk issue 1521): try so many times more,
# after 1, 2, 4 and 8 seconds.
LOOKS = 4
REMEMBERED = 2000
TOO_LATE = timedelta(hours=1)  # nobody looks at that card by then
MOMENT = 0.5  # seconds that other work of a card leaves the processor to its pictures

Redraw = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Picture:
    """A picture that Slack has: its file, what it shows in words, and how often Slack refused to show it."""

    file: str
    alt_text: str
    refused: int = 0


@dataclass(frozen=True, slots=True)
class _Owed:
    """A picture on its way; `post_id` names it in the outbox, empty where it could not be stored."""

    post_id: str
    channel: str
    node: str
    drawn: CoreHeat


@dataclass(slots=True, eq=False)
class Pictures:
    """Draws pictures, uploads each once, and puts them into messages."""

    chat: ChatService
    outbox: Outbox
    timing: Timing
    now: Clock
    log: Log
    # By card and name; None: Slack rejects it, or does not show it.
    _known: Remembered[tuple[str, str], _Picture | None] = field(default_factory=lambda: Remembered(REMEMBERED))
    _tasks: dict[tuple[str, str], asyncio.Task[None]] = field(default_factory=dict)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _is_loaded: bool = False

    def begin(self, card: str, channel: str, incident: str, node: str, drawn: CoreHeat, redraw: Redraw) -> None:
        """Begin to draw and upload an incident's picture, unless it exists; then `redraw` is called with its card."""
        key = (card, Strip(drawn, incident).name)
        if key not in self._tasks and key not in self._known:  # from here on the sweep leaves it alone
            self._start(key, self._begun(key, _Owed("", channel, node, drawn), redraw))

    def prepare(self) -> None:
        """Load what draws, in the background: a node is being read, so a picture may be wanted in some seconds."""
        if not self._is_loaded:
            self._is_loaded = True
            self._start(("", "loading"), asyncio.to_thread(load))

    async def settled(self, card: str) -> None:
        """Wait until a card's pictures are uploaded, for a moment at most."""
        if under_way := [task for (of_card, _), task in self._tasks.items() if of_card == card]:
            await asyncio.wait(under_way, timeout=MOMENT)

    def take_up(self, due: DuePost, redraw: Redraw) -> bool:
        """Go on with a picture from the outbox; False where the post is no picture, or is under way here."""
        if not due.post.part.startswith(PICTURE):
            return False
        key = (due.post.incident, due.post.part.removeprefix(PICTURE))
        if key not in self._tasks:
            self._start(key, self._resumed(key, due, redraw))
        return True

    async def drawn_into(self, card: str, message: Message) -> Message:
        """Return a card's message with the uploaded pictures in place of their strips."""
        found = {name: picture for name in self.chat.strips(message) if (picture := await self._picture((card, name)))}
        return self.chat.illustrated(message, {name: (each.file, each.alt_text) for name, each in found.items()})

    def refused(self, card: str, message: Message, redraw: Redraw) -> None:
        """Note that Slack refused a message's pictures: its strips stay, and the pictures are tried again later."""
        for name in self.chat.strips(message):
            key = (card, name)
            picture = self._known.get(key)
            if picture is not None:
                self._known[key] = None
                if picture.refused < LOOKS and key not in self._tasks:
                    again = replace(picture, refused=picture.refused + 1)
                    self._start(key, self._offer_again(key, again, redraw))

    async def drain(self) -> None:
        """Leave unfinished pictures to the next run."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- on the way

    def _start(self, key: tuple[str, str], work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=f"picture {key[1]}")
        self._tasks[key] = task
        task.add_done_callback(lambda done: self._ended(key, done))

    def _ended(self, key: tuple[str, str], task: asyncio.Task[None]) -> None:
        if self._tasks.get(key) is task:
            del self._tasks[key]
        if not task.cancelled() and (error := task.exception()) is not None:
            self.log("picture_failed", picture=key[1], error=one_line(repr(error), 500))

    async def _begun(self, key: tuple[str, str], owed: _Owed, redraw: Redraw) -> None:
        if await self._picture(key) is not None:
            return
        content = {"heat": plain(owed.drawn), "node": owed.node}
        try:
            post_id = (await self.outbox.keep(Post(key[0], PICTURE + key[1], owed.channel, content, UNDER))).id
        except LedgerError as error:  # drawn all the same; only a restart would lose it
            self.log("outbox_unavailable", card=key[0], error=one_line(str(error)))
            post_id = ""
        await self._bring(key, replace(owed, post_id=post_id), redraw)

    async def _resumed(self, key: tuple[str, str], due: DuePost, redraw: Redraw) -> None:
        content = due.post.content
        try:
            drawn = read(CoreHeat, content.get("heat"))
        except NotOfForm as no:
            await self._given_up(key, due.id, one_line(str(no)))
            return
        if self.now() - due.kept_at > TOO_LATE:
            await self._given_up(key, due.id, "it is too late for it")
            return
        owed = _Owed(due.id, due.post.channel, str(content.get("node", "")), drawn)
        await self._bring(key, owed, redraw)

    async def _bring(self, key: tuple[str, str], owed: _Owed, redraw: Redraw) -> None:
        try:
            async with self._turns:
                await self._brought(key, owed, redraw)
        except asyncio.CancelledError:  # the bot ends: the next run need not wait until nobody can be at it any more
            if owed.post_id:
                with suppress(LedgerError):
                    await self.outbox.failed(owed.post_id, self.now(), "the bot ended")
            raise

    async def _brought(self, key: tuple[str, str], owed: _Owed, redraw: Redraw) -> None:
        png = await asyncio.to_thread(png_of, owed.drawn, owed.node)
        shows = owed.drawn.alt_text
        error = ""
        for attempt in range(TRIES):
            outcome = await self.chat.upload("cores.png", png, shows)
            if isinstance(outcome, Uploaded):
                self._known[key] = _Picture(outcome.file, shows)
                await self._on_record(owed, outcome.file)
                await redraw(key[0])
                return
            error = outcome.error
            if not isinstance(outcome, RetryLater):
                break
            pause = max(outcome.seconds, self.timing.first_pause * 4**attempt)
            self.log("picture_delayed", picture=key[1], error=error, again_in_seconds=pause)
            await asyncio.sleep(pause)
        await self._given_up(key, owed.post_id, error)

    async def _offer_again(self, key: tuple[str, str], picture: _Picture, redraw: Redraw) -> None:
        await asyncio.sleep(self.timing.first_pause * 2 ** (picture.refused + 1))
        self._known[key] = picture
        self._tasks.pop(key, None)  # another refusal starts over
        await redraw(key[0])

    async def _on_record(self, owed: _Owed, file: str) -> None:
        """Store the file id in the field of a message's time stamp."""
        if owed.post_id:
            try:
                await self.outbox.taken(owed.post_id, owed.channel, file)
            except LedgerError as error:
                self.log("outbox_unavailable", post=owed.post_id, error=one_line(str(error)))

    async def _given_up(self, key: tuple[str, str], post_id: str, because: str) -> None:
        self.log("picture_given_up", picture=key[1], because=because)
        self._known[key] = None
        if post_id:
            try:
                await self.outbox.dropped(post_id, because)
            except LedgerError as error:
                self.log("outbox_unavailable", post=post_id, error=one_line(str(error)))

    # --- what is known

    async def _picture(self, key: tuple[str, str]) -> _Picture | None:
        """The picture that Slack has; an earlier run may have uploaded it."""
        if key not in self._known:
            if (found := await self._kept(key)) is None:
                return None  # not remembered: another program may upload it at any moment
            self._known[key] = found
        return self._known[key]

    async def _kept(self, key: tuple[str, str]) -> _Picture | None:
        card, part = key[0], PICTURE + key[1]
        try:
            posts = await self.outbox.card(card, part)
            drawn = read(CoreHeat, posts.standing.get("heat")) if posts.standing is not None else None
        except (LedgerError, NotOfForm):
            return None
        place = posts.places.get(part)
        return _Picture(place.ts, drawn.alt_text) if place is not None and drawn is not None else None


def png_of(heat: CoreHeat, node: str) -> bytes:
    """Draw it. The first call loads Pillow."""
    from bot.view.core_picture import core_picture

    return core_picture(heat, node)


def load() -> None:
    """Load Pillow and its letters, so that the first picture is drawn as quickly as any other."""
    png_of(CoreHeat("", 0, (0,), (1.0,), ((0,),)), "")
