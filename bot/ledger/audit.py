"""The audit: recomputes every hash, and compares each incident's end with the entry in the `house` stream.

A hash chain cannot show that it was truncated or rewritten as a whole. That shows against a hash that was noted
elsewhere: every closing card and note has the head of `house`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from sqlalchemy import Row, select

from bot.domain.entry import NOTHING_BEFORE, Entry, Head, chained
from bot.domain.errors import ImpossibleEvent, UnreadableEntry
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE, IncidentEnded, IncidentsPruned
from bot.ledger.database import Database
from bot.ledger.summaries import LINE, line_of
from bot.ledger.tables import ENTRIES, entry_of

_FIELDS = ("stream", "seq", "at", "by", "kind", "body", "hash")


@dataclass(frozen=True, slots=True)
class Broken:
    """One entry that was changed or is missing. `seq` 0 means the whole stream."""

    stream: str
    seq: int
    says: str

    def __str__(self) -> str:
        return f"{self.stream}/{self.seq}: {self.says}" if self.seq else f"{self.stream}: {self.says}"


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of an audit. The record is intact when `broken` is empty."""

    entries: int
    incidents: int
    house: Head
    broken: tuple[Broken, ...]


@dataclass(slots=True)
class _Found:
    """What the audit has found so far."""

    noted: str
    noted_is_there: bool = False
    entries: int = 0
    heads: dict[str, Head] = field(default_factory=dict)
    ended: dict[str, IncidentEnded] = field(default_factory=dict)  # by the house stream
    should_have_ended: dict[str, int] = field(default_factory=dict)  # by their own entries, with the last one's number
    broken: list[Broken] = field(default_factory=list)


def audit(database: Database, noted: str = "") -> Audit:
    """Check all entries. `noted` is a hash, or the beginning of one, that the record must contain."""
    found = _Found(noted.lower())
    with database.reading() as connection:
        rows = connection.execution_options(yield_per=500).execute(
            select(ENTRIES).order_by(ENTRIES.c.stream, ENTRIES.c.seq)
        )
        lines = {row.id: dict(row._mapping) for row in connection.execute(select(*LINE))}
        for stream, of_stream in groupby(rows, key=lambda row: row.stream):
            entries = _chain(str(stream), of_stream, found)
            if stream == HOUSE:
                _house(entries, found)
            else:
                _incident(str(stream), entries, lines.pop(stream, None), found)
    for stream in lines:
        found.broken.append(Broken(str(stream), 0, "is listed as an incident but has no entries"))
    _ends(found)
    if noted and not found.noted_is_there:
        says = f"no entry has the hash {noted}: the record was truncated or rewritten"
        found.broken.append(Broken(HOUSE, 0, says))
    incidents = len(found.heads.keys() - {HOUSE})
    return Audit(found.entries, incidents, found.heads.get(HOUSE, Head()), tuple(found.broken))


def _chain(stream: str, rows: Iterator[Row[Any]], found: _Found) -> list[Entry] | None:
    """Recompute a stream's hashes. Return its entries, or None if any row was changed."""
    entries: list[Entry] | None = []
    broken_before = len(found.broken)
    previous, expected = {NOTHING_BEFORE}, 1
    for row in rows:
        found.entries += 1
        values = [row._mapping[name] for name in _FIELDS]
        says = ""
        if not isinstance(row.seq, int) or not all(isinstance(value, str) for value in (*values[:1], *values[2:])):
            says, hashes = "has values of the wrong types", set()
        else:
            hashes = {chained(digest, *values[:-1]) for digest in previous}
            if row.seq != expected:
                found.broken.append(Broken(stream, expected, f"is missing; the next entry is {row.seq}"))
            elif row.hash not in hashes:
                says = "its hash does not match its content and the entry before it"
            expected = row.seq + 1
        if says:
            found.broken.append(Broken(stream, row.seq if isinstance(row.seq, int) else expected, says))
        # After a broken entry the next may match either hash, so that one changed field is one broken entry.
        previous = {str(row.hash)} | (hashes if says else set())
        found.noted_is_there |= bool(found.noted) and not says and str(row.hash).startswith(found.noted)
        found.heads[stream] = Head(expected - 1, str(row.hash))
        entries = _and_entry(entries, row)
    return entries if len(found.broken) == broken_before else None


def _and_entry(entries: list[Entry] | None, row: Row[Any]) -> list[Entry] | None:
    try:
        return None if entries is None else [*entries, entry_of(row)]
    except UnreadableEntry:
        return None


def _house(entries: list[Entry] | None, found: _Found) -> None:
    for entry in entries or ():
        try:
            event = entry.event
        except UnreadableEntry:
            continue  # intact, but written by a newer program
        if isinstance(event, IncidentEnded):
            found.ended[event.incident] = event
        elif isinstance(event, IncidentsPruned):  # whose entries are gone, as is noted here
            for incident in event.heads:
                found.ended.pop(incident, None)


def _incident(stream: str, entries: list[Entry] | None, line: dict[str, Any] | None, found: _Found) -> None:
    if entries is None:
        return
    try:
        incident = fold(entries)
    except ImpossibleEvent as no:
        found.broken.append(Broken(stream, len(entries), f"is not a valid incident: {no.sentence}"))
        return
    except UnreadableEntry:
        return  # intact, but written by a newer program
    if line != line_of(incident):
        found.broken.append(Broken(stream, incident.seq, "the list of incidents differs from its entries"))
    if incident.ended:
        found.should_have_ended[stream] = incident.seq


def _ends(found: _Found) -> None:
    for stream, end in found.ended.items():
        if found.heads.get(stream) != Head(end.seq, end.head):
            says = f"does not end as noted in house, with entry {end.seq}: entries were removed, added or rewritten"
            found.broken.append(Broken(stream, found.heads.get(stream, Head()).seq, says))
    for stream, seq in found.should_have_ended.items():
        if stream not in found.ended:
            found.broken.append(Broken(HOUSE, 0, f"the note of the end of {stream}, entry {seq}, is missing"))
