"""A stream's chain of hashes, followed row by row."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from bot.domain.entry import Entry, Head, canonical_body, entry_hash, is_author
from bot.domain.errors import UnreadableEntry
from bot.ledger.entries import entry_of

FIELDS = ("stream", "seq", "at", "by", "kind", "body", "hash")  # of a row, in this order
APART = timedelta(minutes=1)  # of what a transaction writes: an older program asked for the time more than once

_BEGINNING = Head()
# Of an instant that could be read: quicker than to write it again.
_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Broken:
    """An entry that was changed or is missing. `seq` 0 means the whole stream."""

    stream: str
    seq: int
    says: str

    def __str__(self) -> str:
        return f"{self.stream}/{self.seq}: {self.says}" if self.seq else f"{self.stream}: {self.says}"


class Chain:
    """Recomputes the hashes of a stream. `head` is its last entry so far, `broken` what was found."""

    def __init__(self, stream: str, after: Head = _BEGINNING) -> None:
        """`after` is the last entry before those to follow."""
        self.stream = stream
        self.entries = 0
        self.head = after
        self.broken: list[Broken] = []
        self._before: tuple[str, ...] = (after.hash,)
        self._at = ""  # of the last entry, as stored: such texts sort like the instants
        self._expected = after.seq + 1

    def follow(self, row: Any) -> tuple[Entry | None, bool]:
        """Check the next row, whose columns are `FIELDS`. Return its entry, and whether its hash is right.

        There is no entry where the row was changed, or is no entry that a ledger wrote.
        """
        self.entries += 1
        stream, seq, at, by, kind, body, digest = row
        says, hashes = "", tuple[str, ...]()
        if not isinstance(seq, int) or not all(
            isinstance(value, str) for value in (stream, at, by, kind, body, digest)
        ):
            says = "has values of the wrong types"
        else:
            hashes = tuple([entry_hash(before, stream, seq, at, by, kind, body) for before in self._before])
            if seq != self._expected:
                self.broken.append(Broken(self.stream, self._expected, f"is missing; the next entry is {seq}"))
            elif digest not in hashes:
                says = "its hash does not match its content and the entry before it"
            self._expected = seq + 1
        if says:
            self.broken.append(Broken(self.stream, seq if isinstance(seq, int) else self._expected, says))
        # After a broken entry the next may match either hash, so that a single changed field breaks a single entry.
        # Two computed hashes are enough for that, and keep a stream of broken entries from taking squared time.
        self._before = tuple(dict.fromkeys((str(digest), *hashes[:1], *hashes[-1:]))) if says else (str(digest),)
        self.head = Head(self._expected - 1, str(digest))
        if says:
            return None, False
        try:
            entry = entry_of(row)
        except UnreadableEntry as no:
            self.broken.append(Broken(self.stream, seq, f"cannot be read: {no.sentence}"))
            return None, True
        if says := self._format_fault(entry, at, body):
            self.broken.append(Broken(self.stream, seq, says))
            return None, True
        self._at = at
        return entry, True

    def _format_fault(self, entry: Entry, at: str, body: str) -> str:
        """Say what no ledger writes, though every hash fits."""
        if _AT.fullmatch(at) is None:
            return "its time is not written as the ledger writes times"
        if at < self._at:
            return f"is dated back: {at}, and the entry before it {self._at}"
        if not is_author(entry.by):
            return "its author is not written as the ledger writes authors"
        try:
            is_ours = canonical_body(entry.body) == body
        except (ValueError, RecursionError):  # such as NaN and 1e999, which are not numbers of JSON
            is_ours = False
        # Such as a key that stands twice: readers differ on which of them counts.
        return "" if is_ours else "its body is not written as the ledger writes bodies"
