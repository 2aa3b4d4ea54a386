"""The parts of a card: what each should say, what the chat has of it, when to send it next, and which are remembered.

A card is a part, and so is each reply and each file in its thread, and a picture on it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from bot.chat.document import Document
from bot.chat.rate_limiter import FIRST, LAST, VERDICT
from bot.chat.service import Message, message_of
from bot.chat.thread_files import FileRequest
from bot.domain.alert import CHATS
from bot.domain.contracts import Seconds
from bot.domain.incident import Incident
from bot.domain.post import DuePost, MessageRef, Post
from bot.view.view import is_alarm

CARD = "card"  # the name of the part that is the card itself
Say: TypeAlias = Callable[[], Document | Message]


@dataclass(frozen=True, slots=True)
class MessageTarget:
    """Where a part belongs; `answer_at` is the response address of the slash command that asked for it."""

    channel: str
    thread_ts: str = ""
    answer_at: str = field(default="", repr=False)  # who has it can answer there


@dataclass(frozen=True, slots=True, eq=False)
class PendingDelivery:
    """Something that has to arrive: a decision, a verdict, details. `post_id` is its id in the outbox.

    Shape: among deliveries that wait for a turn, the lowest `rank` goes first.
    """

    post_id: str = ""
    rank: int = VERDICT


@dataclass(slots=True, eq=False)
class PostState:
    """A part: what it should say, what the chat has of it, and how to reach it.

    Shape: `say` is called when it is the part's turn, so that outdated progress is never sent; of a file it is the
    request. `version` counts the wordings, `sent` is the newest in the chat, `failures` are those since the chat took
    one. While there is a `pending` delivery, the next wording has to arrive. `newest_id` is the newest wording in the
    outbox that this program knows of.
    """

    card: str
    name: str
    target: MessageTarget
    say: Say | FileRequest
    under: str = ""  # the name of the part in whose thread it belongs
    above: PostState | None = None  # that part, while it is remembered
    place: MessageRef | None = None
    version: int = 0
    sent: int = 0
    failures: int = 0
    stands: Message | None = None  # the last message that the chat accepted, with its pictures
    pending: PendingDelivery | None = None
    newest_id: str = ""
    in_private: bool = False  # the bot may not write in the channel: only the asker gets an answer
    was_gone: bool = False  # a person deleted the message: a pending delivery posts it again, progress does not
    nowhere: bool = False  # it cannot be posted anywhere
    edited_at: float = float("-inf")
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    settled: asyncio.Event = field(default_factory=asyncio.Event)  # set once it is posted, or cannot be
    worker: asyncio.Task[None] | None = None

    def want(self, say: Say | FileRequest, pending: PendingDelivery | None = None) -> None:
        """Ask for another wording; a pending delivery stays pending until this or a later wording has arrived."""
        self.say, self.version, self.pending = say, self.version + 1, pending or self.pending
        self.newest_id = (pending.post_id if pending is not None else "") or self.newest_id
        if pending is not None and self.nowhere:  # it may be possible now
            self.nowhere = False
            self.settled.clear()
        self.changed.set()

    @property
    def is_busy(self) -> bool:
        """True while a worker sends it."""
        return self.worker is not None and not self.worker.done()

    @property
    def is_file(self) -> bool:
        """True for a file, which is uploaded once."""
        return isinstance(self.say, FileRequest)

    @property
    def post_rank(self) -> int:
        """The rank of its post: a summary of many cards before those cards, details last."""
        return LAST if self.under else min(FIRST, self.pending.rank if self.pending is not None else FIRST)

    @property
    def resolved_target(self) -> MessageTarget:
        """Where to post it, once the part above it is posted."""
        if self.above is None or self.above.place is None:
            return self.target
        thread = self.above.target.thread_ts or self.above.place.ts
        return MessageTarget(self.above.place.channel, thread, self.target.answer_at)

    async def wait_between_edits(self, every: float, clock: Seconds) -> None:
        """Wait a moment, so that several progress changes become a single edit; a pending delivery does not wait."""
        while self.pending is None:
            wait = self.edited_at + every - clock()
            if wait <= 0:
                return
            if not await self.wait_for_wording(wait):
                return

    async def wait_for_wording(self, seconds: float) -> bool:
        """Wait at most so long until another wording is asked for; True if one is."""
        self.changed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self.changed.wait()
        return False

    async def wait_until_pending(self) -> None:
        """Wait until something has to arrive."""
        while self.pending is None:
            self.changed.clear()
            await self.changed.wait()


class PostStates:
    """Remembers the parts of cards. A part that is forgotten and made again would be posted a second time."""

    def __init__(self) -> None:
        self._cards: dict[str, dict[str, PostState]] = {}
        self._open: set[str] = set()  # cards that are not finished
        self._in_use = Counter[str]()

    def __iter__(self) -> Iterator[PostState]:
        return (part for parts in list(self._cards.values()) for part in list(parts.values()))

    @property
    def open(self) -> int:
        """How many cards are not finished."""
        return len(self._open)

    def get(self, card: str, name: str = CARD) -> PostState | None:
        """Return a part if it is remembered."""
        return self._cards.get(card, {}).get(name)

    def add(self, part: PostState) -> None:
        """Remember a part; it replaces a part of the same name."""
        self._cards.setdefault(part.card, {})[part.name] = part

    def part(self, card: str, name: str, target: MessageTarget, say: Say | FileRequest, under: str = "") -> PostState:
        """Return a part, made new if it is not remembered; a new card is open."""
        known = self.get(card, name)
        if known is None:
            known = PostState(card, name, target, say, under, self.get(card, under))
            self.add(known)
            if name == CARD:
                self._open.add(card)
        return known

    def open_again(self, card: str) -> None:
        """Note that a card is not finished."""
        self._open.add(card)

    def finish(self, card: str) -> None:
        """Note that a card will not change again, and forget its posted parts."""
        self._open.discard(card)
        self._forget_of(card)

    def hold(self, card: str) -> None:
        """Forget nothing of a card, even if finished, until `let_go` was called as often as `hold`."""
        self._in_use[card] += 1

    def let_go(self, card: str) -> None:
        """Take back a `hold`."""
        self._in_use[card] -= 1
        if not self._in_use[card]:
            del self._in_use[card]
            self._forget_of(card)

    @contextlib.contextmanager
    def in_use(self, card: str) -> Iterator[None]:
        """Hold a card while the block runs."""
        self.hold(card)
        try:
            yield
        finally:
            self.let_go(card)

    def forget(self, part: PostState) -> None:
        """Forget a part unless its card is open or in use, or it is being sent."""
        if part.card in self._open or part.card in self._in_use:
            return
        if part.is_busy:
            return
        parts = self._cards.get(part.card, {})
        if parts.get(part.name) is part:
            del parts[part.name]
        if not parts:
            self._cards.pop(part.card, None)

    def _forget_of(self, card: str) -> None:
        for part in list(self._cards.get(card, {}).values()):
            self.forget(part)


def as_post(card: str, name: str, target: MessageTarget, said: Message | FileRequest, under: str = "") -> Post:
    """Return a message or a file in the outbox's form."""
    content: dict[str, Any] = {"thread_ts": target.thread_ts}
    if isinstance(said, FileRequest):
        return Post(card, name, target.channel, {**said.content, **content}, under)
    content |= {"text": said.text, "blocks": list(said.blocks), "answer_at": target.answer_at}
    content |= {"broadcast": True} if said.broadcast else {}
    return Post(card, name, target.channel, content, under)


def restored_post(due: DuePost, prefixes: Iterable[str] = ()) -> PostState:
    """Return a part from the outbox, after a restart; files are named by these prefixes."""
    content: Mapping[str, Any] = due.post.content
    target = MessageTarget(due.post.channel, str(content.get("thread_ts", "")), str(content.get("answer_at", "")))
    if due.thread is not None:
        target = replace(target, channel=due.thread.channel, thread_ts=target.thread_ts or due.thread.ts)
    part = PostState(due.post.incident, due.post.part, target, _said(due.post, prefixes), due.post.under)
    part.place = due.place
    part.want(part.say, PendingDelivery(due.id))
    return part


def _said(post: Post, prefixes: Iterable[str]) -> Say | FileRequest:
    """What a stored post says; a file of no kind that is known keeps its whole name."""
    if "text" in post.content:
        message = message_of(post.content)
        return lambda: message
    prefix = next((prefix for prefix in prefixes if post.part.startswith(prefix)), "")
    return FileRequest(prefix, post.part.removeprefix(prefix), post.content)


def request_id(channel: str, thread_ts: str, key: str) -> str:
    """Return the name of a person's request on record, which says where its card belongs."""
    return f"{channel}/{thread_ts or '-'}/{key}"


def card_target(incident: Incident) -> MessageTarget | None:
    """Return where an incident's card belongs; None without a card: it came in a storm, or no channel is set."""
    if incident.alert.kind in CHATS:
        channel, _, rest = incident.alert.id.partition("/")
        thread = rest.partition("/")[0]
        return MessageTarget(channel, "" if thread == "-" else thread) if rest else None
    if not is_alarm(incident.alert) or incident.storm or not incident.channel:
        return None
    return MessageTarget(incident.channel)
