"""Some of many words, and how many more there are."""

from __future__ import annotations

from collections.abc import Sequence


def listed(words: Sequence[str], most: int, between: str = ", ") -> str:
    """Return the first of them in a row, and the count of the others.

    Example:
    >>> listed(["a", "b", "c", "d"], 2), listed(["a"], 2)
    ('a, b and 2 more', 'a')
    """
    return between.join(words[:most]) + (f" and {len(words) - most:,} more" if len(words) > most else "")
