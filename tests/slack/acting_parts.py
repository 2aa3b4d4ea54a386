"""A world in which time runs fast, and a ledger that can be taken away."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.domain.errors import LedgerUnavailable

FASTER = 60  # times as fast as the real clock


class FastWorld:
    """A world in which a minute takes a second, and nothing goes wrong by itself."""

    def __init__(self) -> None:
        self.began_at = datetime.now(UTC)
        self.random = random.Random(1)
        self.due: list[Any] = []
        self.later = timedelta(0)
        self.looking = asyncio.Event()  # nodes answer while it is set
        self.looking.set()

    @property
    def now(self) -> datetime:
        return self.began_at + (datetime.now(UTC) - self.began_at) * FASTER + self.later

    def clock(self) -> datetime:
        return self.now

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / FASTER)

    async def boundary(self) -> None:
        await self.looking.wait()

    def chance(self, share: float) -> bool:
        return False


class Gone:
    """A ledger or an outbox that can be taken away for a while."""

    def __init__(self, inner: Any) -> None:
        self.is_gone = False
        self.is_gone_for = ""  # one verb
        self._inner = inner

    def __getattr__(self, verb: str) -> Any:
        async def fails(*_: object, **__: object) -> None:
            raise LedgerUnavailable("The database is locked.")

        return fails if self.is_gone or verb == self.is_gone_for else getattr(self._inner, verb)
