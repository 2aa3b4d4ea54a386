"""A profile as `perf script` text for other viewers: the selected events, in the order of the text.

Source: the readers' own rules. speedscope's linux-tools-perf.ts wants the process in column 0, two letters of it at
least, and cuts at empty lines; Firefox Profiler's linux-perf.ts leaves events without frames out, and like speedscope
wants no spaces in a module's name; FlameScope's regexp.py wants a hexadecimal address and frames indented by a tab.
Perfetto's perf_text importer is the strictest: the first line must be an event, without a heading above;
a time must have six decimals, not perf's nine; and a single event without frames fails the whole file.
None of them keeps the core.
"""

from __future__ import annotations

from collections.abc import Callable

from bot.domain.errors import ProfileError
from bot.domain.safe_text import decode
from bot.profile.reader import Sample
from bot.profile.stack import FRAME

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
