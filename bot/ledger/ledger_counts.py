"""Gauges of the record, read in a single transaction; incidents are counted again only after a change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from sqlalchemy import Connection, func, select

from bot.domain.transitions import State
from bot.ledger import holds
from bot.ledger.database import Database, Store, reads
from bot.ledger.inbox import GIVEN_UP
from bot.ledger.tables import DELIVERIES, INCIDENTS, POSTS

_LAST_CHANGE = select(func.coalesce(func.max(INCIDENTS.c.change), 0))  # by an index
_INCIDENTS = select(INCIDENTS.c.state, func.coalesce(INCIDENTS.c.cause, ""), func.count()).group_by(
    INCIDENTS.c.state, INCIDENTS.c.cause
)
_DELIVERIES = select(func.count()).select_from(DELIVERIES).where(~DELIVERIES.c.done)
_GIVEN_UP = select(func.count()).select_from(DELIVERIES).where(GIVEN_UP)  # by an index
_POSTS = select(func.count()).select_from(POSTS).where(POSTS.c.waiting)

Gauged: TypeAlias = Mapping[str, Mapping[tuple[str, ...], float]]  # by gauge, and by the values of its labels
OF_RECORD: Mapping[str, tuple[str, tuple[str, ...]]] = {  # what each says, and its labels
    "zombie_brake": ("1 while the brake is on and nothing begins.", ()),
    "zombie_incidents": ("Incidents on record by state.", ("state",)),
    "zombie_incidents_by_cause": ("Incidents on record by cause and state.", ("cause", "state")),
    "zombie_queue_depth": ("Deliveries of sources that are stored and not handled yet.", ()),
    "zombie_deliveries_given_up": ("Deliveries of the last days that were given up.", ()),
    "zombie_posts_waiting": ("Cards, details and notes that wait to be sent.", ()),
}


class LedgerCounts(Store):
    """Reads the gauges `OF_RECORD`, and those of extras in the same transaction."""

    def __init__(self, database: Database, of_extras: Sequence[Callable[[Connection], Gauged]] = ()) -> None:
        super().__init__(database)
        self._of_extras = of_extras
        self._counted_at = -1
        self._incidents: Gauged = {}

    @reads
    def read(self, connection: Connection) -> Gauged:
        """Count.

        Raises: LedgerUnavailable when the database cannot be read.
        """
        change = int(connection.execute(_LAST_CHANGE).scalar_one())
        if change != self._counted_at:
            self._incidents, self._counted_at = _count_incidents(connection), change
        found: dict[str, Mapping[tuple[str, ...], float]] = {
            **self._incidents,
            "zombie_brake": {(): float(holds.brake(connection) is not None)},
            "zombie_queue_depth": {(): connection.execute(_DELIVERIES).scalar_one()},
            "zombie_deliveries_given_up": {(): connection.execute(_GIVEN_UP).scalar_one()},
            "zombie_posts_waiting": {(): connection.execute(_POSTS).scalar_one()},
        }
        for read in self._of_extras:
            found |= read(connection)
        return found


def _count_incidents(connection: Connection) -> Gauged:
    found = {(str(state), str(cause)): int(count) for state, cause, count in connection.execute(_INCIDENTS)}
    by_state: Mapping[tuple[str, ...], float] = {
        (state.value,): sum(count for (name, _), count in found.items() if name == state.value) for state in State
    }
    by_cause: Mapping[tuple[str, ...], float] = {
        (cause, state): count for (state, cause), count in found.items() if cause
    }
    return {"zombie_incidents": by_state, "zombie_incidents_by_cause": by_cause}
