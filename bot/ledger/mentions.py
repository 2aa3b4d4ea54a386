"""What `house` and the derived tables say about each incident, outside its own stream.

An audit reads these first and then each stream once. They wait in a temporary SQLite database, which SQLite moves to
disk when it grows (https://sqlite.org/inmemorydb.html#temp_db), so that an audit of any record takes the same memory.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, TypeAlias

from bot.domain.errors import LedgerUnavailable
from bot.domain.safe_text import one_line

UNSURE = "~"
MentionKind: TypeAlias = Literal[
    "end", "anchor", "older", "pruned", "released", "line", "hold", "attempt", "wave", "case"
]


@dataclass(frozen=True, slots=True)
class Mention:
    """Something said about a stream elsewhere.

    Shape: of an `end`, an `anchor`, an `older` and a `pruned`, `seq` and `value` are an entry's number and hash; of a
    `line`, a `hold`, an `attempt` or a `wave`, `value` is a row of that table as JSON; of a stored `case`, its hash.
    `at` is when an `end` or an `anchor` was noted, behind `UNSURE` where a clock that was set back may have made it. Of
    a `pruned` it is before when it had to have ended.
    """

    stream: str
    kind: MentionKind
    seq: int
    value: Any
    at: str = ""


class Mentions:
    """Stores mentions until their stream is read; a context manager, after which they are gone."""

    def __init__(self) -> None:
        self._kept = sqlite3.connect("", isolation_level=None)
        for statement in (
            "PRAGMA journal_mode = OFF",
            "PRAGMA synchronous = OFF",
            "CREATE TABLE mentions (stream TEXT, kind TEXT, seq INTEGER, value TEXT, at TEXT)",
        ):
            self._kept.execute(statement)

    def __enter__(self) -> Mentions:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._kept.close()

    def add(self, mentions: Iterable[Mention]) -> None:
        """Keep them.

        Raises: LedgerUnavailable when there is no room for the temporary file.
        """
        rows = ((_text(each.stream), each.kind, each.seq, _text(each.value), each.at) for each in mentions)
        try:
            with contextlib.closing(self._kept.cursor()) as cursor:
                cursor.execute("BEGIN")
                cursor.executemany("INSERT INTO mentions VALUES (?, ?, ?, ?, ?)", rows)
                cursor.execute("COMMIT")
        except sqlite3.Error as no:
            raise LedgerUnavailable(
                f"The audit's temporary file cannot be written: {one_line(str(no))}.",
                "Set SQLITE_TMPDIR to another folder.",
            ) from no

    def complete(self) -> None:
        """Note that all are there: from now on they are taken."""
        self._kept.execute("CREATE INDEX by_stream ON mentions (stream, seq)")

    def take(self, stream: object) -> tuple[Mention, ...]:
        """Return the mentions of a stream, by the entries' numbers, and forget them."""
        named = _text(stream)
        found = tuple(
            Mention(str(stream), row[0], row[1], json.loads(row[2]), row[3])
            for row in self._kept.execute(
                "SELECT kind, seq, value, at FROM mentions WHERE stream = ? ORDER BY seq, rowid", (named,)
            )
        )
        if found:
            self._kept.execute("DELETE FROM mentions WHERE stream = ?", (named,))
        return found

    def left(self) -> Iterator[Mention]:
        """Yield the mentions of streams that were not read."""
        for row in self._kept.execute("SELECT stream, kind, seq, value, at FROM mentions ORDER BY stream, seq, rowid"):
            yield Mention(str(json.loads(row[0])), row[1], row[2], json.loads(row[3]), row[4])


def as_json(value: Any) -> Any:
    """Return a value as it comes back from JSON, whatever a forger put in its place."""
    return json.loads(_text(value))


def _text(value: object) -> str:
    return json.dumps(value, default=repr)
