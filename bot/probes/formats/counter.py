"""The kernel's 32-bit counters, which start over at zero when they are full."""

from __future__ import annotations

from bot.domain.errors import CannotRead

_FULL = 1 << 32
_HALF = 1 << 31


def risen(before: int, after: int, what: str) -> int:
    """Return how far a 32-bit counter rose between two looks, allowing for one time round.

    Raises: CannotRead when it went back instead: more than half of the way round is no rise of a few seconds.

    Example:
    >>> risen(0xFFFFFFF0, 0x10, "packets")
    32
    """
    if after >= before:
        return after - before
    rise = (after - before) % _FULL
    if before >= _FULL or rise >= _HALF:
        raise CannotRead(f"{what} went back between the looks")
    return rise
