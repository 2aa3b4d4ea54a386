"""The part of the record in a bundle: an incident's entries, and `house` from the opening to a noted head."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, bindparam, select

from bot.domain.entry import ANCHORED, Head, NotedHead
from bot.domain.errors import BundleError
from bot.domain.house_events import HOUSE, EntryAnchored, IncidentEnded
from bot.ledger.chain import FIELDS, Chain
from bot.ledger.database import Database
from bot.ledger.tables import ENTRIES

_COLUMNS = [ENTRIES.c[name] for name in FIELDS]
_OF_INCIDENT = select(*_COLUMNS).where(ENTRIES.c.stream == bindparam("named")).order_by(ENTRIES.c.seq)
_HOUSE = select(*_COLUMNS).where(ENTRIES.c.stream == HOUSE).order_by(ENTRIES.c.seq)
_AT_ONCE = {"yield_per": 500}  # so that a long `house` takes no memory
_SINCE = _HOUSE.where(ENTRIES.c.at >= bindparam("since")).execution_options(**_AT_ONCE)
_FROM = _HOUSE.where(ENTRIES.c.seq >= bindparam("first")).execution_options(**_AT_ONCE)
_ENTRY = select(ENTRIES.c.seq, ENTRIES.c.hash).where(ENTRIES.c.stream == HOUSE, ENTRIES.c.seq == bindparam("number"))


class StoredEntry(NamedTuple):
    """An entry as the database has it; `body` is exactly the text that was hashed."""

    stream: str
    seq: int
    at: str
    by: str
    kind: str
    body: str
    hash: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """An incident's entries and those of `house`: from the one after `before` to `last`, none where these are equal."""

    entries: tuple[StoredEntry, ...]
    before: Head
    last: Head
    connection: Connection

    def house(self) -> Iterator[StoredEntry]:
        """Read the entries of `house`, some at a time."""
        if self.last != self.before:
            with _house(self.connection, _FROM, first=self.before.seq + 1) as entries:
                yield from takewhile(lambda entry: entry.seq <= self.last.seq, entries)


@contextmanager
def excerpt(database: Database, incident: str, until: NotedHead | None = None) -> Iterator[Excerpt]:
    """Return what the record holds about an incident, in a consistent view that lasts as long as the context.

    Shape: `house` from the note of the incident's opening to that of its last entry, if it has ended (an alert that
    clears after the end is noted as an end again), or to its last note while it is open; and never less than to the
    head `until`. No entries: there is no such incident.

    Raises: LedgerUnavailable when the database cannot be read; BundleError when the record has no such head, or what it
    holds of the incident is broken.
    """
    with database.reading() as connection:
        entries = tuple(_stored_entry(row) for row in connection.execute(_OF_INCIDENT, {"named": incident}))
        if not entries:
            yield Excerpt((), Head(), Head(), connection)
            return
        chain = Chain(incident)
        for entry in entries:
            chain.follow(entry)
        _refuse_broken(chain)
        before, last = _house_bounds(connection, entries, until)
        yield Excerpt(entries, before, last, connection)


def _house_bounds(connection: Connection, entries: Sequence[StoredEntry], until: NotedHead | None) -> tuple[Head, Head]:
    """Follow `house` from the first note about the incident; return the entry before it, and where it is enough."""
    incident, end = entries[0].stream, entries[-1].seq
    first = _first_note(connection, incident, entries[0].at) or _first_note(connection, incident)
    before = _head_before(connection, first)
    last, chain = before, Chain(HOUSE, before)
    hashes, noted, noted_end = {entry.seq: entry.hash for entry in entries}, set[int](), 0
    is_reached = until is None or any(until.is_of(entry.stream, entry.seq, entry.hash) for entry in entries)
    with _house(connection, _FROM, first=first) if first else nullcontext(()) as following:
        for entry in following:
            chain.follow(entry)
            tells, digest = _note_of(entry, incident)
            if tells and hashes.get(tells) != digest:
                raise _broken(f"{incident}/{tells}: it is not the entry that house noted, in {HOUSE}/{entry.seq}")
            if tells:
                noted.add(tells)
                noted_end = tells if entry.kind == IncidentEnded.__name__ else noted_end
            is_until = until is not None and until.is_of(HOUSE, entry.seq, entry.hash)
            if tells or is_until:
                last, is_reached = chain.head, is_reached or is_until
                _refuse_broken(chain)
            if is_reached and noted_end == end:
                break
    if noted_end not in (0, end):
        raise _broken(f"{incident}/{end}: the end that house noted is entry {noted_end}")
    added = next((entry for entry in entries if entry.kind in ANCHORED and entry.seq not in noted), None)
    if 1 in noted and added is not None:
        raise _broken(f"{incident}/{added.seq}: house has no note of it")
    if not is_reached:
        raise BundleError(
            f"The record has no head {until} after the incident was opened.",
            "Take a head from the incident's closing card or note, or leave it out. See: zombie audit verify",
        )
    return before, last


def _first_note(connection: Connection, incident: str, since: str = "") -> int:
    """Return the number of the first entry of `house` that notes the incident, since then; 0 where there is none."""
    with _house(connection, _SINCE, since=since) as notes:
        return next((entry.seq for entry in notes if _note_of(entry, incident)[0]), 0)


@contextmanager
def _house(connection: Connection, asked: Select[Any], **bound: Any) -> Iterator[Iterator[StoredEntry]]:
    """Read entries of `house`, some at a time, as long as the context: whoever has seen enough leaves the rest."""
    with connection.execute(asked, bound) as rows:
        yield map(_stored_entry, rows)


def _note_of(entry: StoredEntry, incident: str) -> tuple[int, str]:
    """Return number and hash of the incident's entry that an entry of `house` notes; 0 if it notes another, or none."""
    if entry.kind not in (EntryAnchored.__name__, IncidentEnded.__name__) or incident not in entry.body:
        return 0, ""
    try:
        body: Any = json.loads(entry.body)
    except ValueError:
        return 0, ""
    seq = body.get("seq") if isinstance(body, dict) and body.get("incident") == incident else 0
    return (seq, str(body.get("head"))) if isinstance(seq, int) else (0, "")


def _head_before(connection: Connection, first: int) -> Head:
    if first <= 1:
        return Head()
    row = connection.execute(_ENTRY, {"number": first - 1}).one_or_none()
    return Head(row.seq, row.hash) if row is not None else Head(first - 1)


def _stored_entry(row: Any) -> StoredEntry:
    return StoredEntry(*row)


def _refuse_broken(chain: Chain) -> None:
    if chain.broken:
        raise _broken(str(chain.broken[0]))


def _broken(says: str) -> BundleError:
    return BundleError(f"The record is broken: {says}.", "Look at all of it: zombie audit verify")
