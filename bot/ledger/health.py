"""The state of a ledger's database, read without creating or migrating anything."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, func, inspect, select
from sqlalchemy.exc import SQLAlchemyError

from bot.domain.entry import Entry, Head, instant_of
from bot.domain.errors import LedgerUnavailable
from bot.domain.house_events import HOUSE
from bot.ledger import holds
from bot.ledger.database import (
    Database,
    _file,
    _parse_url,
    _postgresql,
    _reason,
    _try_next,
    _url_words,
    begin_in_postgresql,
    is_file_there,
)
from bot.ledger.entries import database_time, head_of
from bot.ledger.inbox import GIVEN_UP
from bot.ledger.leases import live_runners
from bot.ledger.machines import names_of_machines
from bot.ledger.migrations import VERSION, schema_version
from bot.ledger.tables import DELIVERIES, INCIDENTS

PATIENCE = timedelta(seconds=3)
_VERSION_TABLE = "zombie_schema"
_NAME_IT = "Name the bot's own with ZOMBIE_DATABASE_URL or ZOMBIE_STATE_DIR."
_OPEN = select(func.count()).select_from(INCIDENTS).where(~INCIDENTS.c.ended)  # by an index
_GIVEN_UP = select(func.count()).select_from(DELIVERIES).where(GIVEN_UP)


@dataclass(frozen=True, slots=True)
class LedgerCondition:
    """The state of a ledger: its schema version and this program's, its open incidents, its head, its time.

    Shape: `given_up` are deliveries, as far as their ids are still known; `machines` are the names of each machine that
    has several, by its machine-id; `brake` is the entry that pulled it, None while it is off.
    """

    version: int
    known_version: int
    open_incidents: int
    house: Head
    given_up: int
    now: datetime
    machines: Mapping[str, tuple[str, ...]]
    brake: Entry | None


def ledger_file(url: str) -> Path | None:
    """Return the file of an SQLite ledger, None for PostgreSQL.

    Raises: SettingsError when the URL cannot be used.
    """
    return _file(_parse_url(url))


def ledger_words(url: str) -> str:
    """Return where a ledger is, for people: its file, or the server's URL without the password.

    Raises: SettingsError when the URL cannot be used.
    """
    return _url_words(_parse_url(url))


def holds_ledger(url: str, patience: timedelta = PATIENCE) -> bool:
    """Return whether a database is there and holds a ledger, of whatever version; nothing is made.

    Raises: SettingsError; LedgerUnavailable when it cannot be read, or holds something else.
    """
    if not is_file_there(url):
        return False
    with _read_only_connection(url, patience) as connection:
        tables = inspect(connection).get_table_names()
    if tables and _VERSION_TABLE not in tables:
        raise LedgerUnavailable(f"{ledger_words(url)} is a database without a ledger.", _NAME_IT)
    return bool(tables)


def is_served(database: Database) -> bool:
    """Return whether a program that serves at an open ledger was heard of just now.

    Raises: LedgerUnavailable.
    """
    with database.reading() as connection:
        return bool(live_runners(connection, instant_of(database_time(connection))))


def condition(url: str, patience: timedelta = PATIENCE) -> LedgerCondition:
    """Read the state of a ledger.

    Raises: SettingsError; LedgerUnavailable when it cannot be read, or is not a ledger.
    """
    with _read_only_connection(url, patience) as connection:
        if not inspect(connection).has_table(_VERSION_TABLE):
            raise LedgerUnavailable(f"{ledger_words(url)} is a database without a ledger.")
        version = schema_version(connection)
        is_ours = version == VERSION  # older tables may lack what is read
        return LedgerCondition(
            version,
            VERSION,
            int(connection.execute(_OPEN).scalar_one()),
            head_of(connection, HOUSE)[0],
            int(connection.execute(_GIVEN_UP).scalar_one()) if is_ours else 0,
            instant_of(database_time(connection)),
            names_of_machines(connection) if is_ours else {},
            holds.brake(connection) if is_ours else None,
        )


def _read_only(path: Path, patience: timedelta) -> Engine:
    def connect() -> Any:
        return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=patience.total_seconds())

    return create_engine("sqlite://", creator=connect)


@contextmanager
def _read_only_connection(url: str, patience: timedelta) -> Iterator[Connection]:
    parsed = _parse_url(url)
    path = _file(parsed)
    engine = _read_only(path, patience) if path is not None else _postgresql(parsed, patience)
    try:
        with engine.begin() as connection:
            if path is None:
                begin_in_postgresql(connection, writes=False, busy=patience)
            yield connection
    except SQLAlchemyError as no:
        raise LedgerUnavailable(
            f"The ledger at {ledger_words(url)} cannot be read: {_reason(no)}.", _try_next(no)
        ) from no
    finally:
        engine.dispose()
