"""Spans of time as systemd prints them.

Defined in: systemd.time(7), "Displaying time spans".
"""

from __future__ import annotations

import re
from datetime import timedelta

_SECONDS = {
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "w": 604800.0,
    "month": 2629800.0,
    "y": 31557600.0,
}
_PIECE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)(us|ms|s|min|h|d|w|month|y)")


def systemd_span(text: str) -> timedelta | None:
    """Return the span; None for `infinity`, for empty text, and for any text that is not a span.

    Example:
    >>> systemd_span("1min 30s"), systemd_span("100ms"), systemd_span("infinity")
    (datetime.timedelta(seconds=90), datetime.timedelta(microseconds=100000), None)
    """
    if text.strip() == "0":
        return timedelta(0)
    found = [_PIECE.fullmatch(piece) for piece in text.split()]
    if not found or len(found) > len(_SECONDS):
        return None
    seconds = sum(float(piece[1]) * _SECONDS[piece[2]] for piece in found if piece is not None)
    return timedelta(seconds=seconds) if None not in found and seconds < 1e11 else None
