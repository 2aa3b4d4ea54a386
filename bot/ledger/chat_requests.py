"""Requests in a chat: each delivery is noted before it is handled, so that a repetition does nothing."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update
from sqlalchemy.dialects import postgresql

from bot.domain.chat_request import ChatRequest
from bot.domain.entry import instant_of, instant_text
from bot.ledger.database import DOORS, Store, on_thread, on_thread_of, reads
from bot.ledger.leases import LONG_AGO, Leases
from bot.ledger.tables import CHAT_REQUESTS

KNOWN_FOR = timedelta(days=32)  # longer than the slot of the rarest sweep, and far longer than Slack repeats anything
SWEPT_EVERY = timedelta(hours=1)

_OF = CHAT_REQUESTS.c.id == bindparam("of_id")
_KNOWN = select(CHAT_REQUESTS).where(_OF)
_INSERT = insert(CHAT_REQUESTS)
_ADD = postgresql.insert(CHAT_REQUESTS).on_conflict_do_nothing().returning(CHAT_REQUESTS.c.id)
_TAKE = update(CHAT_REQUESTS).where(_OF, ~CHAT_REQUESTS.c.done, CHAT_REQUESTS.c.runner == bindparam("of_runner"))
_DONE = update(CHAT_REQUESTS).where(_OF).values(done=True, body="")
_LEFT = (
    select(CHAT_REQUESTS)
    .where(~CHAT_REQUESTS.c.done, CHAT_REQUESTS.c.body != "")
    .order_by(CHAT_REQUESTS.c.kept_at, CHAT_REQUESTS.c.id)
)
_OLD = delete(CHAT_REQUESTS).where(CHAT_REQUESTS.c.kept_at < bindparam("before"))


class ChatRequestStore(Store):
    """The chat requests of all programs that share a database, as a runner sees them; `leases` say which are alive.

    Raises: every method raises LedgerUnavailable when the database does not answer.
    """

    def __init__(self, leases: Leases) -> None:
        super().__init__(leases.database, leases.time)
        self._leases = leases
        self._swept_at: datetime | None = None

    @on_thread_of(DOORS)
    def keep(self, key: str, body: str = "", *, done: bool = False) -> bool:
        """Take a request; False if it was taken before and is done, or if a live program is handling it.

        Shape: a request with a body is continued after a crash (`left`); without a body only its key is known. With
        `done` it counts as done at once, for what nobody would go on with.
        """
        row: dict[str, Any] = {"id": _id(key), "key": _storable_key(key), "body": body, "done": done}
        row["runner"] = self._leases.runner
        with self.database.adding() as connection:
            row["kept_at"] = instant_text(self.instant(connection))
            if connection.dialect.name == "postgresql":
                if connection.execute(_ADD, row).first() is not None:
                    return True
                known = connection.execute(_KNOWN, {"of_id": row["id"]}).one_or_none()
            else:
                known = connection.execute(_KNOWN, {"of_id": row["id"]}).one_or_none()
                if known is None:
                    connection.execute(_INSERT, row)
                    return True
            if known is None or known.done or known.runner in self._leases.alive(connection):
                return False
            return self._take(connection, row["id"], known.runner)

    @on_thread
    def mark_done(self, key: str) -> None:
        """Mark a request as done; its key stays known for some days."""
        with self.database.adding() as connection:
            connection.execute(_DONE, {"of_id": _id(key)})
            now = self.instant(connection)
            if self._swept_at is None or now - self._swept_at > SWEPT_EVERY:
                connection.execute(_OLD, {"before": instant_text(now - KNOWN_FOR)})
                self._swept_at = now

    @reads
    def is_open(self, connection: Connection, key: str) -> bool:
        """True for a request that any program has taken and that is not done."""
        known = connection.execute(_KNOWN, {"of_id": _id(key)}).one_or_none()
        return known is not None and not known.done

    @on_thread
    def take_over_unowned(self) -> tuple[ChatRequest, ...]:
        """Take over the requests that no live program is handling, and return them, oldest first."""
        with self.database.reading() as connection:  # polled often, and mostly empty
            if not self._unowned(connection):
                return ()
        with self.database.writing() as connection:
            return tuple(
                ChatRequest(row.key, row.body, _parse_kept_at(row.kept_at))
                for row in self._unowned(connection)
                if self._take(connection, row.id, row.runner)
            )

    def _unowned(self, connection: Connection) -> list[Any]:
        alive = self._leases.alive(connection)
        return [row for row in connection.execute(_LEFT) if row.runner not in alive]

    def _take(self, connection: Connection, name: str, runner: str) -> bool:
        taken = connection.execute(_TAKE.values(runner=self._leases.runner), {"of_id": name, "of_runner": runner})
        return bool(taken.rowcount)


def _parse_kept_at(text: Any) -> datetime:
    """When it came; long ago where its row is malformed: so it holds up no other, and is told as too late."""
    try:
        return instant_of(text)
    except (ValueError, TypeError):
        return instant_of(LONG_AGO)


def _id(key: str) -> str:
    """A key in the table's form, with any characters, because it comes from outside."""
    return hashlib.sha256(_storable_key(key).encode()).hexdigest()


def _storable_key(key: str) -> str:
    """A key without what a database cannot store: control characters and halves of surrogate pairs."""
    return json.dumps(key)[1:-1]
