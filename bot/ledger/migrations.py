"""The database schema, version by version. An older database is migrated in a single transaction."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from typing import TypeAlias

from sqlalchemy import Connection, select

from bot.domain.alert import BOT
from bot.domain.errors import ImpossibleEvent, LedgerUnavailable, UnreadableEntry
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE, OLDER_AT_ONCE, EntryAnchored, OlderNoted
from bot.ledger.append_only import TRIGGERS
from bot.ledger.entries import append_entry, database_time, head_of, read_stream, streams
from bot.ledger.incidents import write_incident_row
from bot.ledger.machines import fill_machines
from bot.ledger.tables import ENTRIES

Change: TypeAlias = str | dict[str, str] | Callable[[Connection], None]  # a dict: by dialect


def _fill_incidents(connection: Connection) -> None:
    for stream in streams(connection):
        # A damaged stream is not listed; an audit reports it. It must not block the migration.
        with contextlib.suppress(ImpossibleEvent, UnreadableEntry):
            write_incident_row(connection, fold(read_stream(connection, stream)))


def _note_older(connection: Connection) -> None:
    """Note which streams are older than the anchors of their entries, so that nobody can date another one back."""
    opened, since = set[str](), ""
    anchors = select(ENTRIES.c.body, ENTRIES.c.at).where(
        ENTRIES.c.stream == HOUSE, ENTRIES.c.kind == EntryAnchored.__name__
    )
    for row in connection.execute(anchors.order_by(ENTRIES.c.seq).execution_options(yield_per=500)):
        since = since or row.at
        with contextlib.suppress(ValueError, TypeError):  # an audit reports it
            body = json.loads(row.body)
            opened |= {str(body.get("incident"))} if isinstance(body, dict) and body.get("seq") == 1 else set()
    first = select(ENTRIES.c.stream, ENTRIES.c.at).where(ENTRIES.c.stream != HOUSE, ENTRIES.c.seq == 1)
    older = [
        row.stream for row in connection.execute(first) if row.stream not in opened and row.at <= (since or row.at)
    ]
    for at in range(0, len(older), OLDER_AT_ONCE):
        heads = {name: head_of(connection, name)[0] for name in older[at : at + OLDER_AT_ONCE]}
        noted = OlderNoted({name: f"{head.seq}:{head.hash}" for name, head in heads.items()})
        append_entry(connection, HOUSE, None, noted, BOT, database_time(connection))


def _close_older_list(connection: Connection) -> None:
    """End the list of streams that are older than anchors, also an empty one: an audit takes no later one."""
    kinds = select(ENTRIES.c.kind).where(ENTRIES.c.stream == HOUSE)
    if connection.execute(kinds.limit(1)).first() is None:
        return  # the first entry says so
    if connection.execute(kinds.where(ENTRIES.c.kind == OlderNoted.__name__).limit(1)).first() is None:
        append_entry(connection, HOUSE, None, OlderNoted({}), BOT, database_time(connection))


_COUNTED = "GENERATED ALWAYS AS IDENTITY"
_DELIVERIES = """source TEXT NOT NULL, id TEXT NOT NULL, number {number}, "case" TEXT NOT NULL, body TEXT NOT NULL,
    kept_at TEXT NOT NULL, due_at TEXT NOT NULL, runner TEXT NOT NULL, attempts INTEGER NOT NULL, error TEXT NOT NULL,
    done BOOLEAN NOT NULL, PRIMARY KEY (source, id)"""
_KEPT_CASES = """incident TEXT NOT NULL, digest TEXT NOT NULL, kept_at TEXT NOT NULL, body {bytes} NOT NULL,
    PRIMARY KEY (incident, digest)"""
_READINGS = """node TEXT NOT NULL, cause TEXT NOT NULL, "at" TEXT NOT NULL, value {double} NOT NULL,
    boot TEXT NOT NULL, PRIMARY KEY (node, cause, "at")"""

MIGRATIONS: Sequence[Sequence[Change]] = (
    (
        """CREATE TABLE entries (
            stream TEXT NOT NULL, seq INTEGER NOT NULL, "at" TEXT NOT NULL, "by" TEXT NOT NULL, kind TEXT NOT NULL,
            body TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (stream, seq))""",
    ),
    (
        *map(dict, TRIGGERS),
        """CREATE TABLE incidents (
            id TEXT NOT NULL PRIMARY KEY, node TEXT NOT NULL, "group" TEXT NOT NULL, state TEXT NOT NULL, cause TEXT,
            source TEXT NOT NULL, source_id TEXT NOT NULL, opened_at TEXT NOT NULL, updated_at TEXT NOT NULL,
            ended BOOLEAN NOT NULL)""",
        {
            "sqlite": "CREATE INDEX open_incidents ON incidents (opened_at) WHERE ended = 0",
            "postgresql": "CREATE INDEX open_incidents ON incidents (opened_at) WHERE NOT ended",
        },
        _fill_incidents,
        """CREATE TABLE posts (
            incident TEXT NOT NULL, part TEXT NOT NULL, number INTEGER NOT NULL, version INTEGER NOT NULL,
            channel TEXT NOT NULL, under TEXT NOT NULL, content TEXT NOT NULL, kept_at TEXT NOT NULL,
            due_at TEXT NOT NULL, attempts INTEGER NOT NULL, error TEXT NOT NULL, waiting BOOLEAN NOT NULL,
            place_channel TEXT, place_ts TEXT, PRIMARY KEY (incident, part))""",
        {
            "sqlite": "CREATE INDEX waiting_posts ON posts (number) WHERE waiting = 1",
            "postgresql": "CREATE INDEX waiting_posts ON posts (number) WHERE waiting",
        },
    ),
    (
        """CREATE TABLE holds (
            node TEXT NOT NULL PRIMARY KEY, incident TEXT NOT NULL UNIQUE, step INTEGER NOT NULL, runner TEXT NOT NULL,
            labels TEXT NOT NULL, beat_at TEXT NOT NULL)""",
        """CREATE TABLE attempts (
            incident TEXT NOT NULL PRIMARY KEY, node TEXT NOT NULL, remedy TEXT NOT NULL, "at" TEXT NOT NULL)""",
        """CREATE INDEX lately_attempted ON attempts ("at")""",
        """CREATE INDEX brake_moved ON entries (seq)
            WHERE stream = 'house' AND kind IN ('BrakePulled', 'BrakeReleased')""",
    ),
    (
        "CREATE TABLE runners (id TEXT NOT NULL PRIMARY KEY, beat_at TEXT NOT NULL)",
        """CREATE TABLE leases ("group" TEXT NOT NULL PRIMARY KEY, runner TEXT NOT NULL)""",
        "ALTER TABLE incidents ADD COLUMN change INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX last_changed ON incidents (change)",
        """CREATE INDEX shown_together ON incidents ("group")""",
    ),
    (
        {
            "sqlite": f"CREATE TABLE deliveries ({_DELIVERIES.format(number='INTEGER NOT NULL')})",
            # Numbered by a sequence, so that an insert does not wait for other writers.
            "postgresql": f"CREATE TABLE deliveries ({_DELIVERIES.format(number='BIGINT NOT NULL ' + _COUNTED)})",
        },
        "CREATE INDEX delivered ON deliveries (number)",
        {
            "sqlite": "CREATE INDEX waiting_deliveries ON deliveries (number) WHERE done = 0",
            "postgresql": "CREATE INDEX waiting_deliveries ON deliveries (number) WHERE NOT done",
        },
        """CREATE TABLE cases (
            source TEXT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL, "group" TEXT NOT NULL, turn TEXT NOT NULL,
            delivery TEXT NOT NULL, opened_at TEXT NOT NULL, over_at TEXT NOT NULL, storm TEXT NOT NULL,
            PRIMARY KEY (source, name))""",
        "CREATE INDEX case_keys ON cases (key, opened_at)",
        "CREATE INDEX case_openings ON cases (opened_at)",
        """CREATE INDEX case_groups ON cases ("group")""",
        """CREATE INDEX incident_groups ON incidents ("group")""",
    ),
    ("CREATE TABLE turns (channel TEXT NOT NULL PRIMARY KEY, free_at TEXT NOT NULL)",),
    (
        {
            "sqlite": "CREATE INDEX given_up_deliveries ON deliveries (number) WHERE done = 1 AND error != ''",
            "postgresql": "CREATE INDEX given_up_deliveries ON deliveries (number) WHERE done AND error != ''",
        },
    ),
    (
        "ALTER TABLE holds ADD COLUMN machine_id TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE attempts ADD COLUMN machine_id TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE attempts ADD COLUMN cure TEXT NOT NULL DEFAULT ''",
        "CREATE TABLE machines (node TEXT NOT NULL PRIMARY KEY, machine_id TEXT NOT NULL)",
        "CREATE INDEX machine_names ON machines (machine_id)",
        fill_machines,
        """CREATE TABLE refusals (
            "by" TEXT NOT NULL, refusal TEXT NOT NULL, wish TEXT NOT NULL, since TEXT NOT NULL, told INTEGER NOT NULL,
            counted INTEGER NOT NULL, PRIMARY KEY ("by", refusal, wish))""",
    ),
    (
        """CREATE TABLE wishes (
            id TEXT NOT NULL PRIMARY KEY, key TEXT NOT NULL, body TEXT NOT NULL, kept_at TEXT NOT NULL,
            runner TEXT NOT NULL, done BOOLEAN NOT NULL)""",
        "CREATE INDEX wishes_by_age ON wishes (kept_at)",
        {
            "sqlite": "CREATE INDEX waiting_wishes ON wishes (kept_at) WHERE done = 0",
            "postgresql": "CREATE INDEX waiting_wishes ON wishes (kept_at) WHERE NOT done",
        },
    ),
    (  # so that frequent queries cost the same, however long the record is
        "CREATE INDEX policy_changed ON entries (seq) WHERE stream = 'house' AND kind = 'PolicyChanged'",
        'CREATE INDEX entries_in_time ON entries ("at", stream, seq)',
        "CREATE INDEX incidents_of_node ON incidents (node, opened_at)",
        "CREATE INDEX posts_in_order ON posts (number)",
        "CREATE INDEX case_storms ON cases (storm) WHERE storm <> ''",
    ),
    (
        {
            "sqlite": f"CREATE TABLE kept_cases ({_KEPT_CASES.format(bytes='BLOB')})",
            "postgresql": f"CREATE TABLE kept_cases ({_KEPT_CASES.format(bytes='BYTEA')})",
        },
        "CREATE INDEX kept_cases_by_age ON kept_cases (kept_at)",
    ),
    (
        """CREATE TABLE waves (
            id TEXT NOT NULL PRIMARY KEY, state TEXT NOT NULL, until TEXT NOT NULL, turns TEXT NOT NULL,
            ended BOOLEAN NOT NULL)""",
    ),
    (
        {
            "sqlite": f"CREATE TABLE readings ({_READINGS.format(double='REAL')})",
            "postgresql": f"CREATE TABLE readings ({_READINGS.format(double='DOUBLE PRECISION')})",
        },
        'CREATE INDEX readings_by_age ON readings ("at")',
    ),
    ("CREATE TABLE sweeps (name TEXT NOT NULL PRIMARY KEY, told TEXT NOT NULL)",),
    ("ALTER TABLE cases ADD COLUMN reopened_at TEXT NOT NULL DEFAULT ''",),
    (_note_older,),
    (
        """CREATE TABLE signals (
            source TEXT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL, node TEXT NOT NULL, "at" TEXT NOT NULL,
            since TEXT NOT NULL, firing BOOLEAN NOT NULL, opened BOOLEAN NOT NULL,
            PRIMARY KEY (source, name, key, node))""",
        'CREATE INDEX signals_by_age ON signals ("at")',
    ),
    (_close_older_list,),
)
VERSION = len(MIGRATIONS)


def schema_version(connection: Connection) -> int:
    """Return the version that the database has, 0 for none. Raises: LedgerUnavailable when what it holds is none."""
    version = connection.exec_driver_sql("SELECT version FROM zombie_schema").scalar_one_or_none() or 0
    if not isinstance(version, int):
        raise LedgerUnavailable("The ledger's database is damaged: its version is not a number.")
    return version


def refuse_newer(connection: Connection, known: int = VERSION) -> int:
    """Return the schema version of the database.

    Raises: LedgerUnavailable as that, and when a newer program wrote it.
    """
    version = schema_version(connection)
    if version > known:
        raise LedgerUnavailable(
            f"The ledger's database has version {version}, and this program knows up to {known}.",
            "Run a program at least as new as the program that wrote it.",
        )
    return version


def migrate(connection: Connection, to: int = VERSION) -> None:
    """Migrate the database to that version.

    Raises: LedgerUnavailable when a newer program wrote it.
    """
    connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS zombie_schema (version INTEGER NOT NULL)")
    connection.exec_driver_sql(
        "INSERT INTO zombie_schema (version) SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM zombie_schema)"
    )
    version = refuse_newer(connection, to)
    if version == to:
        return
    for changes in MIGRATIONS[version:to]:
        for change in changes:
            _apply(connection, change)
    connection.exec_driver_sql(f"UPDATE zombie_schema SET version = {to:d}")


def _apply(connection: Connection, change: Change) -> None:
    if callable(change):
        change(connection)
    else:
        connection.exec_driver_sql(change if isinstance(change, str) else change[connection.dialect.name])
