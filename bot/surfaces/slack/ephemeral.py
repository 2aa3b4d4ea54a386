"""Answers that only one person sees: help, status, and why something was refused."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import replace

from bot.domain.contracts import Log
from bot.domain.errors import ZombieError
from bot.domain.safe_text import redacted_text, safe
from bot.surfaces.slack.blocks import slack_user
from bot.surfaces.slack.calls import Calls, Delivered, Outcome, RetryLater, Timing
from bot.surfaces.slack.message import SECTION, TEXT, Block, Message, clipped, escaped, paragraph
from bot.surfaces.slack.people import People
from bot.surfaces.slack.requests import CommandRequest

TRIES = 4  # after that nobody waits for an answer
NOT_THERE = frozenset({"user_not_in_channel", "channel_not_found", "not_in_channel", "is_archived"})
_WHO = re.compile(r"(?:slack:)?\b[TE][A-Z0-9]+/([UW][A-Z0-9]+)\b")


class Ephemeral:
    """Answers a person in private.

    Shape: `people` turns ids into names; without it ids stay as they are.
    """

    def __init__(self, calls: Calls, timing: Timing, log: Log, people: People | None = None) -> None:
        self._calls = calls
        self._timing = timing
        self._log = log
        self._people = people

    async def say(self, request: CommandRequest, text: str) -> None:
        """Answer a request with the bot's own text, in which Slack's markup works.

        Shape: sent to the command's response address, if any, and to the channel where that takes no more answers. An
        answer that cannot be sent is logged.
        """
        await self._say(request, Message(clipped(text, TEXT)))

    async def quote(self, request: CommandRequest, words: str, below: Iterable[Block] = ()) -> None:
        """Answer a request with words that quote what a person typed, so markup does not work; else like `say`.

        Shape: `below` are blocks that follow the words, such as buttons.
        """
        message = _as_it_is(words)
        await self._say(request, replace(message, blocks=(*message.blocks, *below)))

    async def _say(self, request: CommandRequest, message: Message) -> None:
        answer_at = request.answer_at
        for attempt in range(TRIES):
            if answer_at:
                outcome = await self._calls.answer(answer_at, message)
            else:
                outcome = await self._calls.post_ephemeral(request.channel, request.user, request.thread_ts, message)
            if isinstance(outcome, Delivered):
                return
            self._log("slack_failed", request=request.key, error=outcome.error)
            if not isinstance(outcome, RetryLater):
                if not answer_at:
                    return
                answer_at = ""
                continue
            await self._pause(attempt, outcome)

    async def tell(self, by: str, channel: str, thread_ts: str, words: str, answer_at: str = "") -> None:
        """Tell a person something that may quote a node: in their channel, else in a direct message.

        People appear by name, and nobody is notified. An answer that cannot be sent is logged.
        """
        user = slack_user(by)
        said = await self.named(redacted_text(words))  # a refusal may quote what a node said
        message = _as_it_is(said)
        if answer_at and isinstance(await self._calls.answer(answer_at, message), Delivered):
            return
        for attempt in range(TRIES):
            outcome = await self._calls.post_ephemeral(channel, user, thread_ts, message) if channel else None
            if isinstance(outcome, Delivered):
                return
            if not isinstance(outcome, RetryLater) or outcome.error in NOT_THERE:
                outcome = await self._calls.post(user, "", message)  # their direct message with the bot
                if isinstance(outcome, Delivered):
                    return
            self._log("slack_failed", ephemeral=user, error=outcome.error)
            await self._pause(attempt, outcome)

    async def named(self, words: str) -> str:
        """Return the words with people's names in place of their ids."""
        if self._people is None:
            return words
        names: dict[str, str] = {}
        for user in dict.fromkeys(_WHO.findall(words)):
            names[user] = await self._people.name(user)
        return _WHO.sub(lambda match: names[match[1]], words)

    async def _pause(self, attempt: int, outcome: Outcome) -> None:
        if attempt < TRIES - 1:
            seconds = outcome.seconds if isinstance(outcome, RetryLater) else 0.0
            await asyncio.sleep(max(seconds, self._timing.first_pause * 2**attempt))


def _as_it_is(words: str) -> Message:
    """A message whose block shows the words literally; its text is for the notification."""
    return Message(clipped(escaped(words), TEXT), (paragraph(clipped(safe(words), SECTION)),))


def refusal_words(no: ZombieError) -> str:
    """Return a refusal for the person who asked: its sentence, what to try, then its name."""
    return f"{no} ({type(no).__name__})"
