"""The one seat at a database: of several bots on it, one serves, and the others wait until it has gone.

SQLite: a lock on a file beside the database's, which the kernel lets go with its process; flock(2).
PostgreSQL: an advisory lock of a session; https://www.postgresql.org/docs/15/explicit-locking.html#ADVISORY-LOCKS
"""

from __future__ import annotations

import contextlib
import fcntl
import os

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from bot.domain.errors import LedgerUnavailable
from bot.domain.safe_text import one_line

_LOCK = int.from_bytes(b"serve")


class Seat:
    """May be taken by one program at a time; it is free again when that program ends, however it ends."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._file: int | None = None
        self._session: Connection | None = None

    def take(self) -> bool:
        """Take the seat, or see that it is still ours; False while another program has it.

        Raises: LedgerUnavailable when the database cannot be asked.
        """
        try:
            return self._take_file() if self._engine.dialect.name == "sqlite" else self._take_session()
        except (OSError, SQLAlchemyError) as no:
            self.leave()
            raise LedgerUnavailable(f"Who serves at this ledger cannot be told: {one_line(str(no), 200)}.") from no

    def leave(self) -> None:
        """Let another program have the seat."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if self._session is not None:
            with contextlib.suppress(SQLAlchemyError):
                self._session.close()
            self._session = None

    def _take_file(self) -> bool:
        if self._file is not None:
            return True
        file = os.open(f"{self._engine.url.database}.serve", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        self._file = file
        return True

    def _take_session(self) -> bool:
        if self._session is not None:
            with contextlib.suppress(SQLAlchemyError):
                self._session.exec_driver_sql("SELECT 1")
                return True
            self.leave()  # the server ended the session, and with it our hold
        session = create_engine(self._engine.url, poolclass=NullPool, isolation_level="AUTOCOMMIT").connect()
        if session.exec_driver_sql(f"SELECT pg_try_advisory_lock({_LOCK})").scalar_one():
            self._session = session
            return True
        session.close()
        return False
