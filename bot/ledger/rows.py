"""Rows of the table of entries, and the entries they are."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, Row, insert, select

from bot.domain.entry import Entry, Head, chained, instant_of, instant_text
from bot.domain.errors import UnreadableEntry
from bot.domain.event_form import Event, body_of, kind_of, written
from bot.domain.house_events import HOUSE
from bot.domain.redaction import redacted
from bot.ledger.tables import ENTRIES


def read_stream(connection: Connection, stream: str) -> tuple[Entry, ...]:
    """Return a stream's entries in order.

    Raises: UnreadableEntry when a row is no entry.
    """
    rows = connection.execute(select(ENTRIES).where(ENTRIES.c.stream == stream).order_by(ENTRIES.c.seq))
    return tuple(entry_of(row) for row in rows)


def head_of(connection: Connection, stream: str) -> tuple[Head, str]:
    """Return where a stream ends, and the instant of its last entry as it is kept."""
    columns = select(ENTRIES.c.seq, ENTRIES.c.hash, ENTRIES.c.at).where(ENTRIES.c.stream == stream)
    row = connection.execute(columns.order_by(ENTRIES.c.seq.desc()).limit(1)).one_or_none()
    return (Head(), "") if row is None else (Head(row.seq, row.hash), row.at)


def streams(connection: Connection) -> tuple[str, ...]:
    """Return the names of all streams but the house's."""
    names = connection.execute(select(ENTRIES.c.stream).where(ENTRIES.c.stream != HOUSE).distinct())
    return tuple(sorted(names.scalars()))


def entry_of(row: Row[Any]) -> Entry:
    """Return the entry that a row is.

    Raises: UnreadableEntry when it is none.
    """
    try:
        body = json.loads(row.body)
        if not isinstance(body, dict):
            raise ValueError("its body is no JSON object")
        return Entry(row.stream, row.seq, instant_of(row.at), row.by, row.kind, body, row.hash)
    except (TypeError, ValueError, RecursionError) as no:
        raise UnreadableEntry(f"Entry {row.stream}/{row.seq} is malformed: {no}.") from no


def sealed(stream: str, before: Head, at: str, event: Event, by: str) -> Entry:
    """Return the entry that an event becomes after the one before it: secrets taken out, chained."""
    body = redacted(body_of(event))
    seq, kind = before.seq + 1, kind_of(event)
    digest = chained(before.hash, stream, seq, at, by, kind, written(body))
    return Entry(stream, seq, instant_of(at), by, kind, body, digest)


def insert_entry(connection: Connection, entry: Entry) -> None:
    """Write an entry down."""
    connection.execute(
        insert(ENTRIES).values(
            stream=entry.stream,
            seq=entry.seq,
            at=instant_text(entry.at),
            by=entry.by,
            kind=entry.kind,
            body=written(entry.body),
            hash=entry.hash,
        )
    )
