"""Incidents as they were folded last, so that each new entry costs the same, however long the stream has become.

What is kept is true of the entries up to its own last one, and is used only where that one still stands with its hash.
So it does not matter who appended what came after it, or whether a transaction that was folded was rolled back.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from sqlalchemy import Connection, bindparam, select

from bot.domain.fold import after, fold
from bot.domain.incident import Incident
from bot.ledger.tables import ENTRIES, entry_of, read_stream

MOST_KEPT = 300  # incidents; one that 800 alerts joined takes half a megabyte

_FROM = (
    select(ENTRIES)
    .where(ENTRIES.c.stream == bindparam("named"), ENTRIES.c.seq >= bindparam("first"))
    .order_by(ENTRIES.c.seq)
)


class Folds:
    """Folds streams, each from where it was folded last. Threads may share it."""

    def __init__(self, most_kept: int = MOST_KEPT) -> None:
        self._most_kept = most_kept
        self._kept: OrderedDict[str, Incident] = OrderedDict()
        self._lock = threading.Lock()

    def incident(self, connection: Connection, stream: str) -> Incident | None:
        """Return the incident that a stream's entries tell of; None where it has none.

        Raises: ImpossibleEvent when they tell of none; UnreadableEntry when one of them cannot be read here.
        """
        with self._lock:
            kept = self._kept.get(stream)
        incident = self._carried_on(connection, kept) if kept is not None else None
        if incident is None:
            entries = read_stream(connection, stream)
            incident = fold(entries) if entries else None
        with self._lock:
            self._kept.pop(stream, None)
            if incident is not None:
                self._kept[stream] = incident
                while len(self._kept) > self._most_kept:
                    self._kept.popitem(last=False)
        return incident

    def _carried_on(self, connection: Connection, kept: Incident) -> Incident | None:
        """Fold what came after; None where the last entry that was folded is not there any more."""
        rows = connection.execute(_FROM, {"named": kept.id, "first": kept.seq}).all()
        if not rows or (rows[0].seq, rows[0].hash) != (kept.seq, kept.head):
            return None
        incident = kept
        for entry in map(entry_of, rows[1:]):
            incident = after(incident, entry)
        return incident
