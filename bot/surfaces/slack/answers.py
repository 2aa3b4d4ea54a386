"""Answers that only one person sees: help, a refusal by its name, or how things stand."""

from __future__ import annotations

import asyncio
import re

from bot.domain.contracts import Log
from bot.domain.errors import ZombieError
from bot.domain.redaction import redacted_text
from bot.domain.safe_text import safe
from bot.surfaces.slack.calls import Calls, Later, Stands
from bot.surfaces.slack.message import SECTION, TEXT, Message, clipped, escaped, paragraph
from bot.surfaces.slack.people import People
from bot.surfaces.slack.requests import Wish
from bot.surfaces.slack.rich import slack_user
from bot.surfaces.slack.timing import Timing

TRIES = 4  # nobody waits for an answer longer than that
NOT_THERE = frozenset({"user_not_in_channel", "channel_not_found", "not_in_channel", "is_archived"})
_WHO = re.compile(r"(?:slack:)?\b[TE][A-Z0-9]+/([UW][A-Z0-9]+)\b")


class Answers:
    """Tells a person something in private: in the channel where they are, else in their direct message."""

    def __init__(self, calls: Calls, people: People, timing: Timing, log: Log) -> None:
        self._calls = calls
        self._people = people
        self._timing = timing
        self._log = log

    async def tell(self, by: str, channel: str, thread_ts: str, words: str, answer_at: str = "") -> None:
        """Tell it, with people by name and without mentions; what Slack does not take is logged."""
        user = slack_user(by)
        said = await self.named(redacted_text(words))  # a refusal may quote what a node said
        message = Message(clipped(escaped(said), TEXT), (paragraph(clipped(safe(said), SECTION)),))
        if answer_at and isinstance(await self._calls.answer(answer_at, message), Stands):
            return
        for attempt in range(TRIES):
            outcome = await self._calls.whisper(channel, user, thread_ts, message) if channel else None
            if isinstance(outcome, Stands):
                return
            if outcome is None or not isinstance(outcome, Later) or outcome.error in NOT_THERE:
                outcome = await self._calls.post(user, "", message)  # their direct message with the bot
                if isinstance(outcome, Stands):
                    return
            self._log("slack_failed", whisper=user, error=outcome.error)
            if attempt < TRIES - 1:
                seconds = outcome.seconds if isinstance(outcome, Later) else 0.0
                await asyncio.sleep(max(seconds, self._timing.first_pause * 2**attempt))

    async def named(self, words: str) -> str:
        """Return the words with people's names in the place of their ids."""
        names: dict[str, str] = {}
        for found in dict.fromkeys(_WHO.findall(words)):
            names[found] = await self._people.name(found)
        return _WHO.sub(lambda match: names[match[1]], words)


class Whisper:
    """Answers what somebody typed: at the address of their slash command, where there is one."""

    def __init__(self, calls: Calls, timing: Timing, log: Log) -> None:
        self._calls = calls
        self._timing = timing
        self._log = log

    async def say(self, wish: Wish, text: str) -> None:
        """Say it; what Slack does not take is logged."""
        message = Message(clipped(text, TEXT))
        for attempt in range(TRIES):
            if wish.answer_at:
                outcome = await self._calls.answer(wish.answer_at, message)
            else:
                outcome = await self._calls.whisper(wish.channel, wish.user, wish.thread_ts, message)
            if isinstance(outcome, Stands):
                return
            self._log("slack_failed", wish=wish.key, error=outcome.error)
            if not isinstance(outcome, Later):
                return
            if attempt < TRIES - 1:
                await asyncio.sleep(max(outcome.seconds, self._timing.first_pause * 2**attempt))


def refusal_words(no: ZombieError) -> str:
    """Return a refusal for whoever asked: its name, its sentence, and what to try."""
    return f"{type(no).__name__}: {no}"
