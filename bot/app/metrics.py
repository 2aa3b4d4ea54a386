"""`/metrics`: counters that follow the log, gauges that are read at each scrape, and who may ask."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from bot import __version__
from bot.actions import ACTIONS
from bot.app.json_log import JsonLog
from bot.app.parts import now
from bot.app.policy_settings import rules_of_acting
from bot.app.stores import Stores
from bot.domain.errors import LedgerError
from bot.domain.feedback import scores
from bot.ledger.ledger_counts import LedgerCount, LedgerCounts
from bot.response.diagnosis.progress import Readings
from bot.settings import Settings
from bot.surfaces.metrics import Gauges, IncidentLog, Metrics, Scrape

ReadTally: TypeAlias = Callable[[], Awaitable[LedgerCount]]
SCRAPE_SECONDS = 2.0  # a scraper gives up after ten; counts that are not read by then are left out


class Readiness(Protocol):
    """Knows whether the bot is ready."""

    async def why_not(self) -> str:
        """Return why it is not ready; empty while it is."""
        ...


class Metering:
    """All parts for metrics.

    Shape: `counted` is for the web edge's sources, `incident_log` is a surface of the engine, `scrape` answers
    /metrics.
    """

    def __init__(
        self,
        settings: Settings,
        json_log: JsonLog,
        counts: ReadTally,
        patience: float = SCRAPE_SECONDS,
    ) -> None:
        """`counts` reads the record's counts; marks of a person under two names count once."""
        self.metrics = Metrics(__version__, ACTIONS)
        self.counted = self.metrics.counted
        self.incident_log = IncidentLog(json_log.log, now())
        self.scrape = Scrape(settings.metrics_token, self.exposition)
        self._tallies = counts
        self._patience = patience
        self._policy = rules_of_acting(settings)
        self._counting: asyncio.Future[LedgerCount] | None = None
        self._nodes = 0
        self._readings: Readings | None = None
        self._readiness: Readiness | None = None
        json_log.listen(self.metrics.heard)

    def looks_at(self, nodes: int, readings: Readings, readiness: Readiness) -> None:
        """Set the sources of gauges that are not in the record."""
        self._nodes, self._readings, self._readiness = nodes, readings, readiness

    async def exposition(self, accept: str = "") -> tuple[bytes, str]:
        """Return the present metrics."""
        is_ready, tally = await asyncio.gather(self._is_ready(), self._tally())
        running = self._readings.running if self._readings is not None else 0
        standing = Gauges(is_ready, self._nodes, running)
        if tally is not None:
            standing = Gauges(
                is_ready,
                self._nodes,
                running,
                tally.incidents,
                tally.deliveries_waiting,
                tally.posts_waiting,
                tally.is_braked,
                tally.deliveries_given_up,
                scores(tally.marks, self._policy),
                tally.waves,
            )
        return self.metrics.exposition(standing, accept)

    async def _is_ready(self) -> bool:
        if self._readiness is None:
            return False
        try:
            async with asyncio.timeout(self._patience):
                return not await self._readiness.why_not()
        except TimeoutError:
            return False

    async def _tally(self) -> LedgerCount | None:
        """Count once for all simultaneous scrapes: if the record hangs, scrapes must not pile up."""
        if self._counting is None or self._counting.done():
            self._counting = asyncio.ensure_future(self._tallies())
        try:
            async with asyncio.timeout(self._patience):
                return await asyncio.shield(self._counting)
        except (TimeoutError, LedgerError):
            return None


def metering(settings: Settings, json_log: JsonLog, stores: Stores) -> Metering:
    """Return it for a bot with these stores."""
    counts = LedgerCounts(stores.database)

    async def read() -> LedgerCount:
        return await asyncio.get_running_loop().run_in_executor(stores.threads, counts.read)

    return Metering(settings, json_log, read)
