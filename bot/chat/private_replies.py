"""Answers that only one person sees: help, status, and why something was refused."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from bot.chat.document import Block, Document, Pieces, plain_document
from bot.chat.people import People
from bot.chat.requests import CommandRequest
from bot.chat.service import ChatService, Delivered, Outcome, RetryLater, Timing
from bot.domain.contracts import Log
from bot.domain.errors import ZombieError
from bot.domain.safe_text import redacted_text

TRIES = 4  # after that nobody waits for an answer


@dataclass(eq=False, repr=False)
class PrivateReplies:
    """Answers a person in private; an answer that cannot be sent is logged. `people` turns ids into names."""

    _chat: ChatService
    _timing: Timing
    _log: Log
    _people: People

    async def say(self, request: CommandRequest, words: Pieces) -> None:
        """Answer a request with the bot's own words."""
        await self.answer(request, Document(words))

    async def quote(self, request: CommandRequest, words: str, below: Sequence[Block] = ()) -> None:
        """Answer a request with words that quote what a person typed, above other blocks, such as buttons."""
        await self.answer(request, plain_document(words, *below))

    async def answer(self, request: CommandRequest, document: Document) -> None:
        """Answer a request: at the command's address, if any, and in the channel where that takes no more answers."""
        await self._send(request.person.user, request.channel, request.thread_ts, document, request.answer_at)

    async def tell(
        self, by: str, channel: str, thread_ts: str, words: str, answer_at: str = "", below: Sequence[Block] = ()
    ) -> None:
        """Tell a person something that may quote a node: in their channel, else in a direct message.

        People appear by name, and nobody is notified.
        """
        named = await self._people.named(redacted_text(words))  # a refusal may quote what a node said
        await self._send(self._people.user(by), channel, thread_ts, plain_document(named, *below), answer_at)

    async def _send(self, user: str, channel: str, thread_ts: str, document: Document, answer_at: str) -> None:
        """Send it to the command's address, else into the channel, else as a direct message."""
        message = self._chat.draw(document)
        if answer_at and isinstance(await self._chat.respond(answer_at, message), Delivered):
            return
        for attempt in range(TRIES):
            outcome: Outcome | None = None
            if channel:
                outcome = await self._chat.whisper(channel, user, thread_ts, message)
            if outcome is None or not isinstance(outcome, Delivered | RetryLater):
                outcome = await self._chat.whisper("", user, "", message)
            if isinstance(outcome, Delivered):
                return
            self._log(f"{self._chat.logged}_failed", ephemeral=user, error=outcome.error)
            if attempt < TRIES - 1:
                seconds = outcome.seconds if isinstance(outcome, RetryLater) else 0.0
                await asyncio.sleep(max(seconds, self._timing.first_pause * 2**attempt))


def refusal_words(no: ZombieError) -> str:
    """Return a refusal for the person who asked: its sentence, what to try, then its name."""
    return f"{no} ({type(no).__name__})"
