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
    _said: dict[str, str] = field(default_factory=dict)
    named, every, failed = "captures", EVERY_SECONDS, "captures_failed"

    async def turn(self) -> None:
        """Look at each capture that nobody else looks at, in turn, until it was told that it is over."""
        captures = (await self.watch.control.all()).values()
        for rolling in [rolling for rolling in captures if await self.turns.take(rolling.id, rolling.is_over)]:
            await self._look_at(rolling)

    async def _look_at(self, rolling: RollingCapture) -> None:
        try:
            async with asyncio.timeout(_LOOKS_FOR):
                news = await self.watch.look_or_give_up(self.known, rolling)
            await self._tell(news)
        except Exception as error:  # noqa: BLE001 - whatever a node answers, the others are looked at
            said = one_line(str(error)) or type(error).__name__
            if self._said.get(rolling.id) != said:
                self.log("capture_unread", capture=rolling.id, node=rolling.node, error=said)
            self._said[rolling.id] = said
            with contextlib.suppress(Exception):  # it may be the telling that failed
                await self._tell(await self.watch.note_away(rolling, said))
            return
        self._said.pop(rolling.id, None)
        for caught in news.rolling.caught[len(rolling.caught) :]:
            self.log("capture_caught", capture=rolling.id, node=rolling.node, says=one_line(caught.sentence, 400))
        if news.rolling.ended is not None:
            self.log("capture_ended", capture=rolling.id, node=rolling.node, because=news.rolling.ended.because)
            with contextlib.suppress(ZombieError):  # what is over is looked at by nobody, noted or not
                await self.turns.release_capture(rolling.id)

    async def _tell(self, news: CaptureLookResult) -> None:
        if self.hears is not None:
            await self.hears(news)
