"""One database, SQLite or PostgreSQL: opened, brought up to date, and its transactions.

SQLite: WAL and synchronous=FULL, so that what was acknowledged is on disk; https://sqlite.org/wal.html.
PostgreSQL: one advisory lock in place of SQLite's one writer; https://www.postgresql.org/docs/15/explicit-locking.html.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from bot.domain.errors import LedgerUnavailable, SettingsError
from bot.domain.safe_text import one_line
from bot.ledger.migrations import migrate
from bot.ledger.presence import Presence
from bot.ledger.write_lock import WriteLock

BUSY = timedelta(seconds=10)  # how long one process waits for another's transaction, which takes milliseconds
_WRITES, _ADDS = "zombie_writes", "adds"
_ADVISORY_LOCK = int.from_bytes(b"zombie")
# A process that is stopped in the middle of a transaction must not stop the others: the server ends its session, and
# does so before those who wait for it give up.
_PATIENCE = "SET LOCAL lock_timeout = {0}; SET LOCAL idle_in_transaction_session_timeout = {1}"
_POSTGRESQL_BEGIN_WRITE = f"SET LOCAL synchronous_commit = on; SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})"
_POSTGRESQL_BEGIN_READ = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
_NOW = {
    "sqlite": "SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
    "postgresql": "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')",
}


class Database:
    """An open database; threads may share it, each transaction has a connection of its own."""

    def __init__(self, engine: Engine, sentence: str, busy: timedelta = BUSY) -> None:
        self._engine = engine
        self._sentence = sentence
        self._busy = busy
        self._write_lock = WriteLock() if engine.dialect.name == "sqlite" else None

    @classmethod
    def open(cls, url: str, busy: timedelta = BUSY) -> Database:
        """Open the database of that URL, `sqlite:///PATH` or `postgresql://…`, make it or bring it up to date.

        Raises: SettingsError when the URL names none that can be used; LedgerUnavailable when it cannot be opened.
        """
        parsed = _parsed(url)
        path = _file(parsed)
        sentence = f"The ledger at {path or parsed.render_as_string(hide_password=True)} cannot be used"
        engine = _sqlite(path, busy) if path is not None else _postgresql(parsed, busy)
        database = cls(engine, sentence, busy)
        try:
            with _alone(path):
                if path is not None:
                    database._begin_wal()
                with database.writing() as connection:
                    migrate(connection)
        except OSError as no:
            engine.dispose()
            raise LedgerUnavailable(f"{sentence}: {no.strerror}.") from no
        except BaseException:
            engine.dispose()
            raise
        return database

    def __enter__(self) -> Database:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def presence(self, runner: str) -> Presence:
        """Return what shows the others at this database that a runner is there."""
        return Presence(self._engine, runner)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that alone may write from its very beginning; committed at the end of the block.

        Raises: LedgerUnavailable when the database is locked for too long, gone or full.
        """
        with self._transaction(writes=True) as connection:
            yield connection

    @contextlib.contextmanager
    def adding(self) -> Iterator[Connection]:
        """A transaction that only adds rows which depend on no others: in PostgreSQL it waits for nobody who writes.

        Raises: LedgerUnavailable when the database is locked for too long, gone or full.
        """
        with self._transaction(writes=_ADDS) as connection:
            yield connection

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one moment of the database.

        Raises: LedgerUnavailable when the database cannot be read.
        """
        with self._transaction(writes=False) as connection:
            yield connection

    def now(self, connection: Connection) -> str:
        """Return the database's own time, as entries keep it."""
        return str(connection.exec_driver_sql(_NOW[connection.dialect.name]).scalar_one())

    @contextlib.contextmanager
    def _transaction(self, writes: bool | str) -> Iterator[Connection]:
        try:
            with (
                self._in_turn(writes),
                self._engine.connect().execution_options(**{_WRITES: writes}) as connection,
                connection.begin(),
            ):
                yield connection
        except SQLAlchemyError as no:
            raise LedgerUnavailable(f"{self._sentence}: {_reason(no)}.") from no

    @contextlib.contextmanager
    def _in_turn(self, writes: bool | str) -> Iterator[None]:
        """Wait for this program's other threads; what is only added goes before the rest, for somebody waits for it."""
        if not writes or self._write_lock is None:
            yield
            return
        with self._write_lock.taken(first=writes == _ADDS, seconds=self._busy.total_seconds()) as came:
            if not came:
                raise LedgerUnavailable(
                    f"{self._sentence}: it is busy for longer than {self._busy.total_seconds():g} s."
                )
            yield

    def _begin_wal(self) -> None:
        # Not inside a transaction, hence not through the engine's own begin.
        try:
            with contextlib.closing(self._engine.raw_connection()) as connection:
                mode = connection.cursor().execute("PRAGMA journal_mode = WAL").fetchone()
        except (SQLAlchemyError, sqlite3.Error) as no:
            raise LedgerUnavailable(f"{self._sentence}: {_reason(no)}.") from no
        if mode != ("wal",):
            raise LedgerUnavailable(
                f"{self._sentence}: SQLite cannot keep a write-ahead log there.", "Use a folder on a local disk."
            )


def is_there(url: str) -> bool:
    """True unless the URL names an SQLite file that does not exist yet.

    Raises: SettingsError when the URL names no database that can be used.
    """
    path = _file(_parsed(url))
    return path is None or path.exists()


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as no:
        raise SettingsError(
            "ZOMBIE_DATABASE_URL is not the URL of a database.", "Write sqlite:////folder/zombie.db or postgresql://…"
        ) from no
    backend = "postgresql" if parsed.drivername == "postgres" else parsed.get_backend_name()
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise SettingsError(f"The ledger cannot be kept in {one_line(backend, 40)}.", "Use SQLite or PostgreSQL.")
    if parsed.database in (None, "", ":memory:"):
        raise SettingsError("The ledger cannot be kept in memory.", "Name a file: sqlite:////folder/zombie.db")
    return parsed


def _file(url: URL) -> Path | None:
    return Path(url.database or "") if url.get_backend_name() == "sqlite" else None


def _sqlite(path: Path, busy: timedelta) -> Engine:
    engine = create_engine(URL.create("sqlite", database=str(path)), connect_args={"timeout": busy.total_seconds()})

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver's guess
        connection.text_factory = _text
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        # IMMEDIATE: a transaction that reads first and writes then would otherwise fail, not wait, behind another one.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options()[_WRITES] else "BEGIN")

    return engine


def _postgresql(url: URL, busy: timedelta) -> Engine:
    seconds = max(1, round(busy.total_seconds()))
    try:
        engine = create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": max(2, seconds)})
    except ModuleNotFoundError as no:
        raise SettingsError(
            "PostgreSQL needs a package that is not installed.", 'Install it: pip install "zombie-bot[postgresql]"'
        ) from no
    patience = _PATIENCE.format(round(busy.total_seconds() * 1000), round(busy.total_seconds() * 500))

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        how = connection.get_execution_options()[_WRITES]
        if how == _ADDS:
            connection.exec_driver_sql(f"{patience}; SET LOCAL synchronous_commit = on")
        elif how:
            connection.exec_driver_sql(f"{patience}; {_POSTGRESQL_BEGIN_WRITE}")
        else:
            connection.exec_driver_sql(f"{_POSTGRESQL_BEGIN_READ}; {patience}")

    return engine


@contextlib.contextmanager
def _alone(path: Path | None) -> Iterator[None]:
    """Hold the file's folder, so that one process at a time makes a file and switches it to WAL, which cannot wait."""
    if path is None:
        yield  # the advisory lock is enough
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Only a file that is not there is touched by hand: closing one that SQLite has open would drop SQLite's locks.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")  # an audit reads on where somebody wrote bytes that are no text


def _reason(error: Exception) -> str:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return one_line(str(cause).split("\n", 1)[0], 200).rstrip(".") or type(cause).__name__
