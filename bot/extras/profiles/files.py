"""Reads profiles from files piece by piece, and a second time if the earliest event was not the first."""

from __future__ import annotations

import gzip
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import BufferedReader
from pathlib import Path
from typing import IO, cast

from bot.domain.errors import ProfileError
from bot.domain.safe_text import decode, one_line
from bot.extras.profiles.profile import Profile
from bot.extras.profiles.reader import Reader, Sample, TimesFallBack
from bot.extras.profiles.selection import Selection
from bot.extras.profiles.speedscope import Speedscope
from bot.extras.profiles.stack import FRAME

_PIECE = 1 << 20
_MAGIC = b"\x1f\x8b"  # of gzip


def read(path: Path, selection: Selection, exporting: Callable[[], Callable[[Sample], None]] | None = None) -> Profile:
    """Read a profile of `perf script` text, plain or gzip; `-` is stdin.

    `exporting` makes the consumer of selected events, anew each time the text is read.
    Raises: ProfileError when it cannot be read, or is no profile.
    """
    try:
        try:
            return _read_once(path, Reader(selection=selection, each=exporting() if exporting else None))
        except TimesFallBack as back:
            if not path.is_file():
                raise
            each = exporting() if exporting else None
            return _read_once(path, Reader(selection=selection, each=each, origin_ns=back.first_ns))
    except OSError as no:
        raise ProfileError(f"{path} cannot be read: {no.strerror}.", "Name a file of perf script's text, or -") from no


def perf_text(path: Path, selection: Selection) -> Iterator[bytes]:
    """Read a profile, then yield it as text for other viewers. Raises: as `read`."""
    with ExitStack() as opened:
        file = opened.enter_context(tempfile.TemporaryFile())

        def exporting() -> Callable[[Sample], None]:
            file.seek(0)
            file.truncate()
            return PerfText(lambda text: file.write(text.encode()))

        read(path, selection, exporting)
        file.seek(0)
        return _pieces(file, opened.pop_all())


def _pieces(file: IO[bytes], opened: ExitStack) -> Iterator[bytes]:
    with opened:
        while piece := file.read(_PIECE):
            yield piece


def speedscope(path: Path, selection: Selection, name: str) -> Iterator[bytes]:
    """Read a profile, then yield it in speedscope's form. Raises: as `read`."""
    made: list[Speedscope] = []

    def exporting() -> Callable[[Sample], None]:
        made.append(Speedscope())
        return made[-1]

    read(path, selection, exporting)
    return (piece.encode() for piece in made[-1].pieces(one_line(name)))


def _read_once(path: Path, reader: Reader) -> Profile:
    if str(path) == "-":
        _feed(reader, cast(BufferedReader, sys.stdin.buffer))
    else:
        with path.open("rb") as file:
            _feed(reader, file)
    return reader.finish()


def _feed(reader: Reader, file: BufferedReader) -> None:
    text = gzip.GzipFile(fileobj=file) if file.peek(len(_MAGIC)).startswith(_MAGIC) else file
    try:
        while piece := text.read1(_PIECE):
            reader.feed(piece)
    except EOFError:
        reader.is_cut = True
    except (gzip.BadGzipFile, zlib.error) as error:
        if str(error).startswith("Not a gzipped file"):
            return  # what follows a whole one is left, as gzip -dc does
        raise ProfileError("The gzip is damaged.", f"Fetch it again; its reader says: {error}") from error


_NO_FRAME = f"\t{0:>16x} [unknown] ([unknown])\n"
_MOST_KNOWN = 50_000
_HEX = frozenset(b"0123456789abcdefABCDEF")


class PerfText:
    """Takes samples and writes each as an event; `write` receives the text with its line feeds.

    Raises: ProfileError for a text without times, which viewers need.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._known: dict[bytes, str] = {}

    def __call__(self, sample: Sample) -> None:
        """Write an event."""
        if not sample.stamp:
            raise ProfileError(
                "This text has no times, and viewers need them.", "Make it with its times: perf script -F +time"
            )
        who = sample.who
        ids = f"{who.pid}" if who.tid is None else f"{who.pid}/{who.tid}"
        process = who.process if len(who.process) > 1 else f"{who.process} "
        on = "" if who.core is None else f" [{who.core:03d}]"
        event = f"{process} {ids}{on} {_micros(sample.stamp)}: {sample.period} {decode(sample.event)}:"
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        frames = "".join(map(self._frame, sample.lines.split(b"\n"))) or _NO_FRAME
        self._write(f"{event}\n{frames}\n")

    def _frame(self, line: bytes) -> str:
        """A frame's line in the form that every viewer reads; empty if it is not a frame."""
        known = self._known.get(line)
        if known is None:
            known = self._known[line] = _frame(line)
        return known


def _frame(line: bytes) -> str:
    found = FRAME.match(line)
    if found is None or found[2].startswith(b"("):
        return ""
    address, function, module = found.groups()
    if not _HEX.issuperset(address):
        address = b"0"
    shown = decode(module).replace(" ", "_").replace("\t", "_")
    return f"\t{address.decode():>16} {decode(function)} ({shown})\n"


def _micros(stamp: bytes) -> str:
    """Return a time with six decimals; it is cut off, not rounded, so that the order of times stays.

    Example:
    >>> _micros(b"4215.123456789"), _micros(b"4215.5")
    ('4215.123456', '4215.500000')
    """
    seconds, _, part = stamp.decode().partition(".")
    return f"{seconds}.{part[:6]:0<6}"
