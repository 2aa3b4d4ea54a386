"""Captures in the ledger: entries of `house`, appended as a decision says that sees all of them in one transaction."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from bot.domain.contracts import Clock
from bot.domain.entry import Entry, instant_text, is_author
from bot.domain.house_events import HOUSE
from bot.extras.captures.capture_fold import CaptureDecision, CaptureRecord, RollingCapture, captures_of
from bot.extras.captures.events import KINDS
from bot.ledger import holds
from bot.ledger.database import Database, Store, reads, writes
from bot.ledger.entries import HouseEntries, append_entry


class CaptureStore(Store):
    """The record of captures. Raises: every method raises LedgerUnavailable when the database does not answer."""

    def __init__(self, database: Database, time: Clock | None = None) -> None:
        super().__init__(database, time)
        self._entries = HouseEntries(tuple(KINDS))
        self._folded: tuple[tuple[Entry, ...], Mapping[str, RollingCapture]] = ((), {})

    @reads
    def entries(self, connection: Connection) -> tuple[Entry, ...]:
        """Return every entry of captures, the oldest first."""
        return self._entries.read(connection)

    @reads
    def record(self, connection: Connection) -> CaptureRecord:
        """Return what is on record now."""
        return self._record(connection)

    @writes
    def append(self, connection: Connection, decide: CaptureDecision, by: str) -> tuple[Entry, ...]:
        """Append what `decide` says about the captures on record; whatever it raises appends nothing."""
        if not is_author(by):
            raise ValueError(f"{by!r} cannot be the author of an entry")
        record = self._record(connection)
        now = instant_text(record.now)
        return tuple(append_entry(connection, HOUSE, None, event, by, now) for event in decide(record))

    def _record(self, connection: Connection) -> CaptureRecord:
        entries = self._entries.read(connection)
        of_entries, captures = self._folded
        if entries is not of_entries:  # most reads find nothing new
            captures = captures_of(entries)
            self._folded = (entries, captures)
        return CaptureRecord(captures, holds.brake(connection), self.instant(connection))
