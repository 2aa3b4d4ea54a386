"""Who is on call by a schedule of PagerDuty, asked at most once a minute, with a short limit."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from bot.domain.contracts import Seconds
from bot.domain.errors import PagerDutyFailed
from bot.domain.pagerduty import OnCall
from bot.domain.safe_text import one_line
from bot.sources.pagerduty_client import PagerDutyClient

REMEMBERED_SECONDS = 60.0
ANSWER_SECONDS = 3.0  # a card waits for it
SAID = 120


@dataclass(slots=True)
class OnCallNow:
    """Reads a schedule; a failure is cached for a minute too. `clock` is in monotonic seconds."""

    reader: PagerDutyClient
    schedule: str
    clock: Seconds
    _known: tuple[float, OnCall] | None = None
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def read(self) -> OnCall:
        """Return who is on call now, or why that is not known."""
        async with self._turn:  # all who waited get the first answer
            if self._known is None or self.clock() - self._known[0] > REMEMBERED_SECONDS:
                self._known = (self.clock(), await self._ask_pagerduty())
            return self._known[1]

    async def _ask_pagerduty(self) -> OnCall:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self.reader.on_call(self.schedule)
        except TimeoutError:
            return OnCall(unread=f"PagerDuty did not answer within {ANSWER_SECONDS:g} s.")
        except PagerDutyFailed as error:
            return OnCall(unread=one_line(error.sentence, SAID))
