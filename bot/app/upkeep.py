"""What the bot does in a chat at intervals."""

from __future__ import annotations

from dataclasses import dataclass

from bot.app.factories import now
from bot.chat.cards import ChatCards
from bot.chat.decisions import Decisions
from bot.chat.poster import Poster
from bot.domain.contracts import Log
from bot.engine import Engine
from bot.response.repeating import repeat


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Posts what the outbox still holds, continues orphaned decisions and storms, and reminds of waiting plans.

    Units: `every` is in seconds.
    """

    decisions: Decisions
    cards: ChatCards
    engine: Engine
    poster: Poster
    log: Log
    every: float

    async def run(self) -> None:
        """Do so until cancelled."""
        await repeat(self.do_once, self.every, self.log, "upkeep_failed")

    async def do_once(self) -> None:
        """Do so once. Raises: LedgerError."""
        await self.decisions.resume_unfinished()
        await self.cards.resume_storms()
        await self.cards.remind(now(), self.engine.mine)
        if posts := await self.poster.sweep():
            self.log("taken_up", posts=posts)
