"""Appends an entry in a transaction of its caller, which also writes the consequences."""

from __future__ import annotations

from sqlalchemy import Connection

from bot.domain.entry import Entry, Event
from bot.domain.errors import Conflict
from bot.domain.house_events import HOUSE, HouseEvent
from bot.ledger.database import Database
from bot.ledger.tables import head_of, insert_entry, sealed


def append_to_house(database: Database, connection: Connection, event: HouseEvent, by: str) -> Entry:
    """Append an event about several incidents, in the transaction that makes the change."""
    return append_entry(connection, HOUSE, None, event, by, database.now(connection))


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
