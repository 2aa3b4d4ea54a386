"""Captures in the ledger: entries of `house`, appended as a decision says that sees all of them in one transaction."""

from __future__ import annotations

from sqlalchemy import Connection

from bot.domain.contracts import Clock
from bot.domain.entry import Entry, instant_text, is_author
from bot.domain.house_events import HOUSE
from bot.extras.captures.events import KINDS
from bot.extras.captures.record import CaptureDecision, CaptureRecord, captures_of
from bot.ledger import holds
from bot.ledger.database import Database
from bot.ledger.entries import HouseEntries, append_entry


class CaptureStore:
    """Reads and appends what is on record about captures. Each method is a blocking transaction.

    Shape: `time` replaces the database's clock in tests.
    """

    def __init__(self, database: Database, time: Clock | None = None) -> None:
        self._database = database
        self._time = time
        self._entries = HouseEntries(tuple(KINDS))

    def entries(self) -> tuple[Entry, ...]:
        """Return every entry of captures, the oldest first."""
        with self._database.reading() as connection:
            return self._entries.read(connection)

    def record(self) -> CaptureRecord:
        """Return what is on record now."""
        with self._database.reading() as connection:
            return self._record(connection)

    def append(self, decide: CaptureDecision, by: str) -> tuple[Entry, ...]:
        """Append what `decide` says about the captures on record, which it reads in the transaction that appends.

        Raises: whatever `decide` raises; then nothing is appended.
        """
        if not is_author(by):
            raise ValueError(f"{by!r} cannot be the author of an entry")
        with self._database.writing() as connection:
            record = self._record(connection)
            now = instant_text(record.now)
            return tuple(append_entry(connection, HOUSE, None, event, by, now) for event in decide(record))

    def _record(self, connection: Connection) -> CaptureRecord:
        captures = captures_of(self._entries.read(connection))
        return CaptureRecord(captures, holds.brake(connection), self._database.instant(connection, self._time))
