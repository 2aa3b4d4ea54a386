"""Pictures that replace text strips on cards once the chat has them. No card waits for its picture.

A card is made with a strip, whose block id names what it shows. Messages get the picture in the strip's
place as soon as it is uploaded; if the chat rejects a picture, the strip stays. The outbox stores which file belongs to
which name: a restart uploads nothing twice, and goes on with unfinished uploads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from bot.chat.document import CoreLoadStrip
from bot.chat.remembered import BoundedDict
from bot.chat.service import ChatService, Message, Timing, Uploaded
from bot.chat.uploads import ThreadFile, Uploads, logging_outbox_failure
from bot.domain.contracts import Clock, Log
from bot.domain.core_heat import CoreHeat
from bot.domain.errors import LedgerError
from bot.domain.json_form import NotOfForm, read, to_json_types
from bot.domain.post import DuePost, Post
from bot.domain.safe_text import one_line
from bot.ledger import Outbox

PICTURE = "picture-"  # prefix of their block ids, and of their parts' names in the outbox
UNDER = "card"  # the part that a picture belongs to
WORD = "picture"  # begins its events in the log
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
    """A picture that the chat has: its file, what it shows in words, and how often the chat refused to show it."""

    file: str
    alt_text: str
    refused: int = 0


class Pictures(Uploads):
    """Draws pictures, uploads each once, and puts them into messages."""

    def __init__(self, chat: ChatService, outbox: Outbox, timing: Timing, now: Clock, log: Log) -> None:
        super().__init__(chat, outbox, timing, now, log)
        # By card and name; None: the chat rejects it, or does not show it.
        self._known: BoundedDict[tuple[str, str], _Picture | None] = BoundedDict(REMEMBERED)
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._is_loaded = False

    def begin(self, card: str, channel: str, incident: str, node: str, drawn: CoreHeat, redraw: Redraw) -> None:
        """Begin to draw and upload an incident's picture, unless it exists; then `redraw` is called with its card."""
        key = (card, CoreLoadStrip(drawn, incident).name)
        if key not in self.tasks and key not in self._known:  # from here on the sweep leaves it alone
            self.start(key, WORD, self._begin_picture(key, channel, node, drawn, redraw))

    def prepare(self) -> None:
        """Load what draws, in the background: a node is being read, so a picture may be wanted in some seconds."""
        if not self._is_loaded:
            self._is_loaded = True
            self.start(("", "loading"), WORD, asyncio.to_thread(load))

    async def wait_for_uploads(self, card: str) -> None:
        """Wait until a card's pictures are uploaded, for a moment at most."""
        if under_way := [task for (of_card, _), task in self.tasks.items() if of_card == card]:
            await asyncio.wait(under_way, timeout=MOMENT)

    def take_up(self, due: DuePost, redraw: Redraw) -> bool:
        """Go on with a picture from the outbox; False where the post is no picture, or is under way here."""
        if not due.post.part.startswith(PICTURE):
            return False
        key = (due.post.incident, due.post.part.removeprefix(PICTURE))
        if key not in self.tasks:
            self.start(key, WORD, self._resume_picture(key, due, redraw))
        return True

    async def drawn_into(self, card: str, message: Message) -> Message:
        """Return a card's message with the uploaded pictures in place of their strips."""
        found = {name: picture for name in self.chat.strips(message) if (picture := await self._picture((card, name)))}
        return self.chat.illustrated(message, {name: (each.file, each.alt_text) for name, each in found.items()})

    def note_refused_pictures(self, card: str, message: Message, redraw: Redraw) -> None:
        """Note that the chat refused a message's pictures: its strips stay, and the pictures are tried again later."""
        for name in self.chat.strips(message):
            key = (card, name)
            picture = self._known.get(key)
            if picture is not None:
                self._known[key] = None
                if picture.refused < LOOKS and key not in self.tasks:
                    again = replace(picture, refused=picture.refused + 1)
                    self.start(key, WORD, self._offer_again(key, again, redraw))

    # --- on the way

    async def _begin_picture(
        self, key: tuple[str, str], channel: str, node: str, drawn: CoreHeat, redraw: Redraw
    ) -> None:
        if await self._picture(key) is not None:
            return
        content, post_id = {"heat": to_json_types(drawn), "node": node}, ""
        with logging_outbox_failure(self.log, key[0]):  # drawn all the same; only a restart would lose it
            post_id = (await self.outbox.keep(Post(key[0], PICTURE + key[1], channel, content, UNDER))).id
        await self._upload_picture(key, post_id, channel, node, drawn, redraw)

    async def _resume_picture(self, key: tuple[str, str], due: DuePost, redraw: Redraw) -> None:
        content = due.post.content
        try:
            drawn = read(CoreHeat, content.get("heat"))
        except NotOfForm as no:
            await self._give_up(key, due.id, one_line(str(no)))
            return
        if self.now() - due.kept_at > TOO_LATE:
            await self._give_up(key, due.id, "it is too late for it")
            return
        await self._upload_picture(key, due.id, due.post.channel, str(content.get("node", "")), drawn, redraw)

    async def _upload_picture(
        self, key: tuple[str, str], post_id: str, channel: str, node: str, drawn: CoreHeat, redraw: Redraw
    ) -> None:
        async with self.free_on_cancel(post_id), self._turns:
            png = await asyncio.to_thread(png_of, drawn, node)
            outcome = await self.uploaded(WORD, key[1], ThreadFile("cores.png", png, drawn.alt_text))
            if not isinstance(outcome, Uploaded):
                await self._give_up(key, post_id, outcome.error)
                return
            self._known[key] = _Picture(outcome.file, drawn.alt_text)
            # The file's id stands in the field of a message's time stamp.
            with logging_outbox_failure(self.log, key[0]):
                if post_id:
                    await self.outbox.mark_delivered(post_id, channel, outcome.file)
            await redraw(key[0])

    async def _give_up(self, key: tuple[str, str], post_id: str, because: str) -> None:
        self.log("picture_given_up", picture=key[1], because=because)
        self._known[key] = None
        with logging_outbox_failure(self.log, key[0]):
            if post_id:
                await self.outbox.mark_dropped(post_id, because)

    async def _offer_again(self, key: tuple[str, str], picture: _Picture, redraw: Redraw) -> None:
        await asyncio.sleep(self.timing.first_pause * 2 ** (picture.refused + 1))
        self._known[key] = picture
        self.tasks.pop(key, None)  # another refusal starts over
        await redraw(key[0])

    # --- what is known

    async def _picture(self, key: tuple[str, str]) -> _Picture | None:
        """The picture that the chat has; an earlier run may have uploaded it."""
        if key not in self._known:
            if (found := await self._picture_on_record(key)) is None:
                return None  # not remembered: another program may upload it at any moment
            self._known[key] = found
        return self._known[key]

    async def _picture_on_record(self, key: tuple[str, str]) -> _Picture | None:
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
