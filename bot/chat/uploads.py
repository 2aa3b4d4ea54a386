"""Uploads files in the background. The outbox has each until the chat has it: a restart sends none twice."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any

from bot.chat.service import ChatService, Rejected, RetryLater, Timing, Uploaded
from bot.domain.contracts import Clock, Log
from bot.domain.errors import LedgerError
from bot.domain.safe_text import one_line
from bot.ledger import Outbox

TRIES = 3


@dataclass(frozen=True, slots=True)
class ThreadFile:
    """A file to send; `alt_text` says what a picture shows."""

    name: str
    content: bytes
    alt_text: str = ""


@contextlib.contextmanager
def logging_outbox_failure(log: Log, card: str) -> Iterator[None]:
    """Do what is worth no trouble where the outbox cannot be asked."""
    try:
        yield
    except LedgerError as error:
        log("outbox_unavailable", card=card, error=one_line(str(error)))


class Uploads:
    """What all files have in common: their tasks, how often they are tried, and what the outbox hears of it."""

    def __init__(self, chat: ChatService, outbox: Outbox, timing: Timing, now: Clock, log: Log) -> None:
        self.chat, self.outbox, self.timing, self.now, self.log = chat, outbox, timing, now, log
        self.tasks: dict[tuple[str, str], asyncio.Task[None]] = {}

    def start(self, key: tuple[str, str], word: str, work: Coroutine[Any, Any, None]) -> None:
        """Begin the work on a file, by its card and its name; `word` begins its events in the log."""

        def ended(done: asyncio.Task[None]) -> None:
            if self.tasks.get(key) is done:
                del self.tasks[key]
            if not done.cancelled() and (error := done.exception()) is not None:
                self.log(f"{word}_failed", name=key[1], error=one_line(repr(error), 500))

        task = self.tasks[key] = asyncio.create_task(work, name=f"{word} {key[1]}")
        task.add_done_callback(ended)

    async def drain(self) -> None:
        """Leave unfinished files to the next run."""
        tasks = list(self.tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @contextlib.asynccontextmanager
    async def free_on_cancel(self, post_id: str) -> AsyncIterator[None]:
        """Where the bot ends meanwhile, free the post, so that the next run need not wait for it."""
        try:
            yield
        except asyncio.CancelledError:
            with contextlib.suppress(LedgerError):
                if post_id:  # else it could not be stored
                    await self.outbox.mark_failed(post_id, self.now(), "the bot ended")
            raise

    async def uploaded(
        self, word: str, name: str, file: ThreadFile, channel: str = "", thread: str = ""
    ) -> Uploaded | Rejected:
        """Upload a file, and return its id, or why the chat does not take it."""
        error = ""
        for attempt in range(TRIES):
            outcome = await self.chat.upload(file.name, file.content, file.alt_text, channel=channel, thread=thread)
            if not isinstance(outcome, RetryLater):
                return outcome
            error, pause = outcome.error, max(outcome.seconds, self.timing.first_pause * 4**attempt)
            self.log(f"{word}_delayed", name=name, error=error, again_in_seconds=pause)
            await asyncio.sleep(pause)
        return Rejected(error)
