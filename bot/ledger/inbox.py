"""The inbox: deliveries of sources are stored before they are acknowledged, until a runner has handled them."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, delete, func, insert, literal_column, select, update
from sqlalchemy.dialects import postgresql

from bot.domain.alert import Delivery
from bot.domain.defaults import DELIVERIES_KNOWN_FOR
from bot.domain.entry import instant_of, instant_text
from bot.domain.errors import UnreadableEntry
from bot.domain.intake_contracts import GivenUpDelivery, StoredDelivery
from bot.domain.json_form import NotOfForm, read, to_json_types
from bot.domain.safe_text import one_line
from bot.ledger.database import DOORS, Store, on_thread, on_thread_of, reads, writes
from bot.ledger.leases import Leases, due_bounds, is_due
from bot.ledger.tables import DELIVERIES

SWEPT_EVERY = timedelta(hours=1)
_SOON = ""  # sorts before every instant
_LOOKED_THROUGH = 1000
_TURN = "~"  # between an id and the number of the delivery after which it was said again
MOST_TOLD = 100  # of what was given up

_OF = (DELIVERIES.c.source == bindparam("of_source"), DELIVERIES.c.id == bindparam("of_id"))
_KNOWN = select(DELIVERIES.c.number).where(*_OF)
_LAST = select(func.coalesce(func.max(DELIVERIES.c.number), 0) + 1)
_LATEST = (
    select(DELIVERIES.c.id, DELIVERIES.c.number)
    .where(DELIVERIES.c.source == bindparam("of_source"), DELIVERIES.c.case == bindparam("of_case"))
    .order_by(DELIVERIES.c.number.desc())
    .limit(1)
)
_INSERT = insert(DELIVERIES)
_ADD = postgresql.insert(DELIVERIES).on_conflict_do_nothing().returning(DELIVERIES.c.id)
_UPDATE = update(DELIVERIES).where(*_OF)
_WAITING = select(DELIVERIES).where(~DELIVERIES.c.done).order_by(DELIVERIES.c.number).limit(_LOOKED_THROUGH)
_COUNT = select(func.count()).select_from(DELIVERIES).where(~DELIVERIES.c.done)
# Written out, because a planner uses a partial index only where it sees the same condition.
GIVEN_UP = and_(DELIVERIES.c.done, DELIVERIES.c.error != literal_column("''"))
_TAKE_UP = delete(DELIVERIES).where(*_OF, GIVEN_UP)
_GIVEN_UP = select(DELIVERIES).where(GIVEN_UP).order_by(DELIVERIES.c.number.desc()).limit(MOST_TOLD)
_OLD = delete(DELIVERIES).where(DELIVERIES.c.done, DELIVERIES.c.kept_at < bindparam("before"))


class Inbox(Store):
    """Deliveries that are stored and not handled yet, as a runner sees them; they survive a restart.

    Shape: `leases` are the runner's, and say which others are alive. `known_for` is how long the id of a handled
    delivery is kept, so that its repetition is known.

    Raises: every method raises LedgerUnavailable when the database does not answer.
    """

    def __init__(self, leases: Leases, known_for: timedelta = DELIVERIES_KNOWN_FOR) -> None:
        super().__init__(leases.database, leases.time)
        self._leases = leases
        self._known_for = known_for
        self._swept_at: datetime | None = None

    @on_thread_of(DOORS)
    def keep(self, delivery: Delivery) -> bool:
        """Store a delivery; False if it is stored already. Once this returns, the delivery survives a restart.

        What says how a whole case stands repeats only the last word about it: A, B, A is news three times. A repetition
        of what was given up is tried like something new.
        """
        body = json.dumps(
            to_json_types(delivery), separators=(",", ":")
        )  # outside the transaction, because it may take long
        row: dict[str, Any] = {
            "source": delivery.source,
            "id": delivery.id,
            "case": delivery.alarm.case if delivery.alarm is not None else delivery.id,
            "body": body,
            "due_at": _SOON,
            "runner": "",
            "attempts": 0,
            "error": "",
            "done": False,
        }
        with self.database.adding() as connection:
            row["kept_at"] = instant_text(self.instant(connection))
            if _add(connection, row):
                return True
            if delivery.alarm is not None and delivery.alarm.whole:  # elsewhere an id names an event
                case = {"of_source": row["source"], "of_case": row["case"]}
                latest = connection.execute(_LATEST, case).one_or_none()
                if latest is not None and latest.id.partition(_TURN)[0] != delivery.id:
                    return _add(connection, row | {"id": f"{delivery.id}{_TURN}{latest.number}"})
                row["id"] = latest.id if latest is not None else delivery.id
            given_up = connection.execute(_TAKE_UP, _delivery_key(row["source"], row["id"])).rowcount
            return bool(given_up) and _add(connection, row)

    @on_thread
    def claim(self, at_once: int, busy: Collection[str] = ()) -> tuple[StoredDelivery, ...]:
        """Take deliveries that no other live runner has, in order of arrival; of each case only the first.

        Shape: `busy` are the keys of deliveries that this runner is handling.
        """
        with self.database.reading() as connection:  # polled often, and mostly empty
            if not self._unclaimed_rows(connection, at_once, busy):
                return ()
        with self.database.writing() as connection:
            found = []
            for row in self._unclaimed_rows(connection, at_once, busy):
                values: dict[str, Any] = {"runner": self._leases.runner}
                try:
                    found.append(_stored_delivery(row))
                except UnreadableEntry as no:  # of another version: it must not block the rest
                    values = {"done": True, "error": one_line(no.sentence)}
                connection.execute(_UPDATE, _delivery_key(row.source, row.id) | values)
        return tuple(found)

    @writes
    def mark_done(self, connection: Connection, delivery: Delivery) -> None:
        """Mark a delivery as handled; its id stays known for some days."""
        values = {"done": True, "runner": "", "body": "", "error": ""}
        connection.execute(_UPDATE, _delivery_key(delivery.source, delivery.id) | values)
        now = self.instant(connection)
        if self._swept_at is None or now - self._swept_at > SWEPT_EVERY:
            connection.execute(_OLD, {"before": instant_text(now - self._known_for)})
            self._swept_at = now

    @writes
    def mark_failed(self, connection: Connection, delivery: Delivery, retry_after: timedelta, error: str) -> None:
        """Mark it as failed, to be tried again after that time; later deliveries of its case wait for it."""
        named = {"of_source": delivery.source, "of_id": delivery.id}
        due_at = instant_text(self.instant(connection) + retry_after)
        tried = connection.execute(select(DELIVERIES.c.attempts).where(*_OF), named).scalar_one_or_none() or 0
        values = {"runner": "", "due_at": due_at, "attempts": tried + 1, "error": one_line(error)}
        connection.execute(_UPDATE, named | values)

    @writes
    def give_up(self, connection: Connection, delivery: Delivery, error: str) -> None:
        """Stop trying it; `given_up` lists it until its id is forgotten."""
        values = {"done": True, "runner": "", "error": one_line(error) or "no reason was given"}
        connection.execute(_UPDATE, _delivery_key(delivery.source, delivery.id) | values)

    @reads
    def given_up(self, connection: Connection) -> tuple[GivenUpDelivery, ...]:
        """Return the deliveries given up in the last days, newest first, a hundred at most."""
        return tuple(map(_given_up, connection.execute(_GIVEN_UP)))

    @reads
    def waiting(self, connection: Connection) -> int:
        """Return how many deliveries are not handled yet."""
        return int(connection.execute(_COUNT).scalar_one())

    def _unclaimed_rows(self, connection: Connection, at_once: int, busy: Collection[str]) -> list[Row[Any]]:
        bounds = due_bounds(self.instant(connection))
        others = self._leases.alive(connection) - {self._leases.runner}
        found: list[Row[Any]] = []
        cases: set[tuple[str, str]] = set()
        for row in connection.execute(_WAITING):
            if (row.source, row.case) in cases:
                continue  # a case's first delivery is handled first
            cases.add((row.source, row.case))
            if is_due(row.due_at, **bounds) and row.runner not in others and f"{row.source}/{row.id}" not in busy:
                found.append(row)
                if len(found) == at_once:
                    break
        return found


def _add(connection: Connection, row: dict[str, Any]) -> bool:
    if connection.dialect.name == "postgresql":
        return connection.execute(_ADD, row).first() is not None
    if connection.execute(_KNOWN, _delivery_key(row["source"], row["id"])).first() is not None:
        return False
    connection.execute(_INSERT, row | {"number": connection.execute(_LAST).scalar_one()})
    return True


def _delivery_key(source: str, delivery: str) -> dict[str, Any]:
    return {"of_source": source, "of_id": delivery}


def _given_up(row: Row[Any]) -> GivenUpDelivery:
    try:
        alarm = _stored_delivery(row).delivery.alarm
    except UnreadableEntry:
        alarm = None
    return GivenUpDelivery(row.source, row.id, row.case, instant_of(row.kept_at), row.error, alarm)


def _stored_delivery(row: Row[Any]) -> StoredDelivery:
    try:
        delivery = replace(read(Delivery, json.loads(row.body)), id=row.id)
        return StoredDelivery(delivery, instant_of(row.kept_at), row.attempts)
    except (ValueError, RecursionError, NotOfForm) as no:
        raise UnreadableEntry(f"Delivery {row.source}/{row.id} is malformed: {no}.") from no
