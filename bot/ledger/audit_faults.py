"""What an audit compares: tables of what the record says, and each fault as a question to them.

The tables are a temporary SQLite database, which SQLite moves to disk when it grows
(https://sqlite.org/inmemorydb.html#temp_db), so that an audit of any record takes the same memory.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from bot.domain.errors import LedgerUnavailable
from bot.domain.safe_text import one_line
from bot.ledger.chain import Broken

_AT_ONCE = 100  # rows that wait until they are stored together
_CLOCK_OR_FORGED = "a clock was set back, or it is forged"
_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
BEGIN;
-- Every entry. hash: NULL where it is not right. at: NULL where the entry cannot be read. due: its kind, where `house`
-- has to note it unless it is older than the notes. names: the hash of a case.
CREATE TABLE entry (stream, seq, at, hash, due, names);
-- The end of each stream but `house`. is_ended: what its entries say; NULL where they were not followed to the end.
CREATE TABLE chain (stream, seq, hash, is_wave, is_ended);
-- What `house` says of an entry (anchor, end, older) or of an incident (pruned, released). at: when it was noted, and
-- is_sure whether it was then; of a pruned one, before when it had to have ended.
CREATE TABLE noted (stream, kind, seq, head, at, is_sure);
-- The rows that have to stand in other tables. says: what is wrong where none is equal. begun: the entry that had it
-- written, if a program of today wrote that.
CREATE TABLE derived (stream, name, value, at, seq, says, begun);
-- The rows that stand there.
CREATE TABLE stored (stream, name, value, at);
-- The cases that are kept.
CREATE TABLE kept (stream, digest);
-- The heads that were noted outside of the record. place: words that say where.
CREATE TABLE given (seq, digits, head, place);
"""
_VIEWS = """
CREATE INDEX entries ON entry (stream, seq);
CREATE INDEX chains ON chain (stream);
CREATE INDEX notes ON noted (stream, seq);
CREATE INDEX rows ON stored (stream, name);
CREATE INDEX rows_to_be ON derived (stream, name);
CREATE INDEX cases ON kept (stream, digest);
CREATE INDEX heads ON given (substr(digits, 1, 32));
CREATE VIEW note AS SELECT rowid AS number, * FROM noted WHERE kind IN ('anchor', 'end', 'older');
-- The first note of an entry counts: a later one, which anybody may append, never takes its place.
CREATE VIEW first_note AS SELECT stream, seq, head, min(number) FROM note GROUP BY stream, seq;
CREATE VIEW end_note AS
    SELECT stream, seq, head FROM first_note
    JOIN (SELECT stream, max(seq) AS seq FROM note WHERE kind = 'end' GROUP BY stream) USING (stream, seq);
-- The last entry of which `house` has no note, because that is older than its notes.
CREATE VIEW older AS SELECT stream, max(seq) AS seq FROM note WHERE kind = 'older' GROUP BY stream;
CREATE VIEW dated_back AS
    SELECT stream, seq, entry.at AS at, anchor.at AS noted_at, is_sure
    FROM (SELECT stream, seq, at, is_sure, min(number) FROM note WHERE kind = 'anchor' GROUP BY stream, seq) AS anchor
    JOIN entry USING (stream, seq)
    WHERE anchor.at > strftime('%Y-%m-%dT%H:%M:%fZ', entry.at, '+1 minute');
CREATE VIEW pruned AS
    SELECT * FROM noted WHERE kind = 'pruned' AND stream NOT IN (SELECT stream FROM chain);
-- Pruned at another entry than its end.
CREATE VIEW pruned_elsewhere AS
    SELECT stream, min(pruned.seq) AS seq FROM pruned JOIN end_note USING (stream)
    WHERE (pruned.seq, pruned.head) IS NOT (end_note.seq, end_note.head)
        OR EXISTS (SELECT * FROM note
            WHERE note.stream = pruned.stream AND kind = 'anchor' AND note.seq > end_note.seq)
    GROUP BY stream;
-- Pruned, and noted later than it had to have ended: of such notes one that is sure, and of those the end.
CREATE VIEW pruned_early AS
    SELECT stream, pruned.seq, pruned.at AS until, note.at AS at, note.is_sure AS is_sure,
        CASE note.kind WHEN 'end' THEN 'ended' ELSE 'was noted' END AS what,
        max(2 * note.is_sure + (note.kind = 'end'))
    FROM pruned JOIN note USING (stream)
    WHERE note.kind IN ('anchor', 'end') AND note.at > strftime('%Y-%m-%dT%H:%M:%fZ', pruned.at, '+1 minute')
        AND stream IN (SELECT stream FROM end_note) AND stream NOT IN (SELECT stream FROM pruned_elsewhere)
    GROUP BY stream;
CREATE VIEW unfound AS
    SELECT head, place FROM given WHERE seq IS NULL AND rowid NOT IN
        (SELECT given.rowid FROM entry CROSS JOIN given ON substr(entry.hash, 1, 32) = substr(given.digits, 1, 32)
        WHERE substr(entry.hash, 1, length(digits)) = digits);
"""
_GONE = """SELECT count(*) FROM entry WHERE names IS NOT NULL
    AND NOT EXISTS (SELECT * FROM kept WHERE kept.stream = entry.stream AND digest = names)"""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that the tables show.

    Shape: `query` returns a stream, the number of an entry, and what fills the gaps of `says`. `is_broken` is False
    where it may be none.
    """

    says: str
    query: str
    is_broken: bool = True


FAULTS = (
    Fault(
        "was noted in house twice, with different hashes: one is forged",
        """SELECT stream, min(seq) FROM
            (SELECT stream, seq FROM note GROUP BY stream, seq HAVING count(DISTINCT head) > 1)
        GROUP BY stream""",
    ),
    Fault(
        "is not the entry that house noted: it was rewritten",
        """SELECT stream, min(seq) FROM first_note JOIN entry USING (stream, seq)
        WHERE entry.hash <> first_note.head GROUP BY stream""",
    ),
    Fault(
        "is dated {}, and house noted it at {}: it is dated back",
        "SELECT stream, seq, at, noted_at FROM dated_back WHERE is_sure",
    ),
    Fault(
        f"is dated {{}}, and house noted it at {{}}: {_CLOCK_OR_FORGED}",
        "SELECT stream, min(seq), at, noted_at FROM dated_back WHERE NOT is_sure GROUP BY stream",
        is_broken=False,
    ),
    Fault(
        "the note of entry {} of {}, {}, is missing: it is not anchored",
        """SELECT 'house', 0, min(entry.seq), stream, due FROM entry LEFT JOIN older USING (stream)
        WHERE due IS NOT NULL AND entry.seq > ifnull(older.seq, 0)
            AND NOT EXISTS (SELECT * FROM note WHERE note.stream = entry.stream AND note.seq = entry.seq)
        GROUP BY stream""",
    ),
    Fault(
        "the note of the end of {}, entry {}, is missing",
        """SELECT 'house', 0, stream, seq FROM chain
        WHERE is_ended AND stream NOT IN (SELECT stream FROM end_note)""",
    ),
    Fault(
        "does not end as noted in house, with entry {}: entries were removed, added or rewritten",
        """SELECT stream, ifnull(chain.seq, 0), end_note.seq FROM end_note LEFT JOIN chain USING (stream)
        WHERE (chain.seq, chain.hash) IS NOT (end_note.seq, end_note.head)
            AND stream NOT IN (SELECT stream FROM pruned)""",
    ),
    Fault(
        "ends before entry {}, which house noted: entries were removed",
        """SELECT stream, chain.seq, min(note.seq)
        FROM chain JOIN note USING (stream) LEFT JOIN end_note USING (stream)
        WHERE note.seq > chain.seq AND note.seq IS NOT end_note.seq GROUP BY stream""",
    ),
    Fault(
        "was noted in house but has no entries: they were removed",
        """SELECT DISTINCT stream, 0 FROM note
        WHERE stream NOT IN (SELECT stream FROM chain) AND stream NOT IN (SELECT stream FROM end_note)""",
    ),
    Fault(
        "was pruned, as house says, and has entries all the same",
        "SELECT stream, seq FROM chain WHERE stream IN (SELECT stream FROM noted WHERE kind = 'pruned')",
    ),
    Fault("was pruned at another entry than the end that house noted", "SELECT stream, seq FROM pruned_elsewhere"),
    Fault(
        "was pruned as of {}, and {} at {}",
        "SELECT stream, seq, until, what, at FROM pruned_early WHERE is_sure",
    ),
    Fault(
        f"was pruned as of {{}}, and {{}} at {{}}: {_CLOCK_OR_FORGED}",
        "SELECT stream, seq, until, what, at FROM pruned_early WHERE NOT is_sure",
        is_broken=False,
    ),
    Fault(
        "stands in the table {} but has no entries",
        "SELECT DISTINCT stream, 0, name FROM stored WHERE stream NOT IN (SELECT stream FROM chain)",
    ),
    Fault(  # a wave has a row in one of them, an incident in each of the others
        "stands in the table {} more often than it may",
        """SELECT stream, chain.seq, name FROM chain JOIN stored USING (stream)
        GROUP BY stream, name HAVING count(*) > ((name = 'waves') = is_wave)""",
    ),
    Fault(
        "stands in the table {} but {}",
        """SELECT stream, chain.seq, name, CASE name WHEN 'holds' THEN 'acts on no node' ELSE 'began no step' END
        FROM chain JOIN stored USING (stream)
        WHERE is_ended IS NOT NULL AND name IN ('holds', 'attempts')
            AND NOT EXISTS (SELECT * FROM derived WHERE derived.stream = chain.stream AND name = stored.name)""",
    ),
    Fault(  # a person who releases a node takes its hold away; the next step takes it again
        "{}",
        """SELECT stream, derived.seq,
            CASE name WHEN 'attempts' THEN 'began its plan, and is missing in the table attempts' ELSE says END
        FROM derived LEFT JOIN older USING (stream)
        WHERE NOT EXISTS (SELECT * FROM stored WHERE stored.stream = derived.stream AND name = derived.name)
            AND (begun IS NULL OR begun > ifnull(older.seq, 0)
                AND EXISTS (SELECT * FROM note WHERE note.stream = derived.stream AND note.seq = begun))
            AND (name <> 'holds' OR stream NOT IN (SELECT stream FROM noted WHERE kind = 'released'))""",
    ),
    Fault(  # after a release the step begins again, and counts from then
        "{}",
        """SELECT stream, derived.seq, says FROM derived JOIN stored USING (stream, name)
        WHERE derived.value <> stored.value
            OR NOT stored.at BETWEEN strftime('%Y-%m-%dT%H:%M:%fZ', derived.at, '-1 minute')
                AND strftime('%Y-%m-%dT%H:%M:%fZ', derived.at, '+1 minute')
            AND stream NOT IN (SELECT stream FROM noted WHERE kind = 'released')""",
    ),
    Fault(
        "no entry has the hash {}{}: the record was truncated or rewritten",
        "SELECT 'house', 0, head, place FROM unfound WHERE NOT EXISTS (SELECT * FROM pruned)",
    ),
    Fault(  # a note of that hash proves nothing: whoever writes `house` anew writes any hash into one
        "no entry has the hash {}{}: it may be of an incident that was pruned, whose entries are gone",
        "SELECT 'house', 0, head, place FROM unfound WHERE EXISTS (SELECT * FROM pruned)",
        is_broken=False,
    ),
    Fault(
        "ends with entry {}, before the head {}{}: the record was truncated",
        """SELECT 'house', 0, last, head, place
        FROM given JOIN (SELECT ifnull(max(seq), 0) AS last FROM entry WHERE stream = 'house') ON given.seq > last""",
    ),
    Fault(
        "entry {} does not have the hash of the head {}{}: the record was rewritten",
        """SELECT 'house', 0, seq, head, place FROM given
        WHERE seq <= (SELECT max(seq) FROM entry WHERE stream = 'house') AND NOT EXISTS
            (SELECT * FROM entry WHERE entry.stream = 'house' AND entry.seq = given.seq
            AND substr(entry.hash, 1, length(digits)) = digits)""",
    ),
)


class AuditTables:
    """Takes rows, a few hundred at a time, and answers once all are there. Raises: LedgerUnavailable, without room."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.executescript(_TABLES)
        self._waiting: dict[str, list[tuple[object, ...]]] = {}

    def close(self) -> None:
        """Forget them."""
        self._database.close()

    def add(self, table: str, *values: str | int | None) -> None:
        """Add a row."""
        rows = self._waiting.setdefault(table, [])
        rows.append(tuple(map(_storable, values)))
        if len(rows) == _AT_ONCE:
            self._store(table)

    def faults(self) -> Iterator[tuple[Fault, Broken]]:
        """Yield each fault that is found, once all rows are there."""
        for table in tuple(self._waiting):
            self._store(table)
        with _sentence_on_error():
            self._database.executescript(_VIEWS)
            for fault in FAULTS:
                for stream, seq, *words in self._database.execute(fault.query):
                    yield fault, Broken(stream, seq, fault.says.format(*words))

    def gone(self) -> int:
        """Return how many entries name a case that is not kept."""
        with _sentence_on_error():
            return int(self._database.execute(_GONE).fetchone()[0])

    def _store(self, table: str) -> None:
        rows = self._waiting.pop(table)
        places = ", ".join("?" * len(rows[0]))
        with _sentence_on_error():
            self._database.executemany(f"INSERT INTO {table} VALUES ({places})", rows)


@contextlib.contextmanager
def _sentence_on_error() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as no:
        raise LedgerUnavailable(
            f"The audit's temporary file cannot be written: {one_line(str(no))}.",
            "Set SQLITE_TMPDIR to another folder.",
        ) from no


def _storable(value: object) -> object:
    """Return a value that SQLite takes: in no text does it take half a letter, which is spelt out."""
    if isinstance(value, str) and not value.isascii():
        return value.encode(errors="backslashreplace").decode()
    return value
