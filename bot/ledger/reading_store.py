"""Counts on nodes over time, by cause: a number for each look, stored until pruned."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Connection, bindparam, insert, select

from bot.domain.entry import instant_of, instant_text
from bot.domain.growth import CountSample
from bot.ledger.database import Store, on_thread, reads, writes
from bot.ledger.pruning import forget
from bot.ledger.tables import READINGS

MOST_LOOKS = 5_000  # of a node and cause, the latest: half a year of hourly looks

_KEY = (
    READINGS.c.node == bindparam("of_node"),
    READINGS.c.cause == bindparam("of_cause"),
)
_IS_THERE = select(READINGS.c.value).where(*_KEY, READINGS.c.at == bindparam("of_at"))
_LOOKS = select(READINGS).where(*_KEY).order_by(READINGS.c.at.desc()).limit(MOST_LOOKS)
_NODES = select(READINGS.c.node, READINGS.c.cause).distinct().order_by(READINGS.c.node, READINGS.c.cause)
_OLD = READINGS.c.at < bindparam("before")


class ReadingStore(Store):
    """Counts on nodes over time. Raises: every method raises LedgerUnavailable."""

    @writes
    def keep(self, connection: Connection, node: str, cause: str, look: CountSample) -> None:
        """Store a look; storing it again changes nothing."""
        at = instant_text(look.at)
        row = {"node": node, "cause": cause, "at": at, "value": look.value, "boot": look.boot}
        if connection.execute(_IS_THERE, {"of_node": node, "of_cause": cause, "of_at": at}).first() is None:
            connection.execute(insert(READINGS), row)

    @reads
    def looks(self, connection: Connection, node: str, cause: str) -> tuple[CountSample, ...]:
        """Return the latest looks, oldest first."""
        rows = connection.execute(_LOOKS, {"of_node": node, "of_cause": cause}).all()
        return tuple(CountSample(instant_of(row.at), float(row.value), row.boot) for row in reversed(rows))

    @reads
    def series(self, connection: Connection) -> tuple[tuple[str, str], ...]:
        """Return every node and cause with looks."""
        return tuple((row.node, row.cause) for row in connection.execute(_NODES))

    @on_thread
    def forget(self, kept_for: timedelta, dry_run: bool = False) -> int:
        """Forget looks older than that; return how many."""
        return forget(self, READINGS, _OLD, kept_for, dry_run)
