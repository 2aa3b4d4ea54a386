"""The tables, for queries, and how entries are read and appended; `migrations.py` creates the tables.

Longer than 300 lines: all tables for queries are together.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    bindparam,
    insert,
    select,
)

from bot.domain.entry import Entry, Event, Head, body_of, chained, instant_of, instant_text, kind_of, written
from bot.domain.errors import Conflict, UnreadableEntry
from bot.domain.house_events import HOUSE
from bot.domain.redaction import redacted

_METADATA = MetaData()

# The source of truth: the other tables are derived from it, or are not about what happened.
ENTRIES = Table(
    "entries",
    _METADATA,
    Column("stream", Text, primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("at", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("hash", Text, nullable=False),
)

# A row per incident, updated with every entry, so that a list does not fold everything. `change` numbers the changes
# of all incidents: the row that changed last has the greatest.
INCIDENTS = Table(
    "incidents",
    _METADATA,
    Column("id", Text, primary_key=True),
    Column("node", Text, nullable=False),
    Column("group", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("cause", Text),
    Column("source", Text, nullable=False),
    Column("source_id", Text, nullable=False),
    Column("opened_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    Column("ended", Boolean, nullable=False),
    Column("change", Integer, nullable=False),
)

# `number` is the order in which parts were first stored; `version` counts the posts of an (incident, part).
POSTS = Table(
    "posts",
    _METADATA,
    Column("incident", Text, primary_key=True),
    Column("part", Text, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("channel", Text, nullable=False),
    Column("under", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("kept_at", Text, nullable=False),
    Column("due_at", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("error", Text, nullable=False),
    Column("waiting", Boolean, nullable=False),
    Column("place_channel", Text),
    Column("place_ts", Text),
)

# When the next post to a channel is allowed: programs that limit their rate reserve their slots here.
TURNS = Table(
    "turns",
    _METADATA,
    Column("channel", Text, primary_key=True),
    Column("free_at", Text, nullable=False),
)

# Exclusive holds on nodes: a row per node, from an incident's first step to its end. `machine_id` is empty where nobody
# knows it: a machine may have several names.
HOLDS = Table(
    "holds",
    _METADATA,
    Column("node", Text, primary_key=True),
    Column("incident", Text, nullable=False),
    Column("step", Integer, nullable=False),
    Column("runner", Text, nullable=False),
    Column("labels", Text, nullable=False),
    Column("beat_at", Text, nullable=False),
    Column("machine_id", Text, nullable=False),
)

# Every incident whose plan was begun, and when: for the budgets per hour and day. `remedy` names the plan with its
# node, `cure` without.
ATTEMPTS = Table(
    "attempts",
    _METADATA,
    Column("incident", Text, primary_key=True),
    Column("node", Text, nullable=False),
    Column("remedy", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("machine_id", Text, nullable=False),
    Column("cure", Text, nullable=False),
)

# The machine-id that each node showed last.
MACHINES = Table(
    "machines",
    _METADATA,
    Column("node", Text, primary_key=True),
    Column("machine_id", Text, nullable=False),
)

# Refusals by who was refused what: since when, how many entries that made, and how many were only counted.
REFUSALS = Table(
    "refusals",
    _METADATA,
    Column("by", Text, primary_key=True),
    Column("refusal", Text, primary_key=True),
    Column("wish", Text, primary_key=True),
    Column("since", Text, nullable=False),
    Column("told", Integer, nullable=False),
    Column("counted", Integer, nullable=False),
)

# The programs that serve at this ledger, with their last heartbeat.
RUNNERS = Table(
    "runners",
    _METADATA,
    Column("id", Text, primary_key=True),
    Column("beat_at", Text, nullable=False),
)

# Which program handles a group of incidents: shows its card, reads its nodes, executes its plans.
LEASES = Table(
    "leases",
    _METADATA,
    Column("group", Text, primary_key=True),
    Column("runner", Text, nullable=False),
)

# Deliveries of sources, by the source's own id, in the order of `number`.
DELIVERIES = Table(
    "deliveries",
    _METADATA,
    Column("source", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("case", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("kept_at", Text, nullable=False),
    Column("due_at", Text, nullable=False),
    Column("runner", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("error", Text, nullable=False),
    Column("done", Boolean, nullable=False),
)

# What people asked for in a chat, by the chat's id of each delivery. `runner` handles it, or did when it died.
CHAT_REQUESTS = Table(
    "wishes",
    _METADATA,
    Column("id", Text, primary_key=True),
    Column("key", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("kept_at", Text, nullable=False),
    Column("runner", Text, nullable=False),
    Column("done", Boolean, nullable=False),
)

# A row a wave, updated with every entry: a step of it begins only where the wave runs and has given its incident the
# turn. `turns` is a JSON list of those incidents.
WAVES = Table(
    "waves",
    _METADATA,
    Column("id", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("until", Text, nullable=False),
    Column("turns", Text, nullable=False),
    Column("ended", Boolean, nullable=False),
)

# What the nodes of incidents said: cases, compressed, by their content hash.
KEPT_CASES = Table(
    "kept_cases",
    _METADATA,
    Column("incident", Text, primary_key=True),
    Column("digest", Text, primary_key=True),
    Column("kept_at", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

# What was counted on nodes, a number for each look; `boot` is the boot it was counted in.
READINGS = Table(
    "readings",
    _METADATA,
    Column("node", Text, primary_key=True),
    Column("cause", Text, primary_key=True),
    Column("at", Text, primary_key=True),
    Column("value", Float, nullable=False),
    Column("boot", Text, nullable=False),
)

# The last posted digest of each scheduled sweep.
SWEEPS = Table(
    "sweeps",
    _METADATA,
    Column("name", Text, primary_key=True),
    Column("told", Text, nullable=False),
)

# Each case of a source and its group of incidents. `over_at` is empty while it fires; with `delivery` it last began.
CASES = Table(
    "cases",
    _METADATA,
    Column("source", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("key", Text, nullable=False),
    Column("group", Text, nullable=False),
    Column("turn", Text, nullable=False),
    Column("delivery", Text, nullable=False),
    Column("opened_at", Text, nullable=False),
    Column("over_at", Text, nullable=False),
    Column("storm", Text, nullable=False),
    Column("reopened_at", Text, nullable=False),  # when its source says that it was reopened last; empty: never
)


# Built once: building a statement costs more than running it.
_OF_STREAM = select(ENTRIES).where(ENTRIES.c.stream == bindparam("named")).order_by(ENTRIES.c.seq)
_LAST = (
    select(ENTRIES.c.seq, ENTRIES.c.hash, ENTRIES.c.at)
    .where(ENTRIES.c.stream == bindparam("named"))
    .order_by(ENTRIES.c.seq.desc())
    .limit(1)
)
_INSERT = insert(ENTRIES)


def _last_of_house(index: str, kinds: str, most: int = 1) -> dict[str, str]:
    """Return the question for the last entries of these kinds in `house`, by dialect.

    Kinds are written out like in the partial index: for a parameter, a database cannot tell whether the index
    covers it. SQLite gets the index by name, because it would assume that `house` is as short as an average stream.
    """
    asked = "SELECT * FROM entries{} WHERE stream = 'house' AND {} ORDER BY seq DESC LIMIT {}"
    return {"sqlite": asked.format(f" INDEXED BY {index}", kinds, most), "postgresql": asked.format("", kinds, most)}


_LAST_BRAKE = _last_of_house("brake_moved", "kind IN ('BrakePulled', 'BrakeReleased')")
_LAST_MOVES = _last_of_house("brake_moved", "kind IN ('BrakePulled', 'BrakeReleased')", most=100)
_LAST_POLICY = _last_of_house("policy_changed", "kind = 'PolicyChanged'")


def read_stream(connection: Connection, stream: str) -> tuple[Entry, ...]:
    """Return a stream's entries in order.

    Raises: UnreadableEntry when a row is malformed.
    """
    return tuple(entry_of(row) for row in connection.execute(_OF_STREAM, {"named": stream}))


def head_of(connection: Connection, stream: str) -> tuple[Head, str]:
    """Return a stream's head, and the time of its last entry as stored."""
    row = connection.execute(_LAST, {"named": stream}).one_or_none()
    return (Head(), "") if row is None else (Head(row.seq, row.hash), row.at)


def last_brake(connection: Connection) -> Entry | None:
    """Return the entry by which the brake was moved last.

    Raises: UnreadableEntry when its row is malformed.
    """
    return _first(connection, _LAST_BRAKE)


def pull_of(connection: Connection, request: str) -> Entry | None:
    """Return the entry with which that request pulled the brake, if it is a recent one; raises as `last_brake`."""
    moves = map(entry_of, connection.exec_driver_sql(_LAST_MOVES[connection.dialect.name]))
    return next((entry for entry in moves if entry.body.get("request") == request), None)


def last_policy(connection: Connection) -> Entry | None:
    """Return the entry that noted a policy last; raises as `last_brake`."""
    return _first(connection, _LAST_POLICY)


def _first(connection: Connection, by_dialect: dict[str, str]) -> Entry | None:
    row = connection.exec_driver_sql(by_dialect[connection.dialect.name]).one_or_none()
    return None if row is None else entry_of(row)


def streams(connection: Connection) -> tuple[str, ...]:
    """Return the names of all streams except `house`."""
    names = connection.execute(select(ENTRIES.c.stream).where(ENTRIES.c.stream != HOUSE).distinct())
    return tuple(sorted(names.scalars()))


def entry_of(row: Any) -> Entry:
    """Return a row's entry.

    Raises: UnreadableEntry when the row is malformed.
    """
    try:
        body = json.loads(row.body)
        if not isinstance(body, dict):
            raise ValueError("its body is not a JSON object")
        return Entry(row.stream, row.seq, instant_of(row.at), row.by, row.kind, body, row.hash)
    except (TypeError, ValueError, RecursionError) as no:
        raise UnreadableEntry(f"Entry {row.stream}/{row.seq} is malformed: {no}.") from no


def sealed(stream: str, before: Head, at: str, event: Event, by: str) -> Entry:
    """Return the entry of an event, without secrets, chained to the entry before it."""
    body = redacted(body_of(event))
    seq, kind = before.seq + 1, kind_of(event)
    digest = chained(before.hash, stream, seq, at, by, kind, written(body))
    return Entry(stream, seq, instant_of(at), by, kind, body, digest)


def append_entry(
    connection: Connection, stream: str, expected_seq: int | None, event: Event, by: str, now: str
) -> Entry:
    """Append an event in a transaction that also writes its consequences.

    Raises: Conflict when the stream has another length.
    """
    before, last_at = head_of(connection, stream)
    if expected_seq is not None and before.seq != expected_seq:
        raise Conflict(f"{stream} has {before.seq} entries, not {expected_seq}.", "Read it again and decide again.")
    entry = sealed(stream, before, max(now, last_at), event, by)
    insert_entry(connection, entry)
    return entry


def insert_entry(connection: Connection, entry: Entry) -> None:
    """Insert an entry."""
    row = {
        "stream": entry.stream,
        "seq": entry.seq,
        "at": instant_text(entry.at),
        "by": entry.by,
        "kind": entry.kind,
        "body": written(entry.body),
        "hash": entry.hash,
    }
    connection.execute(_INSERT, row)
