"""Counts for the metrics, read in a single transaction; incidents are counted again only after a change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlalchemy import Connection, func, select

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


@dataclass(frozen=True, slots=True)
class LedgerCount:
    """The counts at a moment; `incidents` by (state, cause), with an empty cause for none."""

    incidents: Mapping[tuple[str, str], int]
    deliveries_waiting: int
    deliveries_given_up: int
    posts_waiting: int
    is_braked: bool
    of_extras: Gauged = field(default_factory=dict)


class LedgerCounts(Store):
    """Counts, and caches the counts of incidents until an incident changes; extras count in the same transaction."""

    def __init__(self, database: Database, of_extras: Sequence[Callable[[Connection], Gauged]] = ()) -> None:
        super().__init__(database)
        self._of_extras = of_extras
        self._counted_at = -1
        self._incidents: Mapping[tuple[str, str], int] = {}

    @reads
    def read(self, connection: Connection) -> LedgerCount:
        """Count.

        Raises: LedgerUnavailable when the database cannot be read.
        """
        change = int(connection.execute(_LAST_CHANGE).scalar_one())
        if change != self._counted_at:
            rows = connection.execute(_INCIDENTS)
            self._incidents, self._counted_at = {(str(row[0]), str(row[1])): int(row[2]) for row in rows}, change
        return LedgerCount(
            self._incidents,
            int(connection.execute(_DELIVERIES).scalar_one()),
            int(connection.execute(_GIVEN_UP).scalar_one()),
            int(connection.execute(_POSTS).scalar_one()),
            holds.brake(connection) is not None,
            {name: values for read in self._of_extras for name, values in read(connection).items()},
        )
