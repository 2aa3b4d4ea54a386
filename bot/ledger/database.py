"""The database, SQLite or PostgreSQL: opens it, migrates it, and runs its transactions.

SQLite: WAL and synchronous=FULL, so that acknowledged data is on disk; https://sqlite.org/wal.html. SQLite makes a
waiting writer sleep for longer and longer (https://sqlite.org/c3ref/busy_timeout.htm), up to a tenth of a second, while
others go first again and again. So threads wait at `WriteLock`, and a process asks anew after some milliseconds.
PostgreSQL: an advisory lock allows a single writer, as in SQLite; https://www.postgresql.org/docs/15/explicit-locking.html.

Whatever reads and writes is a store, whose methods an event loop awaits (`reads`, `writes`, `on_thread`): a cancelled
or slow one never stops in the middle of a transaction, and a command without an event loop needs none (`now`).
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import functools
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from pathlib import Path
from types import MethodType, TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast

from sqlalchemy import URL, Connection, Engine, Row, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from bot.domain.contracts import Clock
from bot.domain.entry import instant_of, instant_text
from bot.domain.errors import LedgerUnavailable, SettingsError
from bot.domain.house_events import HOUSE
from bot.domain.safe_text import one_line
from bot.ledger.entries import database_time
from bot.ledger.migrations import migrate, refuse_newer

BUSY = timedelta(seconds=10)  # how long a process waits for another's transaction, which takes milliseconds
ASKS_AGAIN = timedelta(milliseconds=5)
URGENT_IN_A_ROW = 8  # inserts of the inbox before another waiting write has its turn; each takes milliseconds
LEDGER, DOORS, COMPUTING = "ledger", "inbox", "cases"
# How many threads. Those of the inbox only store what came, so that senders need not wait; to take the secrets out of a
# case is computing.
_THREADS = {LEDGER: 4, DOORS: 2, COMPUTING: 1}
S = TypeVar("S", bound="HasDatabase")
P = ParamSpec("P")
T = TypeVar("T")
_ADDS = "adds"
_ADVISORY_LOCK = int.from_bytes(b"zombie")
# A process that hangs in a transaction must not block the others: the server ends its session before they time out.
_PATIENCE = "SET LOCAL lock_timeout = {0}; SET LOCAL idle_in_transaction_session_timeout = {1}"
# A server's default may be stricter. Then everything a transaction reads would be as old as its wait for the lock, a
# step could begin despite a brake pulled meanwhile, and a delivery that comes twice at once would be an error.
_POSTGRESQL_WRITES = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on"
_POSTGRESQL_BEGIN_READ = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"


class WriteLock:
    """The order of a program's threads at SQLite, which has one writer at a time.

    Urgent threads go first, but only a few in a row: a thread that is not urgent (a runner's heartbeat, a step's
    beginning) waits for at most `URGENT_IN_A_ROW` of them, and for earlier threads of its own kind.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_held = False
        self._urgent: deque[object] = deque()
        self._ordinary: deque[object] = deque()
        self._in_a_row = 0  # urgent threads that went first while another waited

    @contextlib.contextmanager
    def held(self, *, urgent: bool, seconds: float) -> Iterator[bool]:
        """Wait for the lock for at most `seconds`, and hold it while the block runs; yield False on a time-out."""
        ticket, queue = object(), self._urgent if urgent else self._ordinary
        with self._changed:
            queue.append(ticket)
            try:
                is_ours = self._changed.wait_for(lambda: not self._is_held and self._next_waiter() is ticket, seconds)
            finally:
                queue.remove(ticket)
                self._changed.notify_all()  # after a time-out another thread may be next
            if is_ours:
                self._is_held = True
                self._in_a_row = self._in_a_row + 1 if urgent and self._ordinary else 0
        try:
            yield is_ours
        finally:
            if is_ours:
                with self._changed:
                    self._is_held = False
                    self._changed.notify_all()

    def _next_waiter(self) -> object:
        if self._urgent and not (self._ordinary and self._in_a_row >= URGENT_IN_A_ROW):
            return self._urgent[0]
        return self._ordinary[0]


class Database:
    """An open database. Threads may share it: each transaction has its own connection.

    Shape: `engine` is SQLAlchemy's, for what needs a connection outside transactions. `threads` run what is awaited.
    """

    def __init__(self, engine: Engine, sentence: str, busy: timedelta = BUSY) -> None:
        self.engine = engine
        self._sentence = sentence
        self._busy = busy
        self._write_lock = WriteLock() if engine.dialect.name == "sqlite" else None
        self._opened: tuple[Path, os.stat_result] | None = None  # SQLite's file
        self._seen: Row[Any] | None = None  # the number and hash of the last entry of `house`
        self.threads = {lane: ThreadPoolExecutor(most, lane) for lane, most in _THREADS.items()}

    @classmethod
    def open(cls, url: str, busy: timedelta = BUSY) -> Database:
        """Open the database at a URL, `sqlite:///PATH` or `postgresql://…`; create or migrate it first.

        Raises: SettingsError when the URL cannot be used; LedgerUnavailable when it cannot be opened.
        """
        parsed = _parse_url(url)
        path = _file(parsed)
        sentence = f"The ledger at {_url_words(parsed)} cannot be used"
        engine = _sqlite(path, busy) if path is not None else _postgresql(parsed, busy)
        database = cls(engine, sentence, busy)
        try:
            with _folder_locked(path):
                if path is not None:
                    database._begin_wal()
                with database._transaction(writes=True) as connection:
                    migrate(connection)
                    last = _last_of_house(connection)
                database._seen = last
                database._opened = (path, path.stat()) if path is not None else None
        except OSError as no:
            engine.dispose()
            raise LedgerUnavailable(
                f"{sentence}: {no.strerror}.", "Set ZOMBIE_STATE_DIR to a folder that this user may write to."
            ) from no
        except BaseException:
            engine.dispose()
            raise
        return database

    def __enter__(self) -> Database:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Wait for what is running, and close every connection."""
        for threads in self.threads.values():
            threads.shutdown()
        self.engine.dispose()

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """The only writing transaction at a time; committed at the end of the block.

        Raises: LedgerUnavailable when the database is locked for too long, unreachable or full, when its file is
        or its record another, or when a newer program has migrated it since it was opened: what that one relies on is
        not known here.
        """
        with self._transaction(writes=True) as connection:
            refuse_newer(connection)
            self._refuse_other_record(connection, self._seen)
            yield connection
            last = _last_of_house(connection)
        self._seen = last  # not before it is committed

    @contextlib.contextmanager
    def adding(self) -> Iterator[Connection]:
        """A transaction that only inserts independent rows. In PostgreSQL it does not wait for other writers.

        Raises: LedgerUnavailable when the database is locked for too long, unreachable or full.
        """
        with self._transaction(writes=_ADDS) as connection:
            yield connection

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """A read-only transaction with a consistent view.

        Raises: LedgerUnavailable when the database cannot be read.
        """
        with self._transaction(writes=False) as connection:
            yield connection

    def check(self) -> None:
        """Do nothing if this program can read it and may write.

        Raises: LedgerUnavailable when it cannot be read or is another, or a newer program has migrated it.
        """
        seen = self._seen  # before it reads: another thread may see later entries than this transaction does
        with self.reading() as connection:
            refuse_newer(connection)
            self._refuse_other_record(connection, seen)

    @contextlib.contextmanager
    def _transaction(self, writes: bool | str) -> Iterator[Connection]:
        self._refuse_other_file()  # before a new connection makes an empty one
        try:
            with (
                self._locked_for_writing(writes),
                self.engine.begin() as connection,
            ):
                self._begin(connection, writes)
                self._refuse_other_file()  # again: it may have waited for others
                yield connection
        except (SQLAlchemyError, sqlite3.Error) as no:
            raise LedgerUnavailable(f"{self._sentence}: {_reason(no)}.", _try_next(no)) from no

    def _begin(self, connection: Connection, writes: bool | str) -> None:
        # Not by a listener: an engine that has one calls all kinds of them, at each statement.
        if self._write_lock is None:
            begin_in_postgresql(connection, writes, self._busy)
        else:
            _begin_in_sqlite(connection, writes, self._busy)

    def _refuse_other_file(self) -> None:
        """Raises: LedgerUnavailable when the file was removed or replaced, such as by a backup that was brought back.

        A program that has it open would go on in a record that nobody else sees, and see no brake that others pull.
        """
        if self._opened is None:
            return
        path, opened = self._opened
        try:
            is_same = os.path.samestat(path.stat(), opened)
        except OSError:
            is_same = False
        if not is_same:
            raise LedgerUnavailable(
                f"{self._sentence}: its file was removed or replaced since it was opened.",
                "Stop every program that has it open, and start it again.",
            )

    def _refuse_other_record(self, connection: Connection, seen: Row[Any] | None) -> None:
        """Raises: LedgerUnavailable when an entry that was there is not, such as after a restore into the open file.

        What is open here came from later entries, such as a brake that was pulled.
        """
        if seen is None:
            return
        if connection.execute(_HASH_OF_HOUSE, {"of_seq": seen.seq}).scalar_one_or_none() != seen.hash:
            raise LedgerUnavailable(
                f"{self._sentence}: entry {HOUSE}/{seen.seq}, which was there, is missing or another.",
                "If a backup was brought back, stop every program that has it open, and start it again; otherwise: "
                "zombie audit verify",
            )

    @contextlib.contextmanager
    def _locked_for_writing(self, writes: bool | str) -> Iterator[None]:
        """Wait for this program's other writing threads. Inserts go first, because a sender waits for the answer.

        After some inserts another write has its turn.
        """
        if not writes or self._write_lock is None:
            yield
            return
        with self._write_lock.held(urgent=writes == _ADDS, seconds=self._busy.total_seconds()) as is_ours:
            if not is_ours:
                raise LedgerUnavailable(
                    f"{self._sentence}: it is busy for longer than {self._busy.total_seconds():g} s."
                )
            yield

    def _begin_wal(self) -> None:
        # Not in a transaction, so not through `_transaction`.
        try:
            with contextlib.closing(self.engine.raw_connection()) as connection:
                mode = connection.cursor().execute("PRAGMA journal_mode = WAL").fetchone()
        except (SQLAlchemyError, sqlite3.Error) as no:
            raise LedgerUnavailable(f"{self._sentence}: {_reason(no)}.", _try_next(no)) from no
        if mode != ("wal",):
            raise LedgerUnavailable(
                f"{self._sentence}: SQLite cannot keep a write-ahead log there.", "Use a folder on a local disk."
            )


def _last_of_house(connection: Connection) -> Row[Any] | None:
    return connection.exec_driver_sql(_LAST_OF_HOUSE).one_or_none()


_LAST_OF_HOUSE = f"SELECT seq, hash FROM entries WHERE stream = '{HOUSE}' ORDER BY seq DESC LIMIT 1"
_HASH_OF_HOUSE = text(f"SELECT hash FROM entries WHERE stream = '{HOUSE}' AND seq = :of_seq")


def is_file_there(url: str) -> bool:
    """Return False if the URL is of an SQLite file that does not exist.

    Raises: SettingsError when the URL cannot be used.
    """
    path = _file(_parse_url(url))
    return path is None or path.exists()


def _parse_url(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as no:  # a port that is no number
        raise SettingsError(
            "ZOMBIE_DATABASE_URL is not the URL of a database.", "Write sqlite:////folder/zombie.db or postgresql://…"
        ) from no
    backend = "postgresql" if parsed.drivername == "postgres" else parsed.get_backend_name()
    if backend == "postgresql":
        if "@" in f"{parsed.host}{parsed.database}":  # the rest of a password, which sentences would show as a place
            raise SettingsError(
                "ZOMBIE_DATABASE_URL has an @ in its password.", "Write it as %40, and a / as %2F: postgresql://…"
            )
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise SettingsError(f"The ledger cannot be kept in {one_line(backend, 40)}.", "Use SQLite or PostgreSQL.")
    if parsed.database in (None, "", ":memory:"):
        raise SettingsError("The ledger cannot be kept in memory.", "Name a file: sqlite:////folder/zombie.db")
    return parsed


def _file(url: URL) -> Path | None:
    return Path(url.database or "") if url.get_backend_name() == "sqlite" else None


def _url_words(url: URL) -> str:
    """Return where it is, for people: without the password, and without the parameters, among which one may be."""
    return str(_file(url) or url.set(query={}).render_as_string(hide_password=True))


def _sqlite(path: Path, busy: timedelta) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": busy.total_seconds()},
        pool_reset_on_return=None,  # each transaction is ended by its block
    )

    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions begin below, not when the driver decides
        connection.text_factory = _text
        connection.execute("PRAGMA synchronous = FULL")

    return engine


def _begin_in_sqlite(connection: Connection, writes: bool | str, busy: timedelta) -> None:
    # IMMEDIATE: otherwise a transaction that reads and then writes would fail instead of waiting for another.
    cursor = connection.connection.cursor()  # not through SQLAlchemy: nothing in it is bound
    if not writes:
        cursor.execute("BEGIN")
        return
    until = time.monotonic() + busy.total_seconds()
    patience = min(ASKS_AGAIN, busy)
    cursor.execute(_WAITS.format(round(patience.total_seconds() * 1000)))
    try:
        while not _begin_to_write(cursor, until):
            continue
    finally:
        cursor.execute(_WAITS.format(round(busy.total_seconds() * 1000)))


_WAITS = "PRAGMA busy_timeout = {0}"


def _begin_to_write(cursor: Any, until: float) -> bool:
    """Begin to write; False where another process writes, and the time for that is not over."""
    try:
        cursor.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as no:
        if no.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
            raise
        return False
    return True


def _postgresql(url: URL, busy: timedelta) -> Engine:
    seconds = max(1, round(busy.total_seconds()))
    how_to_connect = {"connect_timeout": max(2, seconds), "client_encoding": "utf8"}
    try:
        engine = create_engine(url, pool_pre_ping=True, connect_args=how_to_connect)
    except ModuleNotFoundError as no:
        raise SettingsError(
            "PostgreSQL needs a package that is not installed.", 'Install it: pip install "zombie-bot[postgresql]"'
        ) from no

    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _: object) -> None:
        # Another encoding has no room for what nodes and people write: an entry would fail in the middle of a plan.
        if (encoding := connection.info.parameter_status("server_encoding")) != "UTF8":
            raise SettingsError(
                f"The ledger cannot be kept in a database with the encoding {encoding}.",
                "Make one: createdb --encoding UTF8 --template template0 zombie",
            )

    return engine


def begin_in_postgresql(connection: Connection, writes: bool | str, busy: timedelta) -> None:
    """Say of a transaction that has begun what it may do, and how long it waits for others."""
    patience = _PATIENCE.format(round(busy.total_seconds() * 1000), round(busy.total_seconds() * 500))
    if writes:
        lock = "" if writes == _ADDS else f"; SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})"
        connection.exec_driver_sql(f"{_POSTGRESQL_WRITES}; {patience}{lock}")
    else:
        connection.exec_driver_sql(f"{_POSTGRESQL_BEGIN_READ}; {patience}")


@contextlib.contextmanager
def _folder_locked(path: Path | None) -> Iterator[None]:
    """Lock the file's folder, so that only one process creates the file and switches it to WAL."""
    if path is None:
        yield  # the advisory lock is enough
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Only a missing file is opened here: closing a file that SQLite has open would drop SQLite's locks.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


# An audit must be able to read bytes that are not text. Implemented in C: it is called for every text of every row.
_text = functools.partial(str, encoding="utf-8", errors="surrogateescape")


def _reason(error: Exception) -> str:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return one_line(str(cause).split("\n", 1)[0], 200).rstrip(".") or type(cause).__name__


def _try_next(error: Exception) -> str:
    """What to try where SQLite cannot open the file or write beside it; elsewhere the reason says enough."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF  # https://sqlite.org/rescode.html: the rest tells more exactly
    if code not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return ""
    return (
        "SQLite writes beside the file even to read it, so this user must be able to write to the file and its folder. "
        "To read it all the same, copy the folder, and set ZOMBIE_STATE_DIR to the copy."
    )


# --- Stores: what is read and written in such transactions


class Store:
    """What each store has: its database, and a clock that replaces the database's in tests."""

    def __init__(self, database: Database, time: Clock | None = None) -> None:
        self.database = database
        self.time = time

    def instant(self, connection: Connection) -> datetime:
        """Return the time."""
        return self.time() if self.time is not None else instant_of(database_time(connection))

    def stamp(self, connection: Connection) -> str:
        """Return the time in the format of entries."""
        return instant_text(self.instant(connection))


class HasDatabase(Protocol):
    """Anything whose methods run in the threads of a database."""

    @property
    def database(self) -> Database:
        """Its database."""


class Awaited(Generic[P, T]):
    """A method of a store, to be awaited; `now` is the same in the calling thread, which it blocks."""

    def __init__(self, now: Callable[P, T], threads: Executor) -> None:
        self.now = now
        self._threads = threads

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run it in a thread. A cancelled wait does not stop its transaction: that is committed or rolled back."""
        run = functools.partial(self.now, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._threads, run)


class on_thread(Generic[S, P, T]):  # noqa: N801 - a decorator
    """Makes a blocking method one that is awaited, and runs in a thread of the store's database."""

    def __init__(self, method: Callable[Concatenate[S, P], T], lane: str = LEDGER) -> None:
        self.method = method
        self._lane = lane

    def __get__(self, store: S | None, _: type[S]) -> Awaited[P, T]:
        if store is None:  # asked of the class, as tools and tests do
            return cast("Awaited[P, T]", self)
        return Awaited(MethodType(self.method, store), store.database.threads[self._lane])


def reads(method: Callable[Concatenate[S, Connection, P], T]) -> on_thread[S, P, T]:
    """Make a method one that is awaited, in one read-only transaction, whose connection it is handed."""
    return on_thread(_in_transaction(Database.reading, method))


def writes(method: Callable[Concatenate[S, Connection, P], T]) -> on_thread[S, P, T]:
    """Make a method one that is awaited, in one writing transaction, whose connection it is handed."""
    return on_thread(_in_transaction(Database.writing, method))


def _in_transaction(
    transaction: Callable[[Database], AbstractContextManager[Connection]],
    method: Callable[Concatenate[S, Connection, P], T],
) -> Callable[Concatenate[S, P], T]:
    @functools.wraps(method)
    def within(store: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with transaction(store.database) as connection:
            return method(store, connection, *args, **kwargs)

    return within


def on_thread_of(lane: str) -> Callable[[Callable[Concatenate[S, P], T]], on_thread[S, P, T]]:
    """Return `on_thread` for threads that do nothing else."""
    return lambda method: on_thread(method, lane)
