"""The entries of the ledger: how they are read, sealed and appended."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select

from bot.domain.entry import Entry, Event, Head, body_of, canonical_body, entry_hash, instant_of, instant_text, kind_of
from bot.domain.errors import Conflict, LedgerUnavailable, UnreadableEntry
from bot.domain.house_events import (
    HOUSE,
    OF_HASHES,
    CauseMuted,
    CauseUnmuted,
    OlderNoted,
)
from bot.domain.json_form import MOST_ROOM, MOST_TEXT, check_texts, memory_bytes, whole_number
from bot.domain.safe_text import Redactor
from bot.domain.secret_forms import FORMS_OF_SITES
from bot.ledger.tables import ENTRIES

MUTES = (CauseMuted.__name__, CauseUnmuted.__name__)

NONE_OLDER = "none_older"  # a key in the body of the first entry of `house`
_MOST_LETTERS = 5 * MOST_TEXT  # in a text of a body: marks may make it longer than what was cut
_DECODER = json.JSONDecoder(parse_int=whole_number)  # built once, as an entry is read often
_NOW = {
    "sqlite": "SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
    "postgresql": "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')",
}
# Built once: building a statement costs more than running it.
_OF_STREAM = select(ENTRIES).where(ENTRIES.c.stream == bindparam("named")).order_by(ENTRIES.c.seq)
_LAST = (
    select(ENTRIES.c.seq, ENTRIES.c.hash, ENTRIES.c.at)
    .where(ENTRIES.c.stream == bindparam("named"))
    .order_by(ENTRIES.c.seq.desc())
    .limit(1)
)
_INSERT = insert(ENTRIES).execution_options(preserve_rowcount=True)
_LATER = (
    select(ENTRIES)
    .where(
        ENTRIES.c.stream == HOUSE,
        ENTRIES.c.seq > bindparam("after"),
        ENTRIES.c.seq <= bindparam("until"),
        ENTRIES.c.kind.in_(bindparam("kinds", expanding=True)),
    )
    .order_by(ENTRIES.c.seq)
)


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


def database_time(connection: Connection) -> str:
    """Return the database's time, in the format of entries."""
    return str(connection.exec_driver_sql(_NOW[connection.dialect.name]).scalar_one())


def read_stream(connection: Connection, stream: str) -> tuple[Entry, ...]:
    """Return a stream's entries in order.

    Raises: UnreadableEntry when a row is malformed.
    """
    return tuple(entry_of(row) for row in connection.execute(_OF_STREAM, {"named": stream}))


def head_of(connection: Connection, stream: str) -> tuple[Head, str]:
    """Return a stream's head, and the time of its last entry as stored.

    Raises: UnreadableEntry when that row is malformed.
    """
    row = connection.execute(_LAST, {"named": stream}).one_or_none()
    if row is None:
        return Head(), ""
    try:
        _check_row(row.seq, row.hash, row.at)
    except TypeError as no:
        raise UnreadableEntry(f"Entry {stream}/{row.seq} is malformed: {no}.") from no
    return Head(row.seq, row.hash), row.at


def last_brake(connection: Connection) -> Entry | None:
    """Return the entry by which the brake was moved last.

    Raises: UnreadableEntry when its row is malformed.
    """
    return _first_entry(connection, _LAST_BRAKE)


def pull_of(connection: Connection, request: str) -> Entry | None:
    """Return the entry with which that request pulled the brake, if it is recent; raises as `last_brake`."""
    moves = map(entry_of, connection.exec_driver_sql(_LAST_MOVES[connection.dialect.name]))
    return next((entry for entry in moves if entry.body.get("request") == request), None)


def last_policy(connection: Connection) -> Entry | None:
    """Return the entry that noted a policy last; raises as `last_brake`."""
    return _first_entry(connection, _LAST_POLICY)


def _first_entry(connection: Connection, by_dialect: dict[str, str]) -> Entry | None:
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
        _check_row(row.seq, row.stream, row.by, row.kind, row.body, row.hash)
        if memory_bytes(row.body) > MOST_ROOM:
            raise ValueError(f"its body takes more than {MOST_ROOM // 1024 // 1024} MiB of memory")
        body = _DECODER.decode(row.body)
        if not isinstance(body, dict):
            raise ValueError("its body is not a JSON object")
        if len(row.body) > _MOST_LETTERS:
            check_texts(body, _MOST_LETTERS)
        return Entry(row.stream, row.seq, instant_of(row.at), row.by, row.kind, body, row.hash)
    except (TypeError, ValueError, RecursionError) as no:
        raise UnreadableEntry(f"Entry {row.stream}/{row.seq} is malformed: {no}.") from no


def check_are_texts(*values: object) -> None:
    """Raises: TypeError for bytes, which SQLite stores in any column where another program wrote them."""
    if any(isinstance(value, bytes) for value in values):
        raise TypeError("it holds bytes where a text belongs")


def _check_row(seq: object, *texts: object) -> None:
    """Raises: TypeError as `check_are_texts`, and for a number that is none, which SQLite stores as well."""
    check_are_texts(*texts)
    if not isinstance(seq, int):
        raise TypeError("its number is none")


@FORMS_OF_SITES.cached
def _redactor() -> Redactor:
    return Redactor()  # one for all: the names of fields are the same in every entry


def chained_entry(stream: str, before: Head, at: str, event: Event, by: str) -> Entry:
    """Return the entry of an event, without secrets, chained to the entry before it.

    Shape: the first of `house` also says that no stream is older than its notes, unless it lists those.
    """
    body = body_of(event) if isinstance(event, OF_HASHES) else _redactor().value(body_of(event))
    if stream == HOUSE and not before.seq and not isinstance(event, OlderNoted):
        body[NONE_OLDER] = True
    seq, kind = before.seq + 1, kind_of(event)
    digest = entry_hash(before.hash, stream, seq, at, by, kind, canonical_body(body))
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
    entry = chained_entry(stream, before, max(now, last_at), event, by)
    insert_entry(connection, entry)
    return entry


def insert_entry(connection: Connection, entry: Entry) -> None:
    """Insert an entry. Raises: LedgerUnavailable when a trigger or a rule drops it: nothing may be done unrecorded."""
    row = {
        "stream": entry.stream,
        "seq": entry.seq,
        "at": instant_text(entry.at),
        "by": entry.by,
        "kind": entry.kind,
        "body": canonical_body(entry.body),
        "hash": entry.hash,
    }
    if connection.execute(_INSERT, row).rowcount != 1:
        raise LedgerUnavailable(
            f"The database did not keep entry {entry.stream}/{entry.seq}.",
            "A trigger or a rule of its own drops it: zombie audit verify",
        )


class HouseEntries:
    """The entries of `house` of a few kinds, such as mutes.

    `house` is long and never changes, so each read looks only at what came after the previous read. Of two simultaneous
    reads, the later answer stays. A read that finds nothing new returns what the previous one did, the same tuple.
    """

    def __init__(self, kinds: tuple[str, ...]) -> None:
        self._kinds = kinds
        self._read: tuple[int, tuple[Entry, ...]] = (0, ())

    def read(self, connection: Connection) -> tuple[Entry, ...]:
        """Return all of them, the oldest first.

        Raises: UnreadableEntry when a row is malformed.
        """
        after, known = self._read
        until = head_of(connection, HOUSE)[0].seq
        if until > after:
            rows = connection.execute(_LATER, {"after": after, "until": until, "kinds": self._kinds})
            if later := tuple(entry_of(row) for row in rows):
                known = (*known, *later)
            self._read = (until, known)
        return known
