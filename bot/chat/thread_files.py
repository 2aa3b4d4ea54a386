"""Files in the threads of cards: an incident's report, the pictures of a profile. Each is sent once, in the background.

Uploads wait in the outbox: a restart goes on with them, and sends none again that has arrived. For a file that is
rejected, the thread gets a sentence.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol, TypeAlias

from bot.chat.document import Document, plain_document
from bot.chat.post_state import CARD, MessageTarget
from bot.chat.service import ChatService, Timing, Uploaded
from bot.chat.uploads import ThreadFile, Uploads
from bot.domain.contracts import Clock, Log
from bot.domain.errors import ZombieError
from bot.domain.post import DuePost, Post
from bot.ledger import Outbox

FILES = "files"  # takes the place of a message's channel
TOO_LATE = timedelta(hours=6)  # if there is no thread for this long, nobody waits for its files

Instead: TypeAlias = Callable[[str, str, MessageTarget, Document], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class FileRequest:
    """A requested file: its kind by `prefix`, its name, and what is stored with it until it is sent."""

    prefix: str
    name: str
    content: Mapping[str, Any] = field(default_factory=dict)


class ThreadFileKind(Protocol):
    """A kind of file."""

    @property
    def prefix(self) -> str:
        """The prefix of its parts' names in the outbox."""

    @property
    def word(self) -> str:
        """The prefix of its log events."""

    async def make(self, name: str, content: Mapping[str, Any]) -> ThreadFile:
        """Make the file of that name from what was stored with it. Raises: ZombieError where that fails."""

    def instead(self, name: str, because: str) -> str:
        """Return what the thread says if the file does not come; empty where nothing is lost."""


@dataclass(frozen=True, slots=True)
class _PendingFile:
    """A file on its way: its kind, name, card and target, and what posts the sentence if it does not come."""

    kind: ThreadFileKind
    card: str
    name: str
    content: Mapping[str, Any]
    target: MessageTarget
    post_id: str
    instead: Instead

    @property
    def part(self) -> str:
        """Its name in the outbox."""
        return self.kind.prefix + self.name


class ThreadFiles(Uploads):
    """Makes files and uploads each once."""

    def __init__(
        self, kinds: Sequence[ThreadFileKind], chat: ChatService, outbox: Outbox, timing: Timing, now: Clock, log: Log
    ) -> None:
        super().__init__(chat, outbox, timing, now, log)
        self._kinds = {kind.prefix: kind for kind in kinds}

    async def begin(self, card: str, target: MessageTarget, asked: FileRequest, instead: Instead) -> bool | None:
        """Begin to make and send a file into a card's thread; False where it is there already, None of an unknown kind.

        Raises: LedgerError when the outbox cannot be read.
        """
        if asked.prefix not in self._kinds:
            return None
        part = asked.prefix + asked.name
        if (card, part) in self.tasks:
            return True
        if await self.outbox.place(card, part) is not None:
            return False
        kept = {**asked.content, "thread_ts": target.thread_ts}
        stored = await self.outbox.keep(Post(card, part, target.channel, kept, CARD))
        if (card, part) in self.tasks:  # a sweep, or another click, was quicker
            return True
        way = _PendingFile(self._kinds[asked.prefix], card, asked.name, kept, target, stored.id, instead)
        self.start((card, part), way.kind.word, self._make_and_send(way))
        return True

    def take_up(self, due: DuePost, instead: Instead) -> bool:
        """Go on with a file from the outbox; False where the post is no file."""
        kind = next((kind for prefix, kind in self._kinds.items() if due.post.part.startswith(prefix)), None)
        key = (due.post.incident, due.post.part)
        if kind is None and "text" in due.post.content:
            return False
        if kind is None and key not in self.tasks:
            self.log("file_given_up", name=due.post.part, because="the extra that makes it is left out")
            self.start(key, "file", self.outbox.mark_dropped(due.id, "the extra that makes it is left out"))
        elif kind is not None and key not in self.tasks:
            target = MessageTarget(due.post.channel, str(due.post.content.get("thread_ts", "")))
            name, content = due.post.part.removeprefix(kind.prefix), due.post.content
            is_late = self.now() - due.kept_at > TOO_LATE
            way = _PendingFile(kind, due.post.incident, name, content, target, due.id, instead)
            self.start(key, kind.word, self._make_and_send(way, is_late=is_late))
        return True

    # --- on the way

    async def _make_and_send(self, way: _PendingFile, *, is_late: bool = False) -> None:
        async with self.free_on_cancel(way.post_id):
            place = await self.outbox.place(way.card, CARD)
            if place is None and is_late:
                await self.outbox.mark_dropped(way.post_id, "its card was never posted")
                return
            if place is None:  # its card is being posted: the outbox hands it out after that
                await self.outbox.mark_failed(way.post_id, self.now(), "its card is not posted yet")
                return
            try:
                made = await way.kind.make(way.name, way.content)
            except ZombieError as no:
                await self._give_up(way, no.sentence)
                return
            thread = way.target.thread_ts or place.ts
            outcome = await self.uploaded(way.kind.word, way.name, made, place.channel, thread)
            if isinstance(outcome, Uploaded):
                await self.outbox.mark_delivered(way.post_id, FILES, outcome.file)
                self.log(f"{way.kind.word}_sent", name=way.name)
            else:
                await self._give_up(way, f"The chat rejected the file ({outcome.error}).")

    async def _give_up(self, way: _PendingFile, because: str) -> None:
        self.log(f"{way.kind.word}_given_up", name=way.name, because=because)
        await self.outbox.mark_dropped(way.post_id, because)
        if words := way.kind.instead(way.name, because):
            await way.instead(way.card, f"no-{way.part}", way.target, plain_document(words))


REPORT = "report-"
MakeReport: TypeAlias = Callable[[str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class ReportFile:
    """Makes reports; `page` returns an incident's page, or raises ZombieError."""

    page: MakeReport
    prefix: str = REPORT
    word: str = "report"

    async def make(self, name: str, content: Mapping[str, Any]) -> ThreadFile:
        """Make an incident's page. Raises: ZombieError."""
        return ThreadFile(f"report-{name}.html", (await self.page(name)).encode())

    def instead(self, name: str, because: str) -> str:
        """Say how to write it in a terminal."""
        return f"The report is not here: {because} To write it: zombie report {name}"
