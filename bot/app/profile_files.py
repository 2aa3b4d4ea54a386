"""Reads profiles from files piece by piece, and a second time if the earliest event was not the first."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

from bot.domain.errors import ProfileError
from bot.domain.safe_text import one_line
from bot.profile import Profile, Reader, Sample, Selection, TimesFallBack
from bot.profile.perf_text import PerfText
from bot.profile.speedscope import Speedscope

_PIECE = 1 << 20
Scratch: TypeAlias = Callable[[], BinaryIO]


@contextmanager
def scratches() -> Iterator[Scratch]:
    """Yield a function that opens temporary files without names; they vanish after the block or with the program."""
    with ExitStack() as opened:

        def scratch() -> BinaryIO:
            return cast(BinaryIO, opened.enter_context(tempfile.TemporaryFile("w+b", prefix="zombie-profile-")))

        yield scratch


def read(
    path: Path, selection: Selection, scratch: Scratch, exporting: Callable[[], Callable[[Sample], None]] | None = None
) -> Profile:
    """Read a profile of `perf script` text, plain or gzip; `-` is stdin.

    `exporting` makes the consumer of selected events, anew each time the text is read.
    Raises: ProfileError when it cannot be read, or is no profile.
    """
    try:
        try:
            return _once(path, Reader(scratch, selection, exporting() if exporting else None))
        except TimesFallBack as back:
            if not path.is_file():
                raise
            each = exporting() if exporting else None
            return _once(path, Reader(scratch, selection, each, origin_ns=back.first_ns))
    except OSError as no:
        raise ProfileError(f"{path} cannot be read: {no.strerror}.", "Name a file of perf script's text, or -") from no


def perf_text(path: Path, selection: Selection, scratch: Scratch) -> Iterator[bytes]:
    """Read a profile, then yield it as text for other viewers. Raises: as `read`."""
    file = scratch()

    def exporting() -> Callable[[Sample], None]:
        file.seek(0)
        file.truncate()
        return PerfText(lambda text: file.write(text.encode()))

    read(path, selection, scratch, exporting)
    file.seek(0)
    return iter(lambda: file.read(_PIECE), b"")


def speedscope(path: Path, selection: Selection, scratch: Scratch, name: str) -> Iterator[bytes]:
    """Read a profile, then yield it in speedscope's form. Raises: as `read`."""
    made: list[Speedscope] = []

    def exporting() -> Callable[[Sample], None]:
        made.append(Speedscope())
        return made[-1]

    read(path, selection, scratch, exporting)
    return (piece.encode() for piece in made[-1].pieces(one_line(name)))


def _once(path: Path, reader: Reader) -> Profile:
    if str(path) == "-":
        _feed(reader, sys.stdin.buffer)
    else:
        with path.open("rb", buffering=0) as file:
            _feed(reader, cast(BinaryIO, file))
    return reader.finish()


def _feed(reader: Reader, file: BinaryIO) -> None:
    while piece := file.read(_PIECE):
        reader.feed(piece)
