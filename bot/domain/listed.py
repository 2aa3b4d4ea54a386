"""Lists the first of many words, and counts the rest."""

from __future__ import annotations

from collections.abc import Sequence


def listed(words: Sequence[str], most: int, between: str = ", ") -> str:
    """Return the first `most` words as text, and the count of the others.

    Example:
    >>> listed(["a", "b", "c", "d"], 2), listed(["a"], 2)
    ('a, b and 2 more', 'a')
    """
    return between.join(words[:most]) + (f" and {len(words) - most:,} more" if len(words) > most else "")
