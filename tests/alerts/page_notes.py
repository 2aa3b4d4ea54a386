"""The surface of PagerDuty's notes as a program that has just started has it, with a real outbox."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from bot.ledger import Database, Ledger, Outbox
from bot.surfaces.pagerduty import PARTS, PagerDutySurface
from tests.alerts.pagerduty import Naps, PagerDuty, client
from tests.slack.workspace import SteppedClock


class Log(list[tuple[str, dict[str, Any]]]):
    """What was logged."""

    def __call__(self, event: str, **fields: Any) -> None:
        self.append((event, fields))


@asynccontextmanager
async def surface(
    pagerduty: PagerDuty, database: Database, clock: SteppedClock, log: Log | None = None, **settings: Any
) -> AsyncIterator[PagerDutySurface]:
    """A surface as a program that has just started has it."""
    outbox = Outbox(database, timedelta(seconds=60), parts=PARTS, at_once=1)
    ledger = Ledger(database)
    async with client(pagerduty, naps=Naps(clock)) as asking:
        yield PagerDutySurface(asking, outbox, ledger, clock, log if log is not None else Log(), **settings)
