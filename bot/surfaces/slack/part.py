"""One part of a card: how it should read, where it stands, and when it may be sent next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from bot.domain.contracts import Seconds
from bot.domain.post import DuePost, Place, Post
from bot.surfaces.slack.message import Message
from bot.surfaces.slack.pace import FIRST, LAST, VERDICT

Say: TypeAlias = Callable[[], Message]  # makes the wording when there is a turn to send it


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a part belongs.

    Shape: `answer_at` is the address that answers the slash command it comes from. `patient`: nobody sits and waits for
    it, as for what comes of an alert; then posts keep their distance, also from those of other programs.
    """

    channel: str
    thread_ts: str = ""
    answer_at: str = ""
    patient: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Debt:
    """Something that has to arrive: a decision, a verdict, details; `post_id` is the outbox's name of it.

    Shape: of what waits for a turn, the lowest `rank` goes first.
    """

    post_id: str = ""
    rank: int = VERDICT


@dataclass(slots=True, eq=False)
class Part:
    """A part: what it should say, what Slack has of it, and how to reach it.

    Shape: `say` is asked when there is a turn to send it, so that progress that was overtaken costs nothing. `version`
    counts the wordings, `sent` is the newest that Slack has. While there is a `debt`, the next wording has to arrive.
    """

    card: str
    name: str
    spot: Spot
    say: Say
    under: str = ""  # the name of the part into whose thread it belongs
    above: Part | None = None  # that part, while it is remembered
    place: Place | None = None
    version: int = 0
    sent: int = 0
    debt: Debt | None = None
    in_private: bool = False  # we may not write in the channel: whoever asked is answered alone
    was_gone: bool = False  # somebody took the message away; it comes back with what has to arrive, not with progress
    nowhere: bool = False  # it will never stand anywhere
    edited_at: float = float("-inf")
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    settled: asyncio.Event = field(default_factory=asyncio.Event)  # set once it stands, or never will
    worker: asyncio.Task[None] | None = None

    def want(self, say: Say, debt: Debt | None = None) -> None:
        """Want another wording; a debt that is open stays open until that wording, or a later one, has arrived."""
        self.say, self.version, self.debt = say, self.version + 1, debt or self.debt
        if debt is not None and self.nowhere:  # what was impossible for progress may be possible by now
            self.nowhere = False
            self.settled.clear()
        self.changed.set()

    @property
    def post_rank(self) -> int:
        """How soon it is posted: what stands for many before cards, and details last."""
        return LAST if self.under else min(FIRST, self.debt.rank if self.debt is not None else FIRST)

    @property
    def at(self) -> Spot:
        """Where to post it, now that the part above it stands."""
        if self.above is None or self.above.place is None:
            return self.spot
        thread = self.above.spot.thread_ts or self.above.place.ts
        return Spot(self.above.place.channel, thread, self.spot.answer_at, self.spot.patient)

    async def unhurried(self, every: float, clock: Seconds) -> None:
        """Let progress come together for a moment; what has to arrive does not wait."""
        while self.debt is None:
            wait = self.edited_at + every - clock()
            if wait <= 0:
                return
            self.changed.clear()
            try:
                async with asyncio.timeout(wait):
                    await self.changed.wait()
            except TimeoutError:
                return

    async def owing(self) -> None:
        """Wait until there is something that has to arrive."""
        while self.debt is None:
            self.changed.clear()
            await self.changed.wait()


def kept(card: str, name: str, spot: Spot, message: Message, under: str = "") -> Post:
    """Return a message as the outbox keeps it."""
    content: dict[str, Any] = {"text": message.text, "blocks": list(message.blocks)}
    content |= {"thread_ts": spot.thread_ts, "answer_at": spot.answer_at}
    content |= {"broadcast": True} if message.broadcast else {}
    content |= {"patient": True} if spot.patient else {}
    return Post(card, name, spot.channel, content, under)


def kept_part(due: DuePost) -> Part:
    """Return the part that the outbox kept, after a restart."""
    content: Mapping[str, Any] = due.post.content
    where = (str(content.get("thread_ts", "")), str(content.get("answer_at", "")), bool(content.get("patient")))
    spot = Spot(due.post.channel, *where)
    if due.thread is not None:
        spot = replace(spot, channel=due.thread.channel, thread_ts=spot.thread_ts or due.thread.ts)
    message = Message(str(content.get("text", "")), tuple(content.get("blocks", ())), bool(content.get("broadcast")))
    part = Part(due.post.incident, due.post.part, spot, lambda: message, due.post.under, place=due.place)
    part.want(lambda: message, Debt(due.id))
    return part
