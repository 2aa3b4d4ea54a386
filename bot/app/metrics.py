"""`/metrics`: counters that follow the log, gauges that are read at each scrape, and who may ask."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from bot.actions import ACTIONS
from bot.app.factories import now
from bot.app.json_log import JsonLog
from bot.app.stores import Stores
from bot.app.version import version
from bot.domain.errors import LedgerError
from bot.ledger.ledger_counts import Gauged, LedgerCounts
from bot.response.diagnosis.progress import Readings
from bot.seats import Counts
from bot.settings import Settings
from bot.surfaces.metrics import IncidentLog, Metrics, Scrape

ReadTally: TypeAlias = Callable[[], Awaitable[Gauged]]
NotReadyReason: TypeAlias = Callable[[], Awaitable[str]]  # why the bot is not ready; empty while it is
SCRAPE_SECONDS = 2.0  # a scraper gives up after ten; counts that are not read by then are left out


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
        of_extras: Sequence[Counts] = (),
    ) -> None:
        """`counts` reads the record's counts, those `of_extras` too."""
        self.metrics = Metrics(
            version(), ACTIONS, {name: says for each in of_extras for name, says in each.gauges.items()}
        )
        self.counted = self.metrics.counted
        self.incident_log = IncidentLog(json_log.log, now())
        self.scrape = Scrape(settings.metrics_token, self.exposition)
        self._tallies = counts
        self._patience = patience
        self._counting: asyncio.Future[Gauged] | None = None
        self._nodes = 0
        self._readings: Readings | None = None
        self._not_ready_reason: NotReadyReason | None = None
        json_log.listen(self.metrics.heard)

    def set_sources(self, nodes: int, readings: Readings, not_ready_reason: NotReadyReason) -> None:
        """Set the sources of gauges that are not in the record."""
        self._nodes, self._readings, self._not_ready_reason = nodes, readings, not_ready_reason

    async def exposition(self, accept: str = "") -> tuple[bytes, str]:
        """Return the present metrics."""
        is_ready, tally = await asyncio.gather(self._is_ready(), self._ledger_count())
        running = self._readings.running if self._readings is not None else 0
        ours = {"ready": is_ready, "nodes": self._nodes, "readings_running": running, "ledger_up": tally is not None}
        now: Gauged = {f"zombie_{name}": {(): float(figure)} for name, figure in ours.items()}
        return self.metrics.exposition({**now, **(tally or {})}, accept)

    async def _is_ready(self) -> bool:
        if self._not_ready_reason is None:
            return False
        try:
            async with asyncio.timeout(self._patience):
                return not await self._not_ready_reason()
        except TimeoutError:
            return False

    async def _ledger_count(self) -> Gauged | None:
        """Count once for all simultaneous scrapes: if the record hangs, scrapes must not pile up."""
        if self._counting is None or self._counting.done():
            self._counting = asyncio.ensure_future(self._tallies())
        try:
            async with asyncio.timeout(self._patience):
                return await asyncio.shield(self._counting)
        except (TimeoutError, LedgerError):
            return None


def metering(settings: Settings, json_log: JsonLog, stores: Stores, of_extras: Sequence[Counts] = ()) -> Metering:
    """Return it for a bot with these stores; extras count, too."""
    counts = LedgerCounts(stores.database, [each.read for each in of_extras])
    return Metering(settings, json_log, counts.read, of_extras=of_extras)
