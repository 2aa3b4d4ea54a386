"""Dates in English, as openssl and chronyc print them, whatever the locale here is."""

from __future__ import annotations

import re
from datetime import UTC, datetime

DATE = r"[A-Z][a-z]{2} +[0-9]{1,2} [0-9]{2}:[0-9]{2}:[0-9]{2} [0-9]{4}"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def instant(date: str) -> datetime | None:
    """Return the moment in UTC, None if there is no such date.

    Example:
    >>> instant("Nov  2 20:07:20 2026")
    datetime.datetime(2026, 11, 2, 20, 7, 20, tzinfo=datetime.timezone.utc)
    """
    month, *figures = re.split(r"[ :]+", date)
    if month not in _MONTHS or len(figures) != 5:
        return None
    day, hour, minute, second, year = map(int, figures)
    try:
        return datetime(year, _MONTHS.index(month) + 1, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
