"""The effect of a cure beyond chance: the share of well nodes with the cure, compared to the share without it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bot.domain.prevalence import Prevalence
from bot.domain.wave_events import ArmLooked


@dataclass(frozen=True, slots=True)
class Effect:
    """The difference of two shares, with its 95 % interval.

    Source: R. G. Newcombe, 1998, method 10: made from both shares' Wilson intervals; it also holds for few nodes.
    """

    treated: Prevalence
    controls: Prevalence

    @classmethod
    def of(cls, treated: ArmLooked, controls: ArmLooked) -> Effect | None:
        """Return the effect; None if either side has no node that could be judged.

        Example:
        >>> found = Effect.of(ArmLooked(18, 18), ArmLooked(2, 0))
        >>> found.says if found else ""
        'well: 18 of 18 with the cure, 0 of 2 without it; the cure did 100 points (32 to 100)'
        """
        if not treated.nodes or not controls.nodes:
            return None
        return cls(Prevalence(treated.well, treated.nodes), Prevalence(controls.well, controls.nodes))

    @property
    def difference(self) -> float:
        """How much larger the share of well nodes is with the cure."""
        return self.treated.share - self.controls.share

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the difference."""
        (low, high), (low0, high0) = self.treated.interval, self.controls.interval
        share, share0 = self.treated.share, self.controls.share
        down = math.sqrt((share - low) ** 2 + (high0 - share0) ** 2)
        up = math.sqrt((high - share) ** 2 + (share0 - low0) ** 2)
        return max(-1.0, self.difference - down), min(1.0, self.difference + up)

    @property
    def is_told(self) -> bool:
        """True if the interval excludes that the cure does nothing."""
        low, high = self.interval
        return low > 0 or high < 0

    @property
    def says(self) -> str:
        """The effect in words, always with its bounds."""
        low, high = (round(bound * 100) for bound in self.interval)
        words = (
            f"well: {self.treated.found} of {self.treated.asked} with the cure, "
            f"{self.controls.found} of {self.controls.asked} without it"
        )
        did = f"the cure did {round(self.difference * 100)} points ({low} to {high})"
        return f"{words}; {did}" if self.is_told else f"{words}; {did}: that may be chance"
