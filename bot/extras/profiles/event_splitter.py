"""Cuts the text of `perf script` into events: thread, time and stack; repeated parts are looked up.

Source: `perf script` (forms in `event_line.py` and `stack.py`): an event's line, its frames innermost first, an empty
line. As in stackcollapse-perf.pl, an event without a final empty line does not count, because its stack may be cut
short; and only the first kind of event in a text is read, because adding cycles to page faults is meaningless.

Most of a profile consists of few stacks and few threads. So an event is cut into repeated parts (thread, innermost
frame, callers), which are parsed once and then looked up, and the time, which is always parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from bot.domain.errors import ProfileError
from bot.domain.safe_text import decode
from bot.extras.profiles.selection import Selection
from bot.extras.profiles.stack import Frames, Stack

# The first stamp on a line. The text before and after it repeats between events, so each is parsed once.
STAMP = re.compile(rb"\s(\d{1,12})\.(\d{1,9}):")
# The same with period and event to the line's end: what follows the time of every event except a tracepoint's.
USUAL = re.compile(rb"\s(\d{1,12})\.(\d{1,9}):\s+(?:(\d{1,18})\s+)?(\S+):\s*\Z")
_WHO = re.compile(rb"\s*(.+?)\s+(-?\d+)(?:/(-?\d+))?\s*(?:\s\[(\d+)\])?(?:\s+[^\s\d\[]\S*)?\s*\Z")
_WHAT = re.compile(rb"\s*(?:(\d+)\s+)?(\S+?):(?:\s|\Z)")
_ALONE = re.compile(rb"\s*(?:\d+)?\s+(\S+):\s*\Z")  # after the stamp: only period and event
_WITHOUT_TIME = re.compile(rb"(\S.+?\s+-?\d+(?:/-?\d+)?(?:\s+\[\d+\])?)\s+((?:\d+\s+)?[^\s\d]\S*:\s*)\Z")

# What stackcollapse-perf.pl takes as the process name. It stops at the first number, even within a name.
_FOLDED_NAME = re.compile(rb"(\S.+?)\s+(\d+)/*(\d+)*\s+")


@dataclass(frozen=True, slots=True, eq=False)
class SampledThread:
    """The thread: everything before an event's time.

    Shape: `process` is safe to show; `pid` is the thread's if the text has only that, and `tid` is None then; `core` is
    None if the text has no core. `folded` is the name that begins folded stacks, as bytes of the text.
    """

    process: str
    pid: int
    tid: int | None
    core: int | None
    folded: bytes
    raw_process: bytes
    is_java: bool
    is_swapper: bool


# The event, everything after its time: its kind; its period as stackcollapse-perf.pl counts it, 1 if there is none; and
# the only frame of a text without call chains, unparsed, empty if there is none.
What: TypeAlias = tuple[bytes, int, bytes]


def parse_process(prefix: bytes) -> SampledThread | None:
    """Parse the text before the time; None if it names no process.

    Example:
    >>> found = parse_process(b"V8 Worker 2 24636/25607 [031]")
    >>> found.process, found.pid, found.tid, found.core
    ('V8 Worker 2', 24636, 25607, 31)
    >>> found = parse_process(b":-1 -1/-1 [001]")
    >>> found.process, found.pid, found.tid, found.core, found.folded
    (':-1', -1, -1, 1, b':-1')
    """
    if (found := _WHO.match(prefix)) is None:
        return None
    name, pid, tid, core = found.groups()
    first = _FOLDED_NAME.match(prefix + b" ")
    folded = (first[1] if first else name).replace(b" ", b"_")
    return SampledThread(
        process=decode(name).replace("\n", " "),
        pid=int(pid),
        tid=int(tid) if tid else None,
        core=int(core) if core else None,
        folded=folded,
        raw_process=name,
        is_java=folded.startswith(b"java"),
        is_swapper=b"swapper" in name,
    )


def parse_event_name(suffix: bytes) -> What | None:
    """Parse the text after the time's colon; None for other lines, such as lost events.

    Example:
    >>> parse_event_name(b"   250000 cpu-clock:pppH: ")
    (b'cpu-clock:pppH', 250000, b'')
    """
    if (found := _WHAT.match(suffix)) is None or found[2].startswith(b"PERF_RECORD_"):
        return None
    if alone := _ALONE.match(suffix):
        return alone[1], int(found[1] or 0) or 1, b""
    rest = suffix[found.end() :].strip()
    return found[2], 1, rest if _looks_like_frame(rest) else b""


def _looks_like_frame(text: bytes) -> bool:
    address, _, rest = text.partition(b" ")
    return (
        bool(rest)
        and text.endswith(b")")
        and b" (" in rest
        and all(letter in b"0123456789abcdef" for letter in address)
    )


def without_time(line: bytes) -> tuple[bytes, bytes] | None:
    """Return prefix and suffix of an event whose text has no time (`perf script -F comm,pid,event,ip,sym`)."""
    found = _WITHOUT_TIME.match(line)
    return (found[1], b" " + found[2]) if found else None


SECOND = 1_000_000_000  # in nanoseconds, like all times here
_SCALE = [10 ** (9 - digits) for digits in range(10)]
_LONGEST_BLOCK = 1 << 18  # bytes without an empty line, before it is read line by line
_LONGEST_LINE = 1 << 20
_MOST_FRAMES = 20_000  # lines of an event
_OPEN = b"\n"  # never a thread's name
_NOT_INDENTED = re.compile(rb"\n[^ \t]")
_PERF_DATA = (b"PERFILE2", b"2ELIFREP")


@dataclass(slots=True, eq=False)
class Thread:
    """A thread as events name it, with its counts. `sums` is shared by all threads of the same name."""

    who: SampledThread
    frames: Frames
    is_selected: bool
    sums: dict[Stack, int]
    is_swapper: bool
    leaves: dict[bytes, int] = field(default_factory=dict)
    idle: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Begun:
    """An event that is being read line by line."""

    thread: Thread
    what: What
    at: int | None
    stamp: re.Match[bytes] | None


# Thread, period, time, frames; the match that found the time, and the unparsed lines of the frames.
Event: TypeAlias = tuple[Thread, int, int | None, Stack, re.Match[bytes] | None, bytes]


class EventSplitter:
    """Takes a text in pieces and yields its events; an incomplete event waits for the next piece.

    Shape: `threads` by how their events begin, `event` the first kind of event, None before any.
    """

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._rest = b""
        self._is_fresh = True
        self._overlong = False
        self.threads: dict[bytes, Thread] = {}
        self.sums: dict[bytes, dict[Stack, int]] = {}  # by the name that begins folded stacks
        self._frames = (Frames(is_java=False), Frames(is_java=True))
        self.event: bytes | None = None
        self.skipped_events = self.skipped_lines = 0
        self.is_cut = False

        # The event that is being read line by line, if a block does not have the usual form.
        self._open: _Begun | None = None
        self._lines: list[bytes] = []
        self._is_padded = self._is_passing = self._is_midway = False

    @property
    def held_bytes(self) -> int:
        """About how many bytes the remembered frames take."""
        return sum(frames.held_bytes for frames in self._frames)

    @property
    def has_begun(self) -> bool:
        """Whether an event has begun that has not ended."""
        return self._open is not None

    def forget(self, *, threads: bool) -> None:
        """Forget the parsed frames, and optionally threads; if they come again, they are parsed again."""
        for frames in self._frames:
            frames.forget()
        if threads:
            self.threads.clear()
            self.sums.clear()
            if self._open:
                self.threads[_OPEN] = self._open.thread
                self.sums[self._open.thread.who.folded] = self._open.thread.sums

    def events(self, text: bytes) -> Iterator[Event]:
        """Yield the events that end within this piece.

        Raises: ProfileError for binary data, and if a core is selected in a text without cores.
        """
        data = self._rest + text if self._rest else text
        if self._is_fresh:
            _refuse_binary(data)
            self._is_fresh = False
        held_back = b""
        if data.endswith(b"\r"):  # its line feed may come with the next piece
            data, held_back = data[:-1], b"\r"
        if b"\r\n" in data:
            data = data.replace(b"\r\n", b"\n")
        if self._is_midway and (end := data.find(b"\n\n")) >= 0:
            yield from self._block(data[:end])
            self._is_midway = False
            data = data[end + 2 :]
        end = -1 if self._is_midway else data.rfind(b"\n\n")
        if end >= 0:
            yield from self._blocks(data[:end])
            data = data[end + 2 :]
        if len(data) > _LONGEST_BLOCK and (end := data.rfind(b"\n")) >= 0:
            yield from self._each_line(data[:end].split(b"\n"))
            self._is_midway = True
            data = data[end + 1 :]
        if len(data) > _LONGEST_LINE:
            self._overlong = self._is_midway = True
            data = b""
        self._rest = data + held_back

    def finish(self) -> Iterator[Event]:
        """Yield the events that the text's end completes: only without call chains, which have no empty lines."""
        *lines, rest = self._rest.split(b"\n")
        yield from self._each_line(lines)
        if self._is_padded and self._open:
            yield from self._end_open_event()
        self.is_cut = self._open is not None or bool(rest)
        self.skipped_lines += len(self._lines) + (self._open is not None) + bool(rest)

    def _blocks(self, body: bytes) -> Iterator[Event]:
        """Cut complete events: those of the usual form here, all others line by line."""
        search, threads = USUAL.search, self.threads
        before, base = b"", 0
        for block in body.split(b"\n\n"):
            head, _, lines = block.partition(b"\n")
            usual = search(head)
            if usual is None:
                yield from self._block(block)
                continue
            prefix = head[: usual.start()]
            thread = threads.get(prefix)
            if thread is None and (thread := self._thread(prefix)) is None:
                yield from self._block(block)
                continue
            second, fraction, period, event = usual.groups()
            if event != self.event and self._note_kind_and_differs(event):
                self.skipped_events += 1
                continue
            innermost, _, outer = lines.partition(b"\n")
            frames = thread.frames
            callers = frames.callers.get(outer)
            line = frames.lines.get(innermost)
            stack = None if callers is None or line is None else callers.under.get(line)
            if stack is None:
                if not _is_usual(lines):
                    yield from self._block(block)
                    continue
                stack = frames.stack(innermost, outer)
            if second != before:
                before, base = second, int(second) * SECOND
            at = base + int(fraction) * _SCALE[len(fraction)]
            yield thread, int(period) or 1 if period else 1, at, stack, usual, lines

    def _thread(self, prefix: bytes) -> Thread | None:
        if prefix[:1] in (b" ", b"\t", b"#", b"") or (found := parse_process(prefix)) is None:
            return None
        wanted = self._selection
        if wanted.core is not None and found.core is None:
            raise ProfileError(
                f"This text does not say on which core an event was, so core {wanted.core} cannot be picked.",
                "Make the text with its column: perf script -F +cpu",
            )
        is_selected = wanted.core in (None, found.core) and wanted.process in (None, found.process)
        is_selected = is_selected and found.process != wanted.without
        sums = self.sums.setdefault(found.folded, {})
        thread = self.threads[prefix] = Thread(found, self._frames[found.is_java], is_selected, sums, found.is_swapper)
        return thread

    def _note_kind_and_differs(self, event: bytes) -> bool:
        """Return whether this is another kind of event than the text's first."""
        if self.event is None:
            self.event = event
        return event != self.event

    def _block(self, block: bytes) -> Iterator[Event]:
        yield from self._each_line(block.split(b"\n"))
        yield from self._end_open_event()

    def _each_line(self, lines: list[bytes]) -> Iterator[Event]:
        for line in lines:
            if self._overlong:  # the rest of a line that was too long to keep
                self._overlong = False
                self.skipped_lines += 1
            elif not line:
                yield from self._end_open_event()
            elif not line.startswith(b"#"):
                yield from self._line(line)

    def _line(self, line: bytes) -> Iterator[Event]:
        is_indented = line[:1] in (b" ", b"\t")
        is_frame = is_indented and not self._is_padded and (self._open is not None or self._is_passing)
        if not is_frame and (begun := self._event_head(line)) is not None:
            yield from self._end_open_event()
            event, _, frame = begun.what
            if self._note_kind_and_differs(event):
                self.skipped_events += 1
                self._is_passing = True
                return
            self._open = begun
            self._is_padded = is_indented
            if frame:
                self._lines = [frame]
                yield from self._end_open_event()
        elif self._open is not None and len(self._lines) < _MOST_FRAMES:
            self._lines.append(line)
        elif not self._is_passing:
            self.skipped_lines += 1

    def _event_head(self, line: bytes) -> _Begun | None:
        at = None
        if stamp := STAMP.search(line):
            prefix, suffix = line[: stamp.start()].lstrip(), line[stamp.end() :]
            at = int(stamp[1]) * SECOND + int(stamp[2]) * _SCALE[len(stamp[2])]
        elif parts := without_time(line):
            prefix, suffix = parts
        else:
            return None
        thread = self.threads.get(prefix) or self._thread(prefix)
        found = parse_event_name(suffix) if thread is not None else None
        return None if thread is None or found is None else _Begun(thread, found, at, stamp)

    def _end_open_event(self) -> Iterator[Event]:
        """End the event that was read line by line."""
        begun, self._open = self._open, None
        lines, self._lines = self._lines, []
        self._is_passing = False
        if begun is not None:
            stack = begun.thread.frames.stack(lines[0] if lines else b"", b"\n".join(lines[1:]))
            yield begun.thread, begun.what[1], begun.at, stack, begun.stamp, b"\n".join(lines)


def _is_usual(lines: bytes) -> bool:
    """Return whether every line is indented, so that none begins another event."""
    return not lines or (lines[:1] in (b" ", b"\t") and _NOT_INDENTED.search(lines) is None)


def _refuse_binary(start: bytes) -> None:
    if start.startswith(_PERF_DATA):
        raise ProfileError(
            "This is perf.data, which only the perf that wrote it reads well.",
            "Make text of it where it was recorded: perf script -i perf.data | gzip > perf.txt.gz",
        )
    if b"\0" in start[:4096]:
        raise ProfileError(
            "This is not text, but a binary file.",
            "A profile is what perf script prints: perf script -i perf.data > perf.txt",
        )
