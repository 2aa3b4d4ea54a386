"""Earlier counts of nodes, from the record: what a check says about growth is worked out from them."""

from __future__ import annotations

from collections.abc import Mapping

from bot.domain.growth import CountSample
from bot.ledger import Database, ReadingStore


class StoredCounts:
    """Earlier counts of nodes; stores nothing. All methods raise LedgerUnavailable."""

    def __init__(self, database: Database) -> None:
        self._store = ReadingStore(database)
        self._causes: dict[str, list[str]] = {}
        for node, cause in self._store.series.now():
            self._causes.setdefault(node, []).append(cause)

    def looks(self, node: str) -> Mapping[str, tuple[CountSample, ...]]:
        """Return what was counted on a node, by cause."""
        return {cause: self._store.looks.now(node, cause) for cause in self._causes.get(node, ())}
