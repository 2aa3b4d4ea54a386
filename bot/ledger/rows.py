"""Converts between rows of the entries table and entries."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select

from bot.domain.entry import Entry, Head, chained, instant_of, instant_text
from bot.domain.errors import UnreadableEntry
from bot.domain.event_form import Event, body_of, kind_of, written
from bot.domain.house_events import HOUSE
from bot.domain.redaction import redacted
from bot.ledger.tables import ENTRIES

# Built once: building a statement costs more than running it.
_OF_STREAM = select(ENTRIES).where(ENTRIES.c.stream == bindparam("named")).order_by(ENTRIES.c.seq)
_LAST = (
    select(ENTRIES.c.seq, ENTRIES.c.hash, ENTRIES.c.at)
    .where(ENTRIES.c.stream == bindparam("named"))
    .order_by(ENTRIES.c.seq.desc())
    .limit(1)
)
_INSERT = insert(ENTRIES)


def read_stream(connection: Connection, stream: str) -> tuple[Entry, ...]:
    """Return a stream's entries in order.

    Raises: UnreadableEntry when a row is malformed.
    """
    return tuple(entry_of(row) for row in connection.execute(_OF_STREAM, {"named": stream}))


def head_of(connection: Connection, stream: str) -> tuple[Head, str]:
    """Return a stream's head, and the time of its last entry as stored."""
    row = connection.execute(_LAST, {"named": stream}).one_or_none()
    return (Head(), "") if row is None else (Head(row.seq, row.hash), row.at)


def streams(connection: Connection) -> tuple[str, ...]:
    """Return the names of all streams except `house`."""
    names = connection.execute(select(ENTRIES.c.stream).where(ENTRIES.c.stream != HOUSE).distinct())
    return tuple(sorted(names.scalars()))


def entry_of(row: Row[Any]) -> Entry:
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
