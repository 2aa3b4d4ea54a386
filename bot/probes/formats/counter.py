"""The kernel's 32-bit counters, which wrap around to zero."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain.errors import CannotRead

_FULL = 1 << 32
_HALF = 1 << 31


def counter_increase(before: int, after: int, what: str) -> int:
    """Return how far a 32-bit counter rose between two looks, allowing for a single wrap.

    Raises: CannotRead when it went back: a rise above half of the range is impossible within seconds.

    Example:
    >>> counter_increase(0xFFFFFFF0, 0x10, "packets")
    32
    """
    if after >= before:
        return after - before
    rise = (after - before) % _FULL
    if before >= _FULL or rise >= _HALF:
        raise CannotRead(f"{what} went back between the looks")
    return rise


def counts(words: Sequence[str]) -> tuple[int, ...] | None:
    """Return a row's counters, None when any is not a number. A large node has thousands, so no regex is used.

    Example:
    >>> counts(("5", "12")), counts(("5", "-12"))
    ((5, 12), None)
    """
    together = "".join(words)
    if not (together.isascii() and together.isdigit() and all(words)) or max(map(len, words)) > 20:
        return None
    return tuple(map(int, words))
