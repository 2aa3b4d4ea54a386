"""Looks at every rolling capture once a minute while the bot serves, whichever machine it was started from.

Only one of the programs that share a record looks at a capture: each look is a login, and costs the node some CPU.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.app.while_serving import WhileServing
from bot.chat.context import ChatContext
from bot.domain.contracts import Log, NodeDirectory
from bot.domain.errors import ZombieError
from bot.domain.safe_text import one_line
from bot.extras.captures.capture_fold import RollingCapture
from bot.extras.captures.capture_watch import CaptureLookResult, RollingWatch, rolling_watch
from bot.extras.captures.chat import CaptureChat
from bot.extras.captures.chat_cards import CaptureCards, CaptureClaims

if TYPE_CHECKING:
    from bot.app.bot import Bot

EVERY_SECONDS = 60.0
_LOOKS_FOR = 900.0  # a look that reads many segments is stopped after this, and continued by the next


def serving(bot: Bot) -> CapturePoller:
    """Return what looks at captures while the bot serves."""
    cards = bot.once(capture_cards)
    return CapturePoller(cards.watch, bot.known, cards.turns, bot.log, cards.news)


def chat(bot: Bot, context: ChatContext) -> CaptureChat:
    """Return what takes clicks on captures' cards, and what people type about captures."""
    return CaptureChat(context, bot.once(capture_cards), bot.known)


def capture_cards(bot: Bot) -> CaptureCards:
    """Return what shows captures in a chat."""
    stores = bot.stores
    watch = rolling_watch(bot.settings, stores.database, bot.environment, stores.case_store, bot.log)
    return CaptureCards(bot, watch, CaptureClaims(stores.chat_requests))


@dataclass(slots=True)
class CapturePoller(WhileServing):
    """Keeps looking. What it finds is recorded, and told to `hears`; what it cannot read is logged once a reason."""

    watch: RollingWatch
    known: NodeDirectory
    turns: CaptureClaims
    log: Log
    hears: Callable[[CaptureLookResult], Awaitable[object]] | None = None
    _said: dict[str, str] = field(default_factory=dict)  # why the last turn of a capture failed
    named, every, failed = "captures", EVERY_SECONDS, "captures_failed"

    async def stop(self) -> None:
        """End; what was seen by then is on record."""
        await WhileServing.stop(self)
        await self.watch.finish()

    async def turn(self) -> None:
        """Look at each capture that nobody else looks at, in turn, until it was told that it is over."""
        captures = (await self.watch.control.all()).values()
        for rolling in list(captures):
            if rolling.id in self._said or await self.turns.take(rolling.id, rolling.is_over):
                await self._look_at(rolling)

    async def _look_at(self, rolling: RollingCapture) -> None:
        try:
            async with asyncio.timeout(_LOOKS_FOR):
                news = await self.watch.look_or_give_up(self.known, rolling)
        except Exception as error:  # noqa: BLE001 - whatever a node answers, the others are looked at
            said = self._failed("capture_unread", rolling, error)
            with contextlib.suppress(Exception):
                await self._tell(await self.watch.note_away(rolling, said))
            return
        for caught in (each for each in news.rolling.caught if each not in rolling.caught):
            self.log("capture_caught", capture=rolling.id, node=rolling.node, says=one_line(caught.sentence, 400))
        if news.rolling.ended is not None:
            self.log("capture_ended", capture=rolling.id, node=rolling.node, because=news.rolling.ended.because)
        try:
            await self._tell(news)
        except Exception as error:  # noqa: BLE001 - the look was good, and the next turn tells it
            self._failed("capture_untold", rolling, error)
            return
        self._said.pop(rolling.id, None)
        if news.rolling.is_over:
            with contextlib.suppress(ZombieError):  # what is over is looked at by nobody, noted or not
                await self.turns.release_capture(rolling.id)

    def _failed(self, event: str, rolling: RollingCapture, error: Exception) -> str:
        """Log why, once a reason, and return it."""
        said = one_line(str(error)) or type(error).__name__
        if self._said.get(rolling.id) != said:
            self.log(event, capture=rolling.id, node=rolling.node, error=said)
        self._said[rolling.id] = said
        return said

    async def _tell(self, news: CaptureLookResult) -> None:
        if self.hears is not None:
            await self.hears(news)
