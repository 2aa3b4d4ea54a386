"""Lines that the kernel itself calls errors, and of which nothing else is known.

Defined in: Linux, include/linux/kern_levels.h: 3 is an error, 2 to 0 are critical, alert and emergency. Words of
drivers never end; their levels are eight.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from bot.probes.formats.kernel_line import KernelEvent, KernelLine
from bot.probes.formats.kernel_speakers import BOOT
from bot.probes.formats.kernel_table import COMPLAINTS, table

_LEVEL = re.compile(r"<([0-3])>(\[.*)")
_FIGURE = re.compile(r"[0-9]+")
_CRITICAL = 2
_BELONGS = timedelta(seconds=5)  # a fault that is known prints many lines
# These end something, or count by themselves: a line beside them tells of something else.
_ALONE = (
    *(*COMPLAINTS, "unstarted", "kernel-warning"),
    *("serious", "nic-link-down", "mounted", "unchecked", "link-back", "heat-off", "nfs-answers"),
)


def without_level(line: str) -> tuple[int | None, str]:
    """Return the level that the node's filter put before a line, None without a level, and the line.

    Example:
    >>> without_level("<3>[ 12.5] node kernel: it hurts"), without_level("[ 12.5] node kernel: it runs")
    ((3, '[ 12.5] node kernel: it hurts'), (None, '[ 12.5] node kernel: it runs'))
    """
    found = _LEVEL.fullmatch(line)
    return (int(found[1]), found[2]) if found else (None, line)


def with_unclassified_errors(
    lines: Sequence[tuple[int, KernelLine]], known: Sequence[KernelEvent]
) -> tuple[KernelEvent, ...]:
    """Return the known events and an event for each error that belongs to none of them, oldest first.

    A complaint that the kernel calls critical is grave: it does not have to repeat.
    Shape: `lines` holds each error with its level; an event's `device` is whoever the line says that it speaks for.
    """
    rows = table()
    beside = sorted(at for event in known if event.kind not in _ALONE and (at := event.since_boot) is not None)
    known = [event for event in known if event.kind != "kernel-warning" or _is_alone(event, beside)]
    told = {event.text for event in known}
    alone = [
        (level, line, at)
        for level, line in lines
        if (at := line.since_boot) is not None and at >= BOOT and not _is_near(at, beside)
    ]
    found = [
        KernelEvent("grave" if level <= _CRITICAL else "error", line.raw, at, _line_beginning(line.says))
        for level, line, at in alone
        if line.raw not in told and not rows.is_habit(line.says) and rows.event(line) is None
    ]
    grave = {line.raw for level, line, _ in alone if level <= _CRITICAL and not rows.is_harmless_once(line)}
    known = [
        replace(event, kind="grave") if event.kind in COMPLAINTS and event.text in grave else event for event in known
    ]
    if not found:
        return tuple(known)
    return tuple(sorted((*known, *found), key=lambda event: event.since_boot or timedelta(0)))


def _is_alone(warning: KernelEvent, beside: Sequence[timedelta]) -> bool:
    """True for a warning after the boot that belongs to no fault that is known."""
    at = warning.since_boot
    return at is not None and at >= BOOT and not _is_near(at, beside)


def _is_near(at: timedelta, beside: Sequence[timedelta]) -> bool:
    place = bisect_left(beside, at - _BELONGS)
    return place < len(beside) and beside[place] <= at + _BELONGS


def _line_beginning(says: str) -> str:
    """Who speaks: what stands before a colon, or else the line's beginning, without figures, which may change."""
    before, colon, _ = says[:80].partition(": ")
    return _FIGURE.sub("#", before if colon else says[:40])
