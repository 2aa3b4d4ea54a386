"""Reads what a capture's script sends, as it arrives: facts, then gzip, then how it ended."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from bot.domain.clock_offset import ClockOffset, clock_offset
from bot.domain.contracts import TakesBytes
from bot.domain.errors import ConnectionLost
from bot.domain.safe_text import decode, one_line, redacted_line, without_cut_secret
from bot.domain.script_session import ScriptSession
from bot.extras.profiles.perf_command import MARK

PACKED_LIMIT_BYTES = 128 * 1024 * 1024
TEXT_LIMIT_BYTES = 4 * 1024 * 1024 * 1024
_CHATTER_LIMIT_BYTES = 4 * 1024 * 1024  # output of a login's start-up files, and facts
_AT_ONCE = 1 << 20
_MOST_ERRORS = 2000  # bytes: what the scripts leave of perf's last words
_GZIP = 16 + zlib.MAX_WBITS
_SPENT = re.compile(r"(\d+)m([\d.]+)s (\d+)m([\d.]+)s\Z")
MOST = 1e15  # of any number that a node says
_LAST = 1e11  # seconds: the year 5138
_UPTIME_STEP = 0.01  # seconds: /proc/uptime counts hundredths
_PAIR = re.compile(r"(\d{1,18}):(\d{1,18})\Z")


@dataclass(frozen=True, slots=True)
class Facts:
    """What a node said of itself; a missing fact is an empty text."""

    told: dict[str, str] = field(default_factory=dict)
    rooms: dict[str, int] = field(default_factory=dict)  # free KiB by folder

    def text(self, name: str) -> str:
        """Return a fact as the node said it, safe to show."""
        return self.told.get(name, "")

    def number(self, name: str, place: int = 0, most: float = MOST) -> float | None:
        """Return the number at that position of a fact; None for what no clock, time or disk has, such as `nan`."""
        try:
            found = float(self.text(name).split()[place])
        except (IndexError, ValueError):
            return None
        return found if abs(found) < most else None

    @property
    def event(self) -> str:
        """The event that perf should count."""
        return "cycles" if self.text("pmu") == "yes" else "cpu-clock"

    @property
    def wall_clock(self) -> WallClock:
        """How far the time of day is from CLOCK_MONOTONIC."""
        wall, before, after = (self.number("clock", place, _LAST) for place in range(3))
        if wall is None or before is None or after is None:
            return WallClock(None, None, after)
        return WallClock(wall - (before + after) / 2, (after - before) / 2 + _UPTIME_STEP, after)


@dataclass(frozen=True, slots=True)
class WallClock:
    """Units: `minus_mono` are the seconds to add to CLOCK_MONOTONIC to get the time of day; `error` is how wrong that
    may be, and `mono` when it was read; each None where the node did not say."""

    minus_mono: float | None = None
    error: float | None = None
    mono: float | None = None


@dataclass(frozen=True, slots=True)
class CaptureEnd:
    """How a capture ended.

    Shape: exit statuses of perf's recording and of its text, None if missing; `spent_seconds` is the CPU time of both.
    """

    record_status: int | None = None
    text_status: int | None = None
    said: str = ""
    spent_seconds: float = 0.0
    text_spent_seconds: float = 0.0
    clock: WallClock = WallClock()
    kernel_log: ClockOffset | None = None

    @property
    def lost(self) -> str:
        """What perf says that it lost though it ended well, such as `lost 2 chunks`; empty if nothing."""
        said = " ".join(line.strip() for line in self.said.splitlines() if "lost" in line.lower())
        return f"perf says of its samples: {redacted_line(said, 120).rstrip('!')}" if said else ""


class CaptureWire:
    """Reads the wire. `feed` yields perf's text; `ready` and `ended` say how far it has got."""

    def __init__(self, nonce: str) -> None:
        self._mark = f"{MARK} {nonce} ".encode()
        self._rest = b""
        self._chatter = 0
        self._gzip: zlib._Decompress | None = None
        self._packed = 0
        self.facts = Facts()
        self.taken = 0  # bytes of text
        self._section = ""
        self._spent: dict[str, list[float]] = {}
        self.ready = False
        self.ended = False
        self.cut = False  # more data came than is accepted

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Take the bytes that arrived and yield the text in them, in pieces of at most a megabyte.

        Raises: ConnectionLost when the bytes are not a capture.
        """
        while chunk:
            if self._gzip is not None and not self._gzip.eof:
                yield from self._unpack(self._gzip, chunk)
                chunk = self._gzip.unused_data
            else:
                chunk = self._lines(chunk)

    def end(self) -> CaptureEnd:
        """Return how it ended, as far as the node said."""
        told, clock = self.facts.told, self.facts.wall_clock
        return CaptureEnd(
            _status(told.get("record")),
            _status(told.get("text")),
            self._errors(),
            sum(self._spent.get("record", [])[-1:]),
            sum(self._spent.get("text", [])[-1:]),
            clock,
            clock_offset(_clock_pairs(told.get("pairs", "")), clock.mono),
        )

    async def take(self, session: ScriptSession, hand_on: TakesBytes) -> None:
        """Pass on the text that comes until it ends, or is cut. Raises: Unreachable."""
        while not (self.ended or self.cut) and (chunk := await session.read()):
            for text in self.feed(chunk):
                hand_on(text)

    def _unpack(self, packed: zlib._Decompress, chunk: bytes) -> Iterator[bytes]:
        self._packed += len(chunk)
        if self._packed > PACKED_LIMIT_BYTES or self.taken > TEXT_LIMIT_BYTES:
            self.cut = True
            return
        while chunk and not packed.eof:  # at its end, bytes after the stream may also be in the unconsumed tail
            try:
                text = packed.decompress(chunk, _AT_ONCE)
            except zlib.error as error:
                raise ConnectionLost(
                    "What the node sent for a capture is damaged.", one_line(str(error), 80)
                ) from error
            self.taken += len(text)
            if text:
                yield text
            chunk = packed.unconsumed_tail

    def _lines(self, chunk: bytes) -> bytes:
        """Take lines until the data begins, and return what comes after."""
        line, found, rest = chunk.partition(b"\n")
        self._chatter += len(chunk) - len(rest)
        if self._chatter > _CHATTER_LIMIT_BYTES:
            raise ConnectionLost("The node sent far more than was asked for.", "Look at its login's start-up files.")
        line = self._rest + line
        if not found:
            self._rest = line
            return b""
        self._rest = b""
        if line.startswith(self._mark):
            self._take_word(decode(line.removeprefix(self._mark)).strip())
        return rest

    def _take_word(self, said: str) -> None:
        word, _, rest = said.partition(" ")
        if word == "data" and self._gzip is None:
            self._gzip = zlib.decompressobj(_GZIP)
        elif word == "room":
            folder, _, free = rest.partition(" ")
            if free.isdecimal():
                self.facts.rooms[folder] = int(free)
        elif spent := _SPENT.match(said):
            minutes, seconds, more_minutes, more_seconds = map(float, spent.groups())
            self._spent.setdefault(self._section, []).append(60 * (minutes + more_minutes) + seconds + more_seconds)
        elif word:
            self._section = word
            self.facts.told.setdefault(word, rest)
            self.ready = self.ready or word == "ready"
            self.ended = self.ended or word == "end"

    def _errors(self) -> str:
        try:
            raw = base64.b64decode(self.facts.told.get("errors", ""), validate=True)
        except (binascii.Error, ValueError):
            return ""
        return without_cut_secret(decode(raw)) if len(raw) >= _MOST_ERRORS else decode(raw)


def _status(text: str | None) -> int | None:
    first = (text or "").split(" ")[0]
    return int(first) if first.isdecimal() and len(first) < 4 else None


def _clock_pairs(text: str) -> list[tuple[float, float]]:
    found = (_PAIR.match(word) for word in text.split()[:2000])
    return [(int(pair[1]) / 1e6, int(pair[2]) / 1e6) for pair in found if pair]
