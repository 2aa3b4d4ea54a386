"""Whether a runner's process exists: its end is visible at once, however it ended.

SQLite: a lock on a file beside the database, which the kernel releases with the process; flock(2).
PostgreSQL: an advisory lock of a session; https://www.postgresql.org/docs/15/explicit-locking.html#ADVISORY-LOCKS
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Collection
from pathlib import Path

from sqlalchemy import Connection, Engine, bindparam, create_engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from bot.domain.errors import LedgerUnavailable
from bot.domain.safe_text import one_line

_CONNECT_SECONDS = 5
_LOCKS = int.from_bytes(b"serv")  # the first of a lock's two keys; the second is the runner's
_HELD = text(
    "SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid = :locks "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
).bindparams(bindparam("locks", _LOCKS))


class Presence:
    """The presence of this runner, and of others. A stopped process (SIGSTOP) still counts as present."""

    def __init__(self, engine: Engine, runner: str) -> None:
        self._engine = engine
        self._runner = runner
        self._file: int | None = None
        self._session: Connection | None = None

    def enter(self) -> None:
        """Become present, or check that this runner still is.

        Raises: LedgerUnavailable when other runners could not see it.
        """
        try:
            if self._engine.dialect.name == "sqlite":
                self._enter_file()
            else:
                self._enter_session()
        except (OSError, SQLAlchemyError) as no:
            self.leave()
            raise LedgerUnavailable(
                f"The programs that serve at this ledger cannot be listed: {one_line(str(no), 200)}."
            ) from no

    def leave(self) -> None:
        """Stop being present."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._path(self._runner).unlink()
            os.close(self._file)
            self._file = None
        if self._session is not None:
            with contextlib.suppress(SQLAlchemyError):
                # The server notices the end of a session later; a released lock is free at once.
                self._session.exec_driver_sql("SELECT pg_advisory_unlock_all()")
            with contextlib.suppress(SQLAlchemyError):
                self._session.close()
            self._session = None

    def present(self, connection: Connection, runners: Collection[str]) -> set[str]:
        """Return which of these runners are present."""
        if not runners:
            return set()
        if connection.dialect.name == "sqlite":
            return {runner for runner in runners if self._is_locked(self._path(runner))}
        held = set(connection.execute(_HELD).scalars())
        return {runner for runner in runners if _number(runner) in held}

    def _path(self, runner: str) -> Path:
        return Path(f"{self._engine.url.database}.{runner}.alive")

    def _is_locked(self, path: Path) -> bool:
        """Return whether a runner holds its file; delete a file that was left behind."""
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
        except BlockingIOError:
            return True
        finally:
            os.close(file)
        return False

    def _enter_file(self) -> None:
        if self._file is not None and self._path(self._runner).exists():
            return
        file = os.open(self._path(self._runner), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if self._file is not None:
            os.close(self._file)
        self._file = file

    def _enter_session(self) -> None:
        if self._session is not None:
            with contextlib.suppress(SQLAlchemyError):
                self._session.exec_driver_sql("SELECT 1")
                return
            self.leave()  # the server ended the session, which released the lock
        patience = {"connect_timeout": _CONNECT_SECONDS}
        engine = create_engine(
            self._engine.url, poolclass=NullPool, isolation_level="AUTOCOMMIT", connect_args=patience
        )
        self._session = engine.connect()
        number = _number(self._runner)
        signed = number - 2**32 if number >= 2**31 else number
        self._session.exec_driver_sql(f"SELECT pg_advisory_lock_shared({_LOCKS}, {signed})")


def _number(runner: str) -> int:
    return int.from_bytes(hashlib.sha256(runner.encode()).digest()[:4])
