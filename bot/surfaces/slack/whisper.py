"""Answers that one person alone sees: help, and why something was not done."""

from __future__ import annotations

import asyncio

from bot.domain.contracts import Log
from bot.surfaces.slack.calls import Calls, Later, Stands
from bot.surfaces.slack.message import TEXT, Message, clipped
from bot.surfaces.slack.timing import Timing
from bot.surfaces.slack.wish import Wish

TRIES = 4  # nobody waits for help longer than that


class Whisper:
    """Whispers, at the command's own address where there is one."""

    def __init__(self, calls: Calls, timing: Timing, log: Log) -> None:
        self._calls = calls
        self._timing = timing
        self._log = log

    async def say(self, wish: Wish, text: str) -> None:
        """Say it; what cannot be said is logged."""
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
