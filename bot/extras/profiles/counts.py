"""Counts by key that may outgrow memory: the excess goes, sorted, into a temporary file; nothing is dropped."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import IO, TypeAlias

from bot.domain.errors import ProfileError

MEMORY_LIMIT_BYTES = 40_000_000
FILE_LIMIT_BYTES = 8_000_000_000
_EACH = 130  # measured bytes of a dict entry, besides its key
_BLOCK = 1 << 16
Scratch: TypeAlias = Callable[[], IO[bytes]]


class Counts:
    """How often each key occurred. Keys hold no line feed.

    `scratch` opens a temporary binary file, only if it is needed; it is closed with the counts.
    """

    def __init__(self, scratch: Scratch = tempfile.TemporaryFile, limit_bytes: int = MEMORY_LIMIT_BYTES) -> None:
        self._held: dict[bytes, int] = {}
        self._held_bytes = 0
        self._limit_bytes = limit_bytes
        self._scratch = scratch
        self._file: IO[bytes] | None = None
        self._runs: list[tuple[int, int]] = []  # start and end of each sorted run in the file

    def __del__(self) -> None:
        """Close the file, which has no name."""
        if self._file is not None:
            self._file.close()

    @property
    def spilled_bytes(self) -> int:
        """How many bytes are in the temporary file."""
        return self._runs[-1][1] if self._runs else 0

    def add(self, key: bytes, times: int) -> None:
        """Add to a key's count.

        Raises: ProfileError when the temporary file would be too large, or cannot be written.
        """
        held = self._held
        before = held.get(key)
        if before is not None:
            held[key] = before + times
            return
        held[key] = times
        self._held_bytes += len(key) + _EACH
        if self._held_bytes > self._limit_bytes:
            self._spill()

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Yield each key once with its count, in the order of the keys' bytes. It may be called repeatedly."""
        here = iter(sorted(self._held.items()))
        if not self._runs:
            yield from here
            return
        runs = [self._read(start, end) for start, end in self._runs]
        for key, same in groupby(heapq.merge(here, *runs), key=lambda entry: entry[0]):
            yield key, sum(times for _, times in same)

    def _spill(self) -> None:
        try:
            if self._file is None:
                self._file = self._scratch()
            start = position = self.spilled_bytes
            self._file.seek(start)
            for key, times in sorted(self._held.items()):
                position += self._file.write(b"%s\t%d\n" % (key, times))
                if position > FILE_LIMIT_BYTES:
                    raise ProfileError(
                        f"The stacks differ so much that they take more than {FILE_LIMIT_BYTES // 10**9} GB.",
                        "Read a part of it: --core N, --process COMM or --between A B.",
                    )
            self._file.flush()
        except OSError as error:
            raise ProfileError(
                f"The stacks are more than fit in memory, and the temporary file cannot be written: {error.strerror}.",
                "Set TMPDIR to a folder with room, or read a part: --core N, --process COMM or --between A B.",
            ) from error
        self._runs.append((start, position))
        self._held.clear()
        self._held_bytes = 0

    def _read(self, start: int, end: int) -> Iterator[tuple[bytes, int]]:
        assert self._file is not None
        rest = b""
        while start < end:
            self._file.seek(start)  # runs are read in parallel from the same file
            block = self._file.read(min(_BLOCK, end - start))
            start += len(block)
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                key, _, times = line.rpartition(b"\t")
                yield key, int(times)
