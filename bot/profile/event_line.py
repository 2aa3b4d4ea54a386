"""The first line of an event in `perf script` text: process, core, time, and event.

Source: `perf script` prints `comm tid`, `[cpu]`, `time:`, `period event:` by default, `pid/tid` with `-F +pid`, and
flags of a tracepoint between core and time. The name of a process may hold spaces, digits and colons. Without call
chains the name is padded to 16 columns, and the only frame is on the same line. A process that has ended by the time
of its sample has the name `:-1`, and -1 for a number that the kernel no longer knows (perf 6.1 on Linux 6.18).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.domain.safe_text import decode

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
class Who:
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


@dataclass(frozen=True, slots=True, eq=False)
class What:
    """The event: everything after its time.

    Shape: `period` as stackcollapse-perf.pl counts it, 1 if there is none; `frame` is the only frame of a text without
    call chains, unparsed, empty if there is none.
    """

    event: bytes
    period: int
    frame: bytes


def who(prefix: bytes) -> Who | None:
    """Parse the text before the time; None if it names no process.

    Example:
    >>> found = who(b"V8 Worker 2 24636/25607 [031]")
    >>> found.process, found.pid, found.tid, found.core
    ('V8 Worker 2', 24636, 25607, 31)
    >>> found = who(b":-1 -1/-1 [001]")
    >>> found.process, found.pid, found.tid, found.core, found.folded
    (':-1', -1, -1, 1, b':-1')
    """
    if (found := _WHO.match(prefix)) is None:
        return None
    name, pid, tid, core = found.groups()
    first = _FOLDED_NAME.match(prefix + b" ")
    folded = (first[1] if first else name).replace(b" ", b"_")
    return Who(
        process=decode(name).replace("\n", " "),
        pid=int(pid),
        tid=int(tid) if tid else None,
        core=int(core) if core else None,
        folded=folded,
        raw_process=name,
        is_java=folded.startswith(b"java"),
        is_swapper=b"swapper" in name,
    )


def what(suffix: bytes) -> What | None:
    """Parse the text after the time's colon; None for other lines, such as lost events.

    Example:
    >>> what(b"   250000 cpu-clock:pppH: ").period
    250000
    """
    if (found := _WHAT.match(suffix)) is None or found[2].startswith(b"PERF_RECORD_"):
        return None
    if alone := _ALONE.match(suffix):
        return What(alone[1], int(found[1] or 0) or 1, b"")
    rest = suffix[found.end() :].strip()
    return What(found[2], 1, rest if _looks_like_frame(rest) else b"")


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
