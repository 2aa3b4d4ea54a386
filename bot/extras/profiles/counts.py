"""Counts by key that may outgrow memory: the excess goes into a temporary file; nothing is dropped."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

from bot.domain.errors import ProfileError

MEMORY_LIMIT_BYTES = 40_000_000
FILE_LIMIT_BYTES = 8_000_000_000
_PAGE_BYTES = 4096


class Counts:
    """How often each key occurred, in a database of SQLite's that has no name.

    It is in memory; what is more than `limit_bytes` is in a file in TMPDIR, which is gone with it. Rows are only added,
    and summed up when they are read: that is as fast for stacks that hardly repeat.
    """

    def __init__(self, limit_bytes: int = MEMORY_LIMIT_BYTES, file_limit_bytes: int = FILE_LIMIT_BYTES) -> None:
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.executescript(
            f"PRAGMA page_size = {_PAGE_BYTES}; PRAGMA journal_mode = OFF; PRAGMA cache_size = -{limit_bytes // 1024};"
            f"PRAGMA max_page_count = {file_limit_bytes // _PAGE_BYTES}; CREATE TABLE counts (key BLOB, times INTEGER)"
        )

    def __del__(self) -> None:
        """Close the file: Python would do so at some later time."""
        self._database.close()

    def add(self, counted: Iterable[tuple[bytes, int]]) -> None:
        """Add to the counts of keys.

        Raises: ProfileError when they fit neither into memory nor into the temporary file.
        """
        try:
            self._database.execute("BEGIN")
            self._database.executemany("INSERT INTO counts VALUES (?, ?)", counted)
            self._database.execute("COMMIT")
        except (sqlite3.Error, OverflowError) as error:
            raise _out_of_room(error) from error

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Yield each key once with its count, in the order of the keys' bytes. Raises: as `add`."""
        yield from self._read("SELECT key, sum(times) FROM counts GROUP BY key ORDER BY key")

    def most(self, number: int, beginning: bytes = b"") -> list[tuple[bytes, int]]:
        """Return the keys that begin so and have most, of equal ones the first. Raises: as `add`."""
        chosen = "SELECT key, sum(times) AS most FROM counts WHERE coalesce(substr(key, 1, ?), x'') = ? GROUP BY key"
        return list(self._read(f"{chosen} ORDER BY most DESC, key LIMIT ?", len(beginning), beginning, number))

    def _read(self, query: str, *values: object) -> Iterator[tuple[bytes, int]]:
        try:
            yield from self._database.execute(query, values)
        except sqlite3.Error as error:
            raise _out_of_room(error) from error


def _out_of_room(error: Exception) -> ProfileError:
    return ProfileError(
        f"The stacks are more than fit in memory, and the temporary file cannot hold them: {error}.",
        "Set TMPDIR to a folder with room, or read a part: --core N, --process COMM or --between A B.",
    )
