"""Durations (`5s`, `250ms`, `15m`, `2h`, `1d`, or bare seconds) and spans of the day, as people write them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

_WRITTEN = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h|d)\Z", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
YEAR = timedelta(days=366)


def parse_duration(written: object, longest: timedelta = YEAR) -> timedelta:
    """Return the duration written as text like `5s` or as a bare number of seconds.

    Raises: ValueError, with a sentence for the user, when it is neither, is negative or is longer than `longest`.

    Example:
    >>> parse_duration("15m"), parse_duration(1.5)
    (datetime.timedelta(seconds=900), datetime.timedelta(seconds=1, microseconds=500000))
    """
    seconds: float | None = None
    most = longest.total_seconds()
    if isinstance(written, int | float) and not isinstance(written, bool):
        # Checked before any arithmetic: an int may be too large for a float, a float may be nan.
        seconds = float(written) if 0 <= written <= most else None
    elif isinstance(written, str) and (found := _WRITTEN.match(written)):
        seconds = float(found.group(1)) * _SECONDS[found.group(2)]
    if seconds is None or seconds > most:
        too_long = "" if seconds is None else f", and is {span_words(longest)} at most"
        raise ValueError(f'a duration is written like "5s", "250ms", "15m" or "2h"{too_long}')
    return timedelta(seconds=seconds)


def duration_text(duration: timedelta) -> str:
    """Return a duration as `parse_duration` reads it, in the largest unit that keeps it whole.

    Example:
    >>> [duration_text(timedelta(seconds=seconds)) for seconds in (900, 90, 1.5)]
    ['15m', '90s', '1500ms']
    """
    milliseconds = round(duration.total_seconds() * 1000)
    for unit in ("d", "h", "m", "s"):
        whole, rest = divmod(milliseconds, round(_SECONDS[unit] * 1000))
        if whole and not rest:
            return f"{whole}{unit}"
    return f"{milliseconds}ms" if milliseconds else "0s"


def span_words(duration: timedelta) -> str:
    """Return a duration in its two largest units.

    Example:
    >>> span_words(timedelta(days=11, hours=3, minutes=5))
    '11 d 3 h'
    """
    seconds = int(duration.total_seconds())
    for size, unit, smaller, name in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if seconds >= size:
            rest = seconds % size // smaller
            return f"{seconds // size} {unit}" + (f" {rest} {name}" if rest else "")
    return f"{seconds} s"


def parse_day_span(written: str) -> tuple[int, int]:
    """Return a span of the day, in minutes since midnight UTC; it may go over midnight.

    Raises: ValueError when it is not such a span.

    Example:
    >>> parse_day_span("22:00-06:30")
    (1320, 390)
    """
    hours = [end.strip().split(":") for end in written.split("-")]
    if len(hours) != 2 or any(len(end) != 2 or not all(part.isdigit() for part in end) for end in hours):
        raise ValueError('a span is written like "22:00-06:00"')
    (begin_hour, begin), (end_hour, end) = ((int(hour), int(minute)) for hour, minute in hours)
    if not (begin_hour < 24 and end_hour < 24 and begin < 60 and end < 60):
        raise ValueError('a span is written like "22:00-06:00"')
    return begin_hour * 60 + begin, end_hour * 60 + end


def is_in_day_span(at: datetime, span: tuple[int, int]) -> bool:
    """True within a span of the day; one that ends where it begins is the whole day.

    Example:
    >>> noon = datetime(2026, 11, 22, 12)
    >>> [is_in_day_span(noon, parse_day_span(span)) for span in ("09:00-12:00", "22:00-12:01", "06:00-06:00")]
    [False, True, True]
    """
    minute, (begin, end) = at.hour * 60 + at.minute, span
    return begin <= minute < end if begin < end else minute >= begin or minute < end
