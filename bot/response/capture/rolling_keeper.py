"""Looks at every rolling capture once a minute while the bot serves, whichever machine it was started from.

Only one of the programs that share a record looks at a capture: each look is a login, and costs the node some CPU.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bot.domain.contracts import Log, NodeDirectory, Sleep
from bot.domain.errors import ZombieError
from bot.domain.rolling_record import RollingCapture
from bot.domain.safe_text import one_line
from bot.response.capture.look_turns import LookTurns
from bot.response.capture.rolling_watch import RollingNews, RollingWatch

EVERY_SECONDS = 60.0
_LOOKS_FOR = 900.0  # a look that reads many segments is stopped after this, and continued by the next


class HearsNews(Protocol):
    """Is told what each look at a capture found."""

    def news(self, news: RollingNews) -> None:
        """Take note."""


@dataclass(slots=True)
class RollingKeeper:
    """Keeps looking. What it finds is recorded; what it cannot read is logged once for each reason."""

    watch: RollingWatch
    known: NodeDirectory
    turns: LookTurns
    log: Log
    hears: Sequence[HearsNews] = ()
    sleep: Sleep = asyncio.sleep
    _said: dict[str, str] = field(default_factory=dict)

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self.sleep(EVERY_SECONDS)
            await self.once()

    async def once(self) -> None:
        """Look at each capture that is not over and that nobody else looks at, in turn."""
        try:
            captures = await self.watch.control.all()
            ours = [
                rolling for rolling in captures.values() if not rolling.is_over and await self.turns.take(rolling.id)
            ]
        except ZombieError as error:
            self.log("captures_unread", error=one_line(str(error)))
            return
        for rolling in ours:
            await self._look(rolling)

    async def _look(self, rolling: RollingCapture) -> None:
        try:
            async with asyncio.timeout(_LOOKS_FOR):
                news = await self.watch.seen(self.known, rolling)
        except Exception as error:  # noqa: BLE001 - whatever a node answers, the others are looked at
            said = one_line(str(error)) or type(error).__name__
            if self._said.get(rolling.id) != said:
                self.log("capture_unread", capture=rolling.id, node=rolling.node, error=said)
            self._said[rolling.id] = said
            return
        self._said.pop(rolling.id, None)
        for hears in self.hears:
            hears.news(news)
        for caught in news.rolling.caught[len(rolling.caught) :]:
            self.log("capture_caught", capture=rolling.id, node=rolling.node, says=one_line(caught.sentence, 400))
        if news.rolling.ended is not None:
            self.log("capture_ended", capture=rolling.id, node=rolling.node, because=news.rolling.ended.because)
            with contextlib.suppress(ZombieError):  # what is over is looked at by nobody, noted or not
                await self.turns.over(rolling.id)
