"""The colours of every heat map: viridis (https://bids.github.io/colormap/).

The colour-blind can tell its colours apart, and in grey they keep their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Colour: TypeAlias = tuple[int, int, int]

_STEPS: Sequence[Colour] = (  # at 0, 10 … 100 %
    (68, 1, 84),
    (72, 36, 117),
    (65, 68, 135),
    (53, 95, 141),
    (42, 120, 142),
    (33, 145, 140),
    (34, 168, 132),
    (68, 191, 112),
    (122, 209, 81),
    (189, 223, 38),
    (253, 231, 37),
)


def viridis(share: float) -> Colour:
    """Return the colour of a share from 0 to 1; shares outside have the colour of the nearer end.

    Example:
    >>> viridis(0.0), viridis(0.45), viridis(7)
    ((68, 1, 84), (38, 132, 141), (253, 231, 37))
    """
    at = min(1.0, max(0.0, share)) * (len(_STEPS) - 1)
    step = min(int(at), len(_STEPS) - 2)
    rest = round(at - step, 6)
    red, green, blue = (
        low + round((high - low) * rest) for low, high in zip(_STEPS[step], _STEPS[step + 1], strict=True)
    )
    return red, green, blue
