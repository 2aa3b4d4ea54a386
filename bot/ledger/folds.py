"""A cache of folded incidents, so that each new entry costs the same, however long the stream is.

A cached incident covers the entries up to its last entry, and is used only while that entry has the same hash.
So it does not matter who appended later entries, or whether a folded transaction was rolled back.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from sqlalchemy import Connection, bindparam, select

from bot.domain.fold import after, fold
from bot.domain.incident import Incident
from bot.ledger.tables import ENTRIES, entry_of, read_stream

MOST_KEPT = 300  # incidents; an incident with 800 alerts takes half a megabyte

_FROM = (
    select(ENTRIES)
    .where(ENTRIES.c.stream == bindparam("named"), ENTRIES.c.seq >= bindparam("first"))
    .order_by(ENTRIES.c.seq)
)


class Folds:
    """Folds streams, each from where it last ended. Threads may share it."""

    def __init__(self, most_kept: int = MOST_KEPT) -> None:
        self._most_kept = most_kept
        self._kept: OrderedDict[str, Incident] = OrderedDict()
        self._lock = threading.Lock()

    def incident(self, connection: Connection, stream: str) -> Incident | None:
        """Return a stream's incident; None where it has no entries.

        Raises: ImpossibleEvent when they form no incident; UnreadableEntry when an entry cannot be read here.
        """
        with self._lock:
            kept = self._kept.get(stream)
        incident = self._folded_further(connection, kept) if kept is not None else None
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

    def _folded_further(self, connection: Connection, kept: Incident) -> Incident | None:
        """Fold the later entries; None where the last folded entry is gone."""
        rows = connection.execute(_FROM, {"named": kept.id, "first": kept.seq}).all()
        if not rows or (rows[0].seq, rows[0].hash) != (kept.seq, kept.head):
            return None
        incident = kept
        for entry in map(entry_of, rows[1:]):
            incident = after(incident, entry)
        return incident
