"""Figures as people read them: memory, shares, spans of time."""

from __future__ import annotations

import re
from datetime import timedelta

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def memory(kib: int) -> str:
    """Return an amount of memory in a readable unit.

    Example:
    >>> memory(1_700_000), memory(61_000)
    ('1.6 GiB', '60 MiB')
    """
    return f"{kib / 1048576:.1f} GiB" if kib >= 1048576 else f"{kib / 1024:.0f} MiB"


def span(time: timedelta) -> str:
    """Return a span of time in a single unit.

    Example:
    >>> span(timedelta(days=11.25)), span(timedelta(seconds=14.06)), span(timedelta(hours=3))
    ('11.2 days', '14.1 s', '3 hours')
    """
    seconds = time.total_seconds()
    if seconds < 2 * _MINUTE:
        return f"{_short(seconds)} s"
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.0f} minutes"
    if seconds < 2 * _DAY:
        return f"{seconds / _HOUR:.0f} hours"
    return f"{_short(seconds / _DAY)} days"


def percent(share: float) -> str:
    """Return a share in percent, with a decimal only where it matters.

    Example:
    >>> percent(99.97), percent(8.25)
    ('100 %', '8.2 %')
    """
    return f"{share:.1f} %" if share < 10 else f"{share:.0f} %"


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def sentence(*parts: str) -> str:
    """Join the parts into a line that begins with a capital, unless it begins with the name of a unit or device.

    Example:
    >>> sentence("core 3 is full", "12 packets dropped"), sentence("containerd.service stopped"), sentence("dm-2 held")
    ('Core 3 is full; 12 packets dropped', 'containerd.service stopped', 'dm-2 held')
    """
    whole = "; ".join(part for part in parts if part)
    is_name = re.search(r"[./_0-9-]", whole.partition(" ")[0].rstrip(":"))
    return whole if is_name else whole[:1].upper() + whole[1:]
