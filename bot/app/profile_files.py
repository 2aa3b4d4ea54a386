"""Profiles from files: read piece by piece, and once more where the earliest event was not the first."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from bot.domain.errors import ProfileError
from bot.profile import Profile, Reader, Sample, Selection, TimesFallBack

_PIECE = 1 << 20


def scratch() -> BinaryIO:
    """Open a temporary file without a name, which is gone when it is closed, or when the program ends."""
    return cast(BinaryIO, tempfile.TemporaryFile("w+b", prefix="zombie-profile-"))


def read(path: Path, selection: Selection, exporting: Callable[[], Callable[[Sample], None]] | None = None) -> Profile:
    """Read a profile of `perf script` text, plain or gzip; `-` is what comes in on stdin.

    `exporting` makes what each selected event is handed to, anew for each time that the text is read.
    Raises: ProfileError when it cannot be read, or is no profile.
    """
    try:
        try:
            return _once(path, selection, exporting, None)
        except TimesFallBack as back:
            if not path.is_file():
                raise
            return _once(path, selection, exporting, back.first_ns)
    except OSError as no:
        raise ProfileError(f"{path} cannot be read: {no.strerror}.", "Name a file of perf script's text, or -") from no


def _once(
    path: Path,
    selection: Selection,
    exporting: Callable[[], Callable[[Sample], None]] | None,
    origin_ns: int | None,
) -> Profile:
    each = None if exporting is None else exporting()
    reader = Reader(scratch, selection, each, origin_ns=origin_ns)
    if str(path) == "-":
        _feed(reader, sys.stdin.buffer)
    else:
        with path.open("rb", buffering=0) as file:
            _feed(reader, cast(BinaryIO, file))
    return reader.finish()


def _feed(reader: Reader, file: BinaryIO) -> None:
    while piece := file.read(_PIECE):
        reader.feed(piece)
