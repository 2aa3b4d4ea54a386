"""What the bot does in Slack at intervals, and the posts of its scheduled sweeps."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from bot.app.parts import now
from bot.domain.contracts import Log
from bot.domain.errors import LedgerError
from bot.engine import Engine
from bot.response.fleet.scheduled import Digest, ScheduledSweep
from bot.surfaces.slack.parts import CARD, MessageTarget
from bot.surfaces.slack.poster import Poster
from bot.surfaces.slack.surface import SlackSurface
from bot.surfaces.slack.sweep_card import digest_card
from bot.surfaces.slack.view_submissions import ViewSubmissions


async def post_digest(poster: Poster, key: str, sweep: ScheduledSweep, found: Digest) -> None:
    """Post the digest of a scheduled sweep, once for each `key`."""
    await poster.enqueue(key, CARD, MessageTarget(sweep.channel), digest_card(sweep, found))
    poster.finished(key)


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Posts what the outbox still holds, continues orphaned decisions, and reminds of waiting plans.

    Units: `every` is in seconds.
    """

    submissions: ViewSubmissions
    surface: SlackSurface
    engine: Engine
    poster: Poster
    log: Log
    every: float

    async def run(self) -> None:
        """Do so until cancelled."""
        while True:
            try:
                await self.submissions.carry_on()
                await self.surface.remind(now(), self.engine.mine)
                await self.surface.tick(now(), self.engine.mine)
                if posts := await self.poster.sweep():
                    self.log("taken_up", posts=posts)
            except LedgerError as error:
                self.log("ledger_unavailable", error=str(error))
            await asyncio.sleep(self.every)
