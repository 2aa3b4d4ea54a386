"""The report of an incident in the thread of its card: made once it has ended, sent once, and in nobody's way.

What is on its way is kept in the outbox: a restart goes on with it, and sends none again that has arrived. What Slack
does not take leaves a sentence in the thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from bot.domain.contracts import Clock, Log, Outbox
from bot.domain.errors import ZombieError
from bot.domain.post import DuePost, Post
from bot.domain.safe_text import one_line
from bot.surfaces.slack.calls import RetryLater, Timing
from bot.surfaces.slack.message import Message, escaped, paragraph
from bot.surfaces.slack.part import MessageTarget
from bot.surfaces.slack.uploads import Uploaded, Uploads

REPORT = "report-"  # of the names of their parts in the outbox
CARD = "card"  # the part in whose thread it belongs
FILES = "files"  # stands where a message has its channel
TRIES = 3

MakeReport = Callable[[str], Awaitable[str]]
Instead = Callable[[str, str, MessageTarget, Message], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Way:
    """A report on its way: of which card and incident, where to, and what says in the thread that it does not come."""

    card: str
    incident: str
    target: MessageTarget
    post_id: str
    instead: Instead


class Reports:
    """Makes reports and uploads each once; `make` returns an incident's page and raises ZombieError where it cannot."""

    def __init__(
        self, make: MakeReport, uploads: Uploads, outbox: Outbox, timing: Timing, now: Clock, log: Log
    ) -> None:
        self._make = make
        self._uploads = uploads
        self._outbox = outbox
        self._timing = timing
        self._now = now
        self._log = log
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def begin(self, card: str, target: MessageTarget, incident: str, instead: Instead) -> bool:
        """Begin to make and send a report; False where it stands in the thread already.

        Raises: LedgerError when the outbox cannot be asked.
        """
        part = REPORT + incident
        if part in self._tasks:
            return True
        if await self._outbox.place(card, part) is not None:
            return False
        content = {"report": incident, "thread_ts": target.thread_ts}
        post_id = await self._outbox.keep(Post(card, part, target.channel, content, CARD))
        self._start(_Way(card, incident, target, post_id, instead))
        return True

    def take_up(self, due: DuePost, instead: Instead) -> bool:
        """Go on with a report that the outbox kept; False where the post is none."""
        if not due.post.part.startswith(REPORT):
            return False
        if due.post.part not in self._tasks:
            target = MessageTarget(due.post.channel, str(due.post.content.get("thread_ts", "")))
            self._start(_Way(due.post.incident, due.post.part.removeprefix(REPORT), target, due.id, instead))
        return True

    async def drain(self) -> None:
        """Leave the reports that are on their way to the next run."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- on the way

    def _start(self, way: _Way) -> None:
        part = REPORT + way.incident
        task = asyncio.create_task(self._unless_it_ends(way), name=part)
        self._tasks[part] = task
        task.add_done_callback(lambda done: self._ended(part, done))

    def _ended(self, part: str, task: asyncio.Task[None]) -> None:
        self._tasks.pop(part, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log("report_failed", report=part, error=one_line(repr(error), 500))

    async def _unless_it_ends(self, way: _Way) -> None:
        try:
            await self._brought(way)
        except asyncio.CancelledError:  # the bot ends: the next run need not wait until nobody can be at it any more
            with suppress(ZombieError):
                await self._outbox.failed(way.post_id, self._now(), "the bot ended")
            raise

    async def _brought(self, way: _Way) -> None:
        place = await self._outbox.place(way.card, CARD)
        if place is None:  # its card is being posted: the outbox hands it out once that stands
            await self._outbox.failed(way.post_id, self._now(), "its card is not posted yet")
            return
        try:
            page = (await self._make(way.incident)).encode()
        except ZombieError as no:
            await self._given_up(way, no.sentence)
            return
        error = ""
        for attempt in range(TRIES):
            thread = way.target.thread_ts or place.ts
            outcome = await self._uploads.upload(
                f"report-{way.incident}.html", page, "", channel=place.channel, thread_ts=thread
            )
            if isinstance(outcome, Uploaded):
                await self._outbox.taken(way.post_id, FILES, outcome.file)
                self._log("report_sent", incident=way.incident)
                return
            error = outcome.error
            if not isinstance(outcome, RetryLater):
                break
            pause = max(outcome.seconds, self._timing.first_pause * 4**attempt)
            self._log("report_delayed", incident=way.incident, error=error, again_in_seconds=pause)
            await asyncio.sleep(pause)
        await self._given_up(way, f"Slack did not take the file ({error}).")

    async def _given_up(self, way: _Way, because: str) -> None:
        self._log("report_given_up", incident=way.incident, because=because)
        await self._outbox.dropped(way.post_id, because)
        words = f"The report is not here: {because} It is written by: zombie report {way.incident}"
        said = Message(escaped(words), (paragraph(words),))
        await way.instead(way.card, f"no-{REPORT}{way.incident}", way.target, said)
