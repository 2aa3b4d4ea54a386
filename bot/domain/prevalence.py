"""Prevalence: how many of the nodes asked have a fault, and the bounds of its share among all nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass

Z95 = 1.959963984540054  # of the normal distribution: 95 % lie within this many standard deviations


@dataclass(frozen=True, slots=True)
class Prevalence:
    """`found` of `asked` nodes. `is_exact`: every selected node was read, so that nothing is estimated."""

    found: int
    asked: int
    is_exact: bool = False

    @property
    def share(self) -> float:
        """The share among the nodes asked, 0 if none was asked."""
        return self.found / self.asked if self.asked else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share; 0 to 1 if no node was asked.

        Source: E. B. Wilson, 1927; it also holds near 0 and 1 and for few nodes, unlike the usual interval.

        Example:
        >>> low, high = Prevalence(8, 100).interval
        >>> f"{low:.4f} {high:.4f}"
        '0.0411 0.1500'
        """
        if not self.asked:
            return 0.0, 1.0
        n, share, square = self.asked, self.share, Z95 * Z95
        middle = (share + square / (2 * n)) / (1 + square / n)
        half = Z95 / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
        # Rounding at the ends must not exclude the share that was seen.
        return (0.0 if not self.found else max(0.0, middle - half)), (
            1.0 if self.found == n else min(1.0, middle + half)
        )

    @property
    def says(self) -> str:
        """The share in words, always with its bounds.

        Example:
        >>> Prevalence(8, 100).says, Prevalence(8, 40, is_exact=True).says
        ('8 of 100: 8 % (4 to 15 % of all)', '8 of 40: 20 %, every node was read')
        """
        words = f"{self.found:,} of {self.asked:,}"
        if not self.asked:
            return f"{words}: nobody answered"
        words += f": {_percent(self.share)} %"
        low, high = self.interval
        return (
            f"{words}, every node was read"
            if self.is_exact
            else f"{words} ({_percent(low)} to {_percent(high)} % of all)"
        )


def _percent(share: float) -> str:
    percent = share * 100
    return f"{percent:.1f}" if 0 < percent < 1 or 99 < percent < 100 else f"{percent:.0f}"
