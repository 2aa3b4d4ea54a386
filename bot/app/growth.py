"""How fast leaks grow on each node with counts in the record."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from fnmatch import fnmatchcase

from bot.causes import CAUSES
from bot.domain.errors import ImpossibleEvent, UnreadableEntry, UsageError
from bot.domain.growth import CountSample, Growth, growth
from bot.domain.nearest import did_you_mean
from bot.domain.safe_text import one_line
from bot.ledger import Database, Ledger, ReadingStore


def grown(
    database: Database, words: Sequence[str], meant: Mapping[str, Collection[str]] | None = None
) -> tuple[tuple[str, Growth], ...]:
    """Return each node that a word matches, by name or glob, with its growth; the nearest to harm comes first.

    Shape: `meant` are the nodes of words that only an inventory or a cluster can tell, such as labels. The harm is from
    the node's last verdict, where it named any.
    Raises: UsageError where a word matches none; LedgerUnavailable.
    """
    store = ReadingStore(database)
    series = [(node, cause) for node, cause in store.series() if cause in CAUSES]
    nodes = sorted({node for node, _ in series})

    def matches(node: str, word: str) -> bool:
        return node in meant[word] if meant is not None and word in meant else fnmatchcase(node, word)

    for word in words:
        if not any(matches(node, word) for node in nodes):
            raise UsageError(f"There are no counts of “{one_line(word, 60)}”.", did_you_mean(word, nodes))
    ledger, found = Ledger(database), list[tuple[str, Growth]]()
    for node, cause in series:
        grows = CAUSES[cause].grows
        if grows is None or (words and not any(matches(node, word) for word in words)):
            continue
        last = _last(ledger, node, cause)
        trend = growth(cause, grows, store.looks(node, cause), last.harm if last is not None else None)
        if trend is not None:
            found.append((node, trend))
    return tuple(sorted(found, key=_nearness))


class KeptCounts:
    """Earlier counts of nodes, from the record; stores nothing. All methods raise LedgerUnavailable."""

    def __init__(self, database: Database) -> None:
        self._store = ReadingStore(database)
        self._causes: dict[str, list[str]] = {}
        for node, cause in self._store.series():
            self._causes.setdefault(node, []).append(cause)

    def looks(self, node: str) -> Mapping[str, tuple[CountSample, ...]]:
        """Return what was counted on a node, by cause."""
        return {cause: self._store.looks(node, cause) for cause in self._causes.get(node, ())}


def _last(ledger: Ledger, node: str, cause: str) -> Growth | None:
    """What the node's latest incidents said about its growth."""
    for summary in ledger.incidents(node=node)[:10]:
        try:
            incident = ledger.incident(summary.id)
        except (ImpossibleEvent, UnreadableEntry):
            continue
        trend = incident.triage.growth if incident is not None and incident.triage is not None else None
        if trend is not None and trend.cause == cause:
            return trend
    return None


def _nearness(pair: tuple[str, Growth]) -> tuple[bool, timedelta, float]:
    node_growth = pair[1]
    times = node_growth.harm_in
    return not node_growth.is_harmful, times[1] if times else timedelta.max, -node_growth.per_hour
