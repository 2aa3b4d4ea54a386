"""Pictures that replace text strips on cards once the chat has them. No card waits for its picture.

A card is made with a strip, whose block id names what it shows. Messages get the picture in the strip's
place as soon as it is uploaded; if the chat rejects a picture, the strip stays. The outbox stores which file belongs to
which name: a restart uploads nothing twice, and goes on with unfinished uploads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bot.chat.background import Background
from bot.chat.document import CoreLoadStrip
from bot.chat.remembered import BoundedDict
from bot.chat.service import ChatService, Message, Timing
from bot.chat.thread_files import FileRequest, ThreadFile
from bot.domain.core_heat import CoreHeat
from bot.domain.errors import LedgerError, ZombieError
from bot.domain.json_form import NotOfForm, read, to_json_types
from bot.domain.safe_text import one_line
from bot.ledger import Outbox

PICTURE = "picture-"  # prefix of their block ids, and of their parts' names in the outbox
# Slack refuses a file that it is still processing (slackapi/python-slack-sdk issue 1521): try so many times more,
# after 1, 2, 4 and 8 seconds.
LOOKS = 4
REMEMBERED = 2000

Redraw = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Picture:
    """A picture that the chat has: its file, what it shows in words, and how often the chat refused to show it."""

    file: str
    alt_text: str
    refused: int = 0


class Pictures:
    """Draws pictures, a `ThreadFileKind` that stands in no thread, and puts those that the chat has into messages."""

    prefix, word = PICTURE, "picture"

    def __init__(self, chat: ChatService, outbox: Outbox, timing: Timing, tasks: Background) -> None:
        """`tasks` end with the bot."""
        self._chat, self._outbox, self._timing, self._tasks = chat, outbox, timing, tasks
        # By card and name; None: the chat does not show it.
        self._known: BoundedDict[tuple[str, str], _Picture | None] = BoundedDict(REMEMBERED)
        self._is_loaded = False

    def prepare(self) -> None:
        """Load what draws, in the background: a node is being read, so a picture may be wanted in some seconds."""
        if not self._is_loaded:
            self._is_loaded = True
            self._tasks.begin(asyncio.to_thread(load), "loading what draws")

    async def make(self, name: str, content: Mapping[str, Any]) -> ThreadFile:
        """Draw it. Raises: ZombieError where the stored content is no picture."""
        try:
            drawn = read(CoreHeat, content.get("heat"))
        except NotOfForm as no:
            raise ZombieError(one_line(str(no))) from no
        png = await asyncio.to_thread(png_of, drawn, str(content.get("node", "")))
        return ThreadFile("cores.png", png, drawn.alt_text)

    def instead(self, name: str, because: str) -> str:
        """Say nothing: the strip stays."""
        return ""

    def note_uploaded(self, card: str, name: str, file: str, alt_text: str) -> None:
        """Note that the chat has a picture."""
        self._known[card, name] = _Picture(file, alt_text)

    async def drawn_into(self, card: str, message: Message) -> Message:
        """Return a card's message with the uploaded pictures in place of their strips."""
        found = {name: picture for name in self._chat.strips(message) if (picture := await self._picture(card, name))}
        return self._chat.illustrated(message, {name: (each.file, each.alt_text) for name, each in found.items()})

    def note_refused_pictures(self, card: str, message: Message, redraw: Redraw) -> None:
        """Note that the chat refused a message's pictures: its strips stay, and the pictures are tried again later."""
        for name in self._chat.strips(message):
            picture = self._known.get((card, name))
            if picture is not None:
                self._known[card, name] = None
                if picture.refused < LOOKS:
                    again = replace(picture, refused=picture.refused + 1)
                    self._tasks.begin(self._offer_again(card, name, again, redraw), f"{PICTURE}{name} again")

    async def _offer_again(self, card: str, name: str, picture: _Picture, redraw: Redraw) -> None:
        await asyncio.sleep(self._timing.first_pause * 2 ** (picture.refused + 1))
        self._known[card, name] = picture
        await redraw(card)

    async def _picture(self, card: str, name: str) -> _Picture | None:
        """The picture that the chat has; an earlier run may have uploaded it."""
        if (card, name) not in self._known:
            if (found := await self._picture_on_record(card, PICTURE + name)) is None:
                return None  # not remembered: another program may upload it at any moment
            self._known[card, name] = found
        return self._known[card, name]

    async def _picture_on_record(self, card: str, part: str) -> _Picture | None:
        try:
            posts = await self._outbox.card(card, part)
            drawn = read(CoreHeat, posts.standing.get("heat")) if posts.standing is not None else None
        except (LedgerError, NotOfForm):
            return None
        place = posts.places.get(part)
        return _Picture(place.ts, drawn.alt_text) if place is not None and drawn is not None else None


def picture_request(incident: str, node: str, drawn: CoreHeat) -> FileRequest:
    """Return the picture of an incident's strip, named as the strip is."""
    return FileRequest(PICTURE, CoreLoadStrip(drawn, incident).name, {"heat": to_json_types(drawn), "node": node})


def png_of(heat: CoreHeat, node: str) -> bytes:
    """Draw it. The first call loads Pillow."""
    from bot.view.core_picture import core_picture

    return core_picture(heat, node)


def load() -> None:
    """Load Pillow and its letters, so that the first picture is drawn as quickly as any other."""
    png_of(CoreHeat("", 0, (0,), (1.0,), ((0,),)), "")
