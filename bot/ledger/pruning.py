"""Pruning removes incidents that ended long ago; `house` keeps their heads, so that an audit still succeeds."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, and_, bindparam, delete, func, or_, select

from bot.domain.contracts import Clock
from bot.domain.entry import Head, instant_of, instant_text
from bot.domain.errors import ImpossibleEvent, UnreadableEntry
from bot.domain.house_events import HOUSE, IncidentsPruned
from bot.domain.incident import Incident
from bot.ledger.database import Database, Store
from bot.ledger.entries import append_entry, head_of
from bot.ledger.incidents import IncidentCache
from bot.ledger.tables import (
    ATTEMPTS,
    CASES,
    DELIVERIES,
    ENTRIES,
    FIRES,
    HOLDS,
    INCIDENTS,
    KEPT_CASES,
    LEASES,
    POSTS,
    WAVES,
)

SHORTEST = timedelta(days=2)  # the guards look back for a day, and sources deliver again for two
_AT_ONCE = 100  # incidents in a transaction, for which every other writer waits; those of one card are not divided

_OLD = (
    select(INCIDENTS.c.id, INCIDENTS.c.group)
    .where(INCIDENTS.c.ended, INCIDENTS.c.updated_at < bindparam("before"))
    .order_by(INCIDENTS.c.opened_at, INCIDENTS.c.id)
)
_MEMBERS = select(INCIDENTS).where(
    or_(INCIDENTS.c.group == bindparam("card"), (INCIDENTS.c.group == "") & (INCIDENTS.c.id == bindparam("card")))
)
_NEWEST = select(INCIDENTS.c.id).order_by(INCIDENTS.c.change.desc()).limit(1)
_OPEN = select(INCIDENTS.c.id).where(~INCIDENTS.c.ended)
_HELD = select(HOLDS.c.incident)
_OF_OPEN_WAVES = select(INCIDENTS.c.id).where(INCIDENTS.c.source_id.in_(select(WAVES.c.id).where(~WAVES.c.ended)))
_UNDOS = select(INCIDENTS.c.id).where(INCIDENTS.c.source_id.like("undo %"))  # what an undo is asked for by
_WAITING = select(POSTS.c.incident).where(POSTS.c.waiting)
_FIRING = select(CASES.c.group).where(CASES.c.over_at == FIRES)
_COUNT = select(func.count()).select_from(ENTRIES).where(ENTRIES.c.stream == bindparam("named"))
_DELIVERED = and_(DELIVERIES.c.done, DELIVERIES.c.kept_at < bindparam("before"))


@dataclass(frozen=True, slots=True)
class Pruned:
    """How much was removed, or would be; `firing` incidents are as old, and stay: no end of their alert was told."""

    incidents: int = 0
    entries: int = 0
    deliveries: int = 0
    firing: int = 0


class Pruner(Store):
    """Removes what is older than its retention; each transaction takes milliseconds."""

    def __init__(self, database: Database, by: str, time: Clock | None = None) -> None:
        """`by` is who removes it, as the record writes people; `time` replaces the database's clock in tests."""
        super().__init__(database, time)
        self._by = by
        self._folds = IncidentCache()

    def prune_incidents(self, kept_for: timedelta, dry_run: bool = False) -> Pruned:
        """Remove incidents that ended, and last changed, longer ago than that.

        Incidents shown together are removed together, or stay: none is removed while another is open or newer. What an
        open incident or wave refers to stays, so does a card whose alert fires, an undo as long as what it undoes, and
        the incident that changed last, whose number programs follow.

        Raises: ValueError when that is less than `SHORTEST`; LedgerUnavailable when the database cannot be used.
        """
        if kept_for < SHORTEST:
            raise ValueError(f"incidents have to be kept for {SHORTEST.days} days at least")
        with self.database.reading() as connection:
            before = instant_text(self.instant(connection) - kept_for)
            old = connection.execute(_OLD, {"before": before})
            sizes = Counter(str(row.group or row.id) for row in old)
        incidents = entries = firing = 0
        for some in _batched_cards(sizes):
            with self.database.reading() if dry_run else self.database.writing() as connection:
                heads, staying = self._prunable(connection, some, before)
                entries += sum(int(connection.execute(_COUNT, {"named": name}).scalar_one()) for name in heads)
                if heads and not dry_run:
                    self._prune(connection, heads, some, before)
            incidents, firing = incidents + len(heads), firing + staying
        return Pruned(incidents, entries, firing=firing)

    def prune_deliveries(self, kept_for: timedelta, dry_run: bool = False) -> Pruned:
        """Forget handled deliveries older than that; raises as `incidents`."""
        if kept_for < SHORTEST:
            raise ValueError(f"deliveries have to be known for {SHORTEST.days} days at least")
        return Pruned(deliveries=forget(self, DELIVERIES, _DELIVERED, kept_for, dry_run))

    def _prunable(self, connection: Connection, cards: Sequence[str], before: str) -> tuple[dict[str, Head], int]:
        """Return the heads of these cards' incidents that may be removed, and how many only their alert keeps.

        Checked again: they may have changed.
        """
        stay = {name for which in (_NEWEST, _HELD, _OF_OPEN_WAVES) for name in connection.execute(which).scalars()}
        # A source repeats an alert that fires: without its card it would be taken for a new one.
        firing = set(connection.execute(_FIRING).scalars())
        waiting = set(connection.execute(_WAITING).scalars())
        for incident in self._readable(connection, _OPEN):
            stay |= {incident.reopens, incident.undoes}
        # An undo is named after what it undoes: while that is on record, another could be given the name once more.
        undos = {incident.id: incident.undoes for incident in self._readable(connection, _UNDOS)}
        undone = select(INCIDENTS.c.id).where(INCIDENTS.c.id.in_(undos.values()))
        known = set(connection.execute(undone).scalars())
        stay |= {name for name, undoes in undos.items() if undoes in known}
        heads: dict[str, Head] = {}
        staying = 0
        for card in cards:
            members = connection.execute(_MEMBERS, {"card": card}).all()
            is_over = all(row.ended and row.updated_at < before for row in members)
            names = {row.id for row in members}
            if is_over and waiting.isdisjoint({card, *names}) and stay.isdisjoint(names):
                if card in firing:
                    staying += len(names)
                else:
                    heads |= {name: head_of(connection, name)[0] for name in names}
        return heads, staying

    def _readable(self, connection: Connection, asked: Select[Any]) -> Iterator[Incident]:
        for name in connection.execute(asked).scalars():
            with contextlib.suppress(ImpossibleEvent, UnreadableEntry):
                if (incident := self._folds.find(connection, name)) is not None:
                    yield incident

    def _prune(self, connection: Connection, heads: dict[str, Head], cards: Sequence[str], before: str) -> None:
        noted = {name: f"{head.seq}:{head.hash}" for name, head in heads.items()}
        pruned, now = IncidentsPruned(noted, instant_of(before)), self.instant(connection)
        append_entry(connection, HOUSE, None, pruned, self._by, instant_text(now))
        groups = select(INCIDENTS.c.group).where(INCIDENTS.c.id.in_(heads), INCIDENTS.c.group != "")
        gone = list(connection.execute(groups.distinct()).scalars())
        with deletions_allowed(connection):
            connection.execute(delete(ENTRIES).where(ENTRIES.c.stream.in_(heads), ENTRIES.c.stream != HOUSE))
        for table, column in (
            (INCIDENTS, INCIDENTS.c.id),
            (ATTEMPTS, ATTEMPTS.c.incident),
            (KEPT_CASES, KEPT_CASES.c.incident),
        ):
            connection.execute(delete(table).where(column.in_(heads)))
        for table, column in ((POSTS, POSTS.c.incident), (LEASES, LEASES.c.group), (CASES, CASES.c.group)):
            connection.execute(delete(table).where(column.in_([*gone, *heads])))


def _batched_cards(sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Yield cards, by their number of incidents, as many at a time as a transaction may remove."""
    some, incidents = list[str](), 0
    for card, size in sizes.items():
        if some and incidents + size > _AT_ONCE:
            yield some
            some, incidents = [], 0
        some.append(card)
        incidents += size
    if some:
        yield some


def forget(store: Store, table: Table, is_old: ColumnElement[bool], kept_for: timedelta, dry_run: bool) -> int:
    """Delete the rows that are old, by the parameter `before`, and return how many; a dry run only counts them."""
    with store.database.reading() if dry_run else store.database.writing() as connection:
        before = {"before": instant_text(store.instant(connection) - kept_for)}
        if dry_run:
            counted = select(func.count()).select_from(table).where(is_old)
            return int(connection.execute(counted, before).scalar_one())
        return connection.execute(delete(table).where(is_old), before).rowcount


@contextlib.contextmanager
def deletions_allowed(connection: Connection) -> Iterator[None]:
    """Disable the trigger that forbids deletions, in this transaction only, and restore it.

    PostgreSQL's lock for it, SHARE ROW EXCLUSIVE, delays no reader.
    """
    if connection.dialect.name == "sqlite":
        kept = "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = 'entries_stay'"
        trigger = connection.exec_driver_sql(kept).scalar_one_or_none()
        connection.exec_driver_sql("DROP TRIGGER IF EXISTS entries_stay")
        yield
        if trigger is not None:
            connection.exec_driver_sql(trigger)
    else:
        connection.exec_driver_sql("ALTER TABLE entries DISABLE TRIGGER USER")
        yield
        connection.exec_driver_sql("ALTER TABLE entries ENABLE TRIGGER USER")
