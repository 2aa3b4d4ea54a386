"""One part of a card: how it should read, where it stands, and when it may be sent next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.domain.post import DuePost, Place, Post
from bot.surfaces.slack.message import Message

EDIT_EVERY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a part belongs; `answer_at` is the address that answers the slash command it comes from."""

    channel: str
    thread_ts: str = ""
    answer_at: str = ""


@dataclass(slots=True, eq=False)
class Part:
    """A part in its newest wording. `urgent` is what has to arrive; the rest is progress and may be overtaken."""

    card: str
    name: str
    spot: Spot
    wanted: Message
    urgent: bool
    under: Part | None = None
    place: Place | None = None
    revision: int = 1
    sent: int = 0
    post_id: str = ""
    nowhere: bool = False  # Slack will not have it there at all; it was answered in private, or not
    edited_at: float = float("-inf")
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    settled: asyncio.Event = field(default_factory=asyncio.Event)  # set once it stands, or never will
    worker: asyncio.Task[None] | None = None

    def rewrite(self, message: Message, urgent: bool) -> None:
        """Want another wording; whether it is urgent is that wording's own."""
        self.wanted, self.revision, self.urgent = message, self.revision + 1, urgent
        self.changed.set()

    @property
    def at(self) -> Spot:
        """Where to post it, now that the part above it stands."""
        if self.under is None or self.under.place is None:
            return self.spot
        thread = self.under.spot.thread_ts or self.under.place.ts
        return Spot(self.under.place.channel, thread, self.spot.answer_at)

    async def unhurried(self, clock: Callable[[], float]) -> None:
        """Let progress come together for a moment; what is urgent does not wait."""
        while self.place is not None and not self.urgent:
            wait = self.edited_at + EDIT_EVERY_SECONDS - clock()
            if wait <= 0:
                return
            self.changed.clear()
            try:
                async with asyncio.timeout(wait):
                    await self.changed.wait()
            except TimeoutError:
                return

    async def turned_urgent(self) -> None:
        """Wait until what is wanted has to arrive."""
        while not self.urgent:
            self.changed.clear()
            await self.changed.wait()

    def post(self) -> Post:
        """Return what the outbox keeps of it."""
        content: dict[str, Any] = {"text": self.wanted.text, "blocks": list(self.wanted.blocks)}
        content |= {"thread_ts": self.spot.thread_ts, "answer_at": self.spot.answer_at}
        return Post(self.card, self.name, self.spot.channel, content, self.under.name if self.under else "")


def kept_part(due: DuePost) -> Part:
    """Return the part that the outbox kept, after a restart."""
    content: Mapping[str, Any] = due.post.content
    spot = Spot(due.post.channel, str(content.get("thread_ts", "")), str(content.get("answer_at", "")))
    if due.thread is not None:
        spot = Spot(due.thread.channel, spot.thread_ts or due.thread.ts, spot.answer_at)
    message = Message(str(content.get("text", "")), tuple(content.get("blocks", ())))
    return Part(due.post.incident, due.post.part, spot, message, urgent=True, place=due.place, post_id=due.id)
