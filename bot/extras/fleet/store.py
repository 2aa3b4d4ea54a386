"""The last posted digest of each scheduled sweep, so that any program posts only what is new."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, insert, select, update

from bot.ledger.database import Store, reads, writes
from bot.ledger.tables import SWEEPS

_OF = SWEEPS.c.name == bindparam("of_name")


class SweepStore(Store):
    """Stores a text for each sweep. Raises: every method raises LedgerUnavailable."""

    @reads
    def last_digest(self, connection: Connection, name: str) -> str:
        """Return the last posted text; empty if there is none."""
        told = connection.execute(select(SWEEPS.c.told).where(_OF), {"of_name": name}).scalar_one_or_none()
        return str(told or "")

    @writes
    def store_digest(self, connection: Connection, name: str, told: str) -> None:
        """Store the posted text."""
        if not connection.execute(update(SWEEPS).where(_OF).values(told=told), {"of_name": name}).rowcount:
            connection.execute(insert(SWEEPS).values(name=name, told=told))
