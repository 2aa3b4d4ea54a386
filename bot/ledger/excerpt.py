"""The part of the record in a bundle: an incident's entries, and `house` from the opening to a noted head."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select

from bot.domain.bundle import KeptEntry
from bot.domain.entry import Head, NotedHead
from bot.domain.errors import BundleError
from bot.domain.house_events import HOUSE, EntryAnchored, IncidentEnded
from bot.ledger.chain import FIELDS, Chain
from bot.ledger.database import Database
from bot.ledger.tables import ENTRIES

_COLUMNS = [ENTRIES.c[name] for name in FIELDS]
_OF_INCIDENT = select(*_COLUMNS).where(ENTRIES.c.stream == bindparam("named")).order_by(ENTRIES.c.seq)
_SINCE = (
    select(*_COLUMNS)
    .where(ENTRIES.c.stream == HOUSE, ENTRIES.c.at >= bindparam("since"))
    .order_by(ENTRIES.c.seq)
    .execution_options(yield_per=500)
)
_ENTRY = select(ENTRIES.c.seq, ENTRIES.c.hash).where(ENTRIES.c.stream == HOUSE, ENTRIES.c.seq == bindparam("number"))


@dataclass(frozen=True, slots=True)
class Excerpt:
    """An incident's entries and those of `house`; `before` is the entry of `house` before the first of these."""

    entries: tuple[KeptEntry, ...]
    house: tuple[KeptEntry, ...]
    before: Head


def excerpt(database: Database, incident: str, until: NotedHead | None = None) -> Excerpt:
    """Return what the record holds about an incident, in a consistent view.

    Shape: `house` from the note of the incident's opening to that of its end, or to its last note while it is open;
    further, to the head `until`, if given. No entries: there is no such incident.

    Raises: LedgerUnavailable when the database cannot be read; BundleError when the record has no such head, or what it
    holds of the incident is broken.
    """
    with database.reading() as connection:
        entries = tuple(_kept(row) for row in connection.execute(_OF_INCIDENT, {"named": incident}))
        if not entries:
            return Excerpt((), (), Head())
        house = _of_house(connection, incident, entries[0].at, until)
        before = _before(connection, house)
    _whole(entries, Head())
    _whole(house, before)
    return Excerpt(entries, house, before)


def _of_house(connection: Connection, incident: str, since: str, until: NotedHead | None) -> tuple[KeptEntry, ...]:
    kept: list[KeptEntry] = []
    end = 0  # how many reach to the last note about the incident, or to the given head
    for row in connection.execute(_SINCE, {"since": since}):
        entry = _kept(row)
        tells = _tells_of(entry, incident)
        if not kept and not tells:
            continue
        kept.append(entry)
        if until is None and tells:
            end = len(kept)
            if entry.kind == IncidentEnded.__name__:
                break
        if until is not None and entry.hash.startswith(until.digits) and until.seq in (None, entry.seq):
            return tuple(kept)
    if until is not None:
        raise BundleError(
            f"The record has no head {until} after the incident was opened.",
            "Take a head from the incident's closing card or note, or leave it out. See: zombie audit verify",
        )
    return tuple(kept[:end])


def _tells_of(entry: KeptEntry, incident: str) -> bool:
    if entry.kind not in (EntryAnchored.__name__, IncidentEnded.__name__) or incident not in entry.body:
        return False
    try:
        body: Any = json.loads(entry.body)
    except ValueError:
        return False
    return isinstance(body, dict) and body.get("incident") == incident


def _before(connection: Connection, house: Sequence[KeptEntry]) -> Head:
    if not house or house[0].seq == 1:
        return Head()
    row = connection.execute(_ENTRY, {"number": house[0].seq - 1}).one_or_none()
    return Head(row.seq, row.hash) if row is not None else Head(house[0].seq - 1)


def _kept(row: Any) -> KeptEntry:
    return KeptEntry(*row)


def _whole(entries: Sequence[KeptEntry], after: Head) -> None:
    if broken := next(_broken(entries, after), None):
        raise BundleError(f"The record is broken: {broken}.", "Look at all of it: zombie audit verify")


def _broken(entries: Sequence[KeptEntry], after: Head) -> Iterator[str]:
    if entries:
        chain = Chain(entries[0].stream, after)
        for entry in entries:
            chain.follow(entry)
        yield from map(str, chain.broken)
