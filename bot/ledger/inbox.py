"""The inbox: what sources brought, durable before it is answered, until some runner has seen to it."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql

from bot.domain.alarm import Delivery
from bot.domain.alarm_contracts import KeptDelivery
from bot.domain.contracts import Clock
from bot.domain.entry import instant_of, instant_text
from bot.domain.errors import UnreadableEntry
from bot.domain.json_form import NotOfForm, plain, read
from bot.domain.safe_text import one_line
from bot.ledger.database import Database
from bot.ledger.leases import SILENT, Leases, live
from bot.ledger.tables import DELIVERIES

KNOWN_FOR = timedelta(days=7)  # PagerDuty tries for two; a repetition after that would be a new delivery
SWEPT_EVERY = timedelta(hours=1)
_SOON = ""  # sorts before every instant
_LOOKED_THROUGH = 1000

_OF = (DELIVERIES.c.source == bindparam("of_source"), DELIVERIES.c.id == bindparam("of_id"))
_KNOWN = select(DELIVERIES.c.number).where(*_OF)
_LAST = select(func.coalesce(func.max(DELIVERIES.c.number), 0) + 1)
_INSERT = insert(DELIVERIES)
_ADD = postgresql.insert(DELIVERIES).on_conflict_do_nothing().returning(DELIVERIES.c.id)
_UPDATE = update(DELIVERIES).where(*_OF)
_WAITING = select(DELIVERIES).where(~DELIVERIES.c.done).order_by(DELIVERIES.c.number).limit(_LOOKED_THROUGH)
_COUNT = select(func.count()).select_from(DELIVERIES).where(~DELIVERIES.c.done)
_OLD = delete(DELIVERIES).where(DELIVERIES.c.done, DELIVERIES.c.kept_at < bindparam("before"))


class Inbox:
    """One runner's view, each verb one transaction that blocks its thread; what each promises stands in its contract.

    Shape: `time` stands in for the database's own, where the whole run has a clock that is handed in.
    """

    def __init__(
        self,
        database: Database,
        runner: str,
        silent: timedelta = SILENT,
        time: Clock | None = None,
        leases: Leases | None = None,
    ) -> None:
        """`leases`: who is alive is seen as they see it; without them whoever was heard of lately."""
        self._database = database
        self._runner = runner
        self._silent = silent
        self._time = time
        self._leases = leases
        self._swept_at: datetime | None = None

    def keep(self, delivery: Delivery) -> bool:
        """Keep a delivery; False where it is known already."""
        body = json.dumps(plain(delivery), separators=(",", ":"))  # outside the transaction, for it may be long
        row: dict[str, Any] = {
            "source": delivery.source.value,
            "id": delivery.id,
            "case": delivery.alarm.case if delivery.alarm is not None else delivery.id,
            "body": body,
            "due_at": _SOON,
            "runner": "",
            "attempts": 0,
            "error": "",
            "done": False,
        }
        with self._database.adding() as connection:
            row["kept_at"] = instant_text(self._now(connection))
            if connection.dialect.name == "postgresql":
                return connection.execute(_ADD, row).first() is not None
            if connection.execute(_KNOWN, _named(row["source"], row["id"])).first() is not None:
                return False
            row["number"] = connection.execute(_LAST).scalar_one()
            connection.execute(_INSERT, row)
        return True

    def claim(self, at_once: int, busy: Collection[str] = ()) -> tuple[KeptDelivery, ...]:
        """Take what no other live runner sees to, in the order in which it came; of one case only what came first."""
        with self._database.reading() as connection:  # asked often, and nearly always there is nothing
            if not self._free(connection, at_once, busy):
                return ()
        with self._database.writing() as connection:
            found = []
            for row in self._free(connection, at_once, busy):
                values: dict[str, Any] = {"runner": self._runner}
                try:
                    found.append(_kept(row))
                except UnreadableEntry as no:  # another version's: it must not stand in the way of the rest
                    values = {"done": True, "error": one_line(no.sentence)}
                connection.execute(_UPDATE, _named(row.source, row.id) | values)
        return tuple(found)

    def done(self, delivery: Delivery) -> None:
        """Say that a delivery is seen to; its id stays known for some days."""
        with self._database.writing() as connection:
            values = {"done": True, "runner": "", "body": "", "error": ""}
            connection.execute(_UPDATE, _named(delivery.source.value, delivery.id) | values)
            now = self._now(connection)
            if self._swept_at is None or now - self._swept_at > SWEPT_EVERY:
                connection.execute(_OLD, {"before": instant_text(now - KNOWN_FOR)})
                self._swept_at = now

    def failed(self, delivery: Delivery, retry_after: timedelta, error: str) -> None:
        """Say that it could not be seen to, and when to try again."""
        named = {"of_source": delivery.source.value, "of_id": delivery.id}
        with self._database.writing() as connection:
            due_at = instant_text(self._now(connection) + retry_after)
            tried = connection.execute(select(DELIVERIES.c.attempts).where(*_OF), named).scalar_one_or_none() or 0
            values = {"runner": "", "due_at": due_at, "attempts": tried + 1, "error": one_line(error)}
            connection.execute(_UPDATE, named | values)

    def waiting(self) -> int:
        """Return how many deliveries are not seen to yet."""
        with self._database.reading() as connection:
            return int(connection.execute(_COUNT).scalar_one())

    def _free(self, connection: Connection, at_once: int, busy: Collection[str]) -> list[Row[Any]]:
        now = self._now(connection)
        alive = live(connection, now, self._silent) if self._leases is None else self._leases.alive(connection)
        others, text = {*alive} - {self._runner}, instant_text(now)
        found: list[Row[Any]] = []
        cases: set[tuple[str, str]] = set()
        for row in connection.execute(_WAITING):
            if (row.source, row.case) in cases:
                continue  # what came first for a case is seen to first
            cases.add((row.source, row.case))
            if row.due_at <= text and row.runner not in others and f"{row.source}/{row.id}" not in busy:
                found.append(row)
                if len(found) == at_once:
                    break
        return found

    def _now(self, connection: Connection) -> datetime:
        return self._time() if self._time is not None else instant_of(self._database.now(connection))


def _named(source: str, delivery: str) -> dict[str, Any]:
    return {"of_source": source, "of_id": delivery}


def _kept(row: Row[Any]) -> KeptDelivery:
    try:
        return KeptDelivery(read(Delivery, json.loads(row.body)), instant_of(row.kept_at), row.attempts)
    except (ValueError, RecursionError, NotOfForm) as no:
        raise UnreadableEntry(f"Delivery {row.source}/{row.id} is malformed: {no}.") from no
