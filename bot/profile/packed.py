"""Unpacks bytes as they arrive if they are gzip, in small pieces."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from bot.domain.errors import ProfileError

_MAGIC = b"\x1f\x8b"
_AT_ONCE = 1 << 20
_GZIP = 16 + zlib.MAX_WBITS


class Unpacker:
    """Takes the bytes of a file or a stream in any pieces, and yields its text."""

    def __init__(self) -> None:
        self._start: bytes | None = b""  # until the format is known
        self._gzip: zlib._Decompress | None = None
        self.is_cut = False  # the gzip ended too early

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield what this piece unpacks to.

        Raises: ProfileError for gzip that is damaged.
        """
        if self._start is not None:
            chunk = self._start + chunk
            if len(chunk) < 8:
                self._start = chunk
                return
            self._start = None
            self._gzip = zlib.decompressobj(_GZIP) if chunk.startswith(_MAGIC) else None
        if self._gzip is None:
            yield chunk
        else:
            yield from self._unpacked(chunk)

    def finish(self) -> Iterator[bytes]:
        """Yield the rest."""
        if self._start:
            yield self._start
        self.is_cut = self._gzip is not None and not self._gzip.eof

    def _unpacked(self, chunk: bytes) -> Iterator[bytes]:
        assert self._gzip is not None
        text = b""
        while chunk or len(text) == _AT_ONCE:
            if self._gzip.eof:  # a file may hold several gzips in a row
                if not chunk.startswith(_MAGIC[:1]):
                    return  # padding
                self._gzip = zlib.decompressobj(_GZIP)
            try:
                text = self._gzip.decompress(chunk, _AT_ONCE)
            except zlib.error as error:
                raise ProfileError("The gzip is damaged.", f"Fetch it again; its reader says: {error}") from error
            if text:
                yield text
            chunk = self._gzip.unused_data if self._gzip.eof else self._gzip.unconsumed_tail
