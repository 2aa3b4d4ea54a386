"""Leases: which runner handles which group of incidents, and which runners are alive.

A runner is alive by its heartbeat and its presence. That its process exists is visible at once, however it ended.
SQLite: a lock on a file beside the database, which the kernel releases with the process; flock(2).
PostgreSQL: an advisory lock of a session; https://www.postgresql.org/docs/15/explicit-locking.html#ADVISORY-LOCKS
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Connection,
    and_,
    bindparam,
    case,
    create_engine,
    delete,
    exists,
    insert,
    select,
    text,
    union,
    update,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from bot.domain.contracts import Clock
from bot.domain.entry import instant_text
from bot.domain.errors import LedgerUnavailable
from bot.domain.safe_text import one_line
from bot.ledger.database import Database, Store, on_thread, reads, writes
from bot.ledger.tables import HOLDS, INCIDENTS, LEASES, POSTS, RUNNERS

SILENT = timedelta(seconds=10)  # a runner without a heartbeat for this long counts as dead
_LONGEST_WAIT = timedelta(hours=1)  # for another try; a later one was written before the clock was set back
LONG_AGO = "1970-01-01T00:00:00.000Z"
_FORGOTTEN = timedelta(days=1)
_CONNECT_SECONDS = 5
_PRESENT = int.from_bytes(b"serv")  # the first of a lock's two keys; the second is the runner's
_HELD = text(
    "SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid = :locks "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
).bindparams(bindparam("locks", _PRESENT))

# Built once: building a statement costs more than running it.
_CARD = case((INCIDENTS.c.group != "", INCIDENTS.c.group), else_=INCIDENTS.c.id)
_LIVE = select(RUNNERS.c.id).where(RUNNERS.c.beat_at.between(bindparam("since"), bindparam("until")))
_UNSEEN = union(
    select(_CARD)
    .select_from(INCIDENTS.outerjoin(LEASES, LEASES.c.group == _CARD))
    .where(~INCIDENTS.c.ended, LEASES.c.runner.is_(None)),
    select(LEASES.c.group).where(LEASES.c.runner.not_in(bindparam("live", expanding=True))),
)
_MINE = select(LEASES.c.group).where(LEASES.c.runner == bindparam("me"))
_BEAT = update(RUNNERS).where(RUNNERS.c.id == bindparam("me"))
# From the holds, which are few, to their incidents: the other way round, each heartbeat would read all incidents.
_HOLDS = update(HOLDS).where(
    HOLDS.c.runner == bindparam("me"),
    exists().where(INCIDENTS.c.id == HOLDS.c.incident, LEASES.c.group == _CARD, LEASES.c.runner == bindparam("me")),
)
_OWNER = select(LEASES.c.runner).where(LEASES.c.group == bindparam("named"))
_TAKE = update(LEASES).where(LEASES.c.group == bindparam("named"))
_OF_DEAD = update(HOLDS).where(
    HOLDS.c.runner.in_(select(RUNNERS.c.id).where(RUNNERS.c.id.not_in(bindparam("live", expanding=True)))),
    exists().where(INCIDENTS.c.id == HOLDS.c.incident, _CARD.in_(bindparam("cards", expanding=True))),
)
_LET_GO = delete(LEASES).where(
    LEASES.c.group == bindparam("named"),
    LEASES.c.runner == bindparam("me"),
    ~exists().where(and_(POSTS.c.incident == LEASES.c.group, POSTS.c.waiting)),
)


def is_due(due_at: Any, now: Any, latest: Any) -> Any:
    """Whether the time to try again has come, of an instant as stored or, in a query, of a column of such."""
    return (due_at <= now) | (due_at > latest)


def due_bounds(now: datetime) -> dict[str, str]:
    """Return between which instants, as stored, nothing `is_due` yet."""
    return {"now": instant_text(now), "latest": instant_text(now + _LONGEST_WAIT)}


def live_runners(connection: Connection, now: datetime, silent: timedelta = SILENT) -> list[str]:
    """Return the runners with a recent heartbeat. A heartbeat from the future (a clock was set back) does not count."""
    span = {"since": instant_text(now - silent), "until": instant_text(now + silent)}
    return list(connection.execute(_LIVE, span).scalars())


class RunnerLiveness:
    """The presence of this runner, and of others. A stopped process (SIGSTOP) still counts as present."""

    def __init__(self, database: Database, runner: str) -> None:
        self._engine = database.engine
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
            return {runner for runner in runners if self._probe_lock_file(self._path(runner))}
        held = set(connection.execute(_HELD).scalars())
        return {runner for runner in runners if _number(runner) in held}

    def _path(self, runner: str) -> Path:
        return Path(f"{self._engine.url.database}.{runner}.alive")

    def _probe_lock_file(self, path: Path) -> bool:
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
        self._session.exec_driver_sql(f"SELECT pg_advisory_lock_shared({_PRESENT}, {signed})")


class Leases(Store):
    """Which of the programs that share a ledger handles which groups of incidents; time is the database's.

    Each instance belongs to a single runner. Leases only avoid double work; the ledger itself makes sure that nothing
    is done twice.

    Shape: `presence` shows at once that a runner is gone. `time` replaces the database's clock in tests.

    Raises: every method raises LedgerUnavailable when the database does not answer.
    """

    def __init__(
        self,
        database: Database,
        runner: str,
        silent: timedelta = SILENT,
        presence: RunnerLiveness | None = None,
        time: Clock | None = None,
    ) -> None:
        super().__init__(database, time)
        self.runner = runner
        self.silent = silent
        self.presence = presence

    @on_thread
    def beat(self) -> None:
        """Say that this runner is alive, and working on the nodes it holds."""
        if self.presence is not None:
            self.presence.enter()
        with self.database.writing() as connection:
            now = self.instant(connection)
            self._write_heartbeat(connection, now)
            connection.execute(_HOLDS, {"me": self.runner, "beat_at": instant_text(now)})

    @writes
    def take(self, connection: Connection, group: str, by_force: bool = False) -> bool:
        """Take a group's lease; False while another live runner has it, unless `by_force`."""
        found = _owner(connection, group)
        others = {found} - {None, self.runner}
        if not by_force and others & self.alive(connection):
            return False
        self._write_heartbeat(connection, self.instant(connection))
        if found != self.runner:
            self._write_leases(connection, [group])
        return True

    def take_unowned(self, connection: Connection, group: str) -> None:
        """Take the lease of a group that no live runner has, in a transaction of the caller."""
        found = _owner(connection, group)
        if found is None or (found != self.runner and found not in self.alive(connection)):
            self._write_heartbeat(connection, self.instant(connection))
            self._write_leases(connection, [group])

    @on_thread
    def claim(self) -> tuple[str, ...]:
        """Take the lease of every open group that no live runner has, and return those groups."""
        with self.database.reading() as connection:  # polled often, and mostly empty
            if not self._unowned_groups(connection, self.alive(connection)):
                return ()
        with self.database.writing() as connection:
            self._write_heartbeat(connection, self.instant(connection))
            alive = self.alive(connection)
            cards = self._unowned_groups(connection, alive)
            if cards:
                self._write_leases(connection, cards)
                connection.execute(_OF_DEAD.values(beat_at=LONG_AGO), {"live": sorted(alive), "cards": cards})
        return tuple(cards)

    @reads
    def mine(self, connection: Connection) -> frozenset[str]:
        """Return the groups whose lease this runner has."""
        return frozenset(connection.execute(_MINE, {"me": self.runner}).scalars())

    @on_thread
    def let_go(self, groups: Iterable[str]) -> None:
        """Release the leases of these groups, except groups whose posts are still waiting."""
        rows = [{"named": group, "me": self.runner} for group in groups]
        if rows:
            with self.database.writing() as connection:
                connection.execute(_LET_GO, rows)

    @on_thread
    def leave(self) -> None:
        """Release every lease at once, for the other runners."""
        with self.database.writing() as connection:
            connection.execute(update(HOLDS).where(HOLDS.c.runner == self.runner).values(beat_at=LONG_AGO))
            connection.execute(delete(RUNNERS).where(RUNNERS.c.id == self.runner))
        if self.presence is not None:
            self.presence.leave()

    def alive(self, connection: Connection) -> set[str]:
        """Return the live runners. This runner always counts as alive: it does not take over from itself."""
        heard = set(live_runners(connection, self.instant(connection), self.silent)) - {self.runner}
        if self.presence is not None:
            heard = self.presence.present(connection, heard)
        return heard | {self.runner}

    def _unowned_groups(self, connection: Connection, alive: Collection[str]) -> list[str]:
        return sorted(connection.execute(_UNSEEN, {"live": sorted(alive)}).scalars())

    def _write_heartbeat(self, connection: Connection, now: datetime) -> None:
        beat_at = instant_text(now)
        if not connection.execute(_BEAT, {"me": self.runner, "beat_at": beat_at}).rowcount:
            connection.execute(delete(RUNNERS).where(RUNNERS.c.beat_at < instant_text(now - _FORGOTTEN)))
            connection.execute(insert(RUNNERS).values(id=self.runner, beat_at=beat_at))

    def _write_leases(self, connection: Connection, groups: Iterable[str]) -> None:
        for group in groups:
            row: dict[str, Any] = {"named": group, "runner": self.runner}
            if not connection.execute(_TAKE, row).rowcount:
                connection.execute(insert(LEASES).values(group=group, runner=self.runner))


def _owner(connection: Connection, group: str) -> str | None:
    return connection.execute(_OWNER, {"named": group}).scalar_one_or_none()


def _number(runner: str) -> int:
    return int.from_bytes(hashlib.sha256(runner.encode()).digest()[:4])
