"""How fast something gathers on a node, and when that comes to harm: from what was counted there before.

Source: the median of all slopes between two looks (Theil 1950, Sen 1968), with Sen's interval at 95 %: of looks that
depend on nothing but time, a few wrong ones move neither. What was counted before a reboot, or before it fell by half
(somebody freed it), is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations
from statistics import median

from bot.domain.probe import Snapshot

Z = 1.959964  # of 95 %
FEWEST = 5  # looks: fewer give no interval, for even four that only rise may be chance
MOST = 120  # looks that are compared with each other, which are 7,140 slopes; of more, so many spread over all
SHORTEST = timedelta(minutes=5)  # between the first look and the last
KEPT = 48  # looks that go on record with a verdict, for people to see
FARTHEST = timedelta(days=3650)  # what is farther away is never


@dataclass(frozen=True, slots=True)
class Look:
    """What was counted at one time; `boot` is the boot it was in, empty where that is not known."""

    at: datetime
    value: float
    boot: str = ""


@dataclass(frozen=True, slots=True)
class HarmAt:
    """From how many on it does harm, and what that is."""

    value: float
    says: str


@dataclass(frozen=True, slots=True)
class Grows:
    """What a cause counts that may grow.

    Shape: `what` is the plural that follows a number: "dying memory cgroups". `read` returns it, None where it was not
    read; `harm` the nearest harm that it leads to by these thresholds, None where none can be told.
    """

    what: str
    read: Callable[[Snapshot], float | None]
    harm: Callable[[Snapshot, Mapping[str, float]], HarmAt | None]


@dataclass(frozen=True, slots=True)
class Growth:
    """How something grows on a node.

    Shape: `looks` are those since the last reset, thinned, the oldest first. Slopes are per hour: `per_hour` is the
    likely one, `low` and `high` its interval at 95 %; None where there were too few looks for it.
    """

    cause: str
    what: str
    looks: tuple[Look, ...]
    counted: int
    per_hour: float
    low: float | None = None
    high: float | None = None
    harm: HarmAt | None = None

    @property
    def latest(self) -> Look:
        """What was counted last."""
        return self.looks[-1]

    @property
    def grows(self) -> bool | None:
        """True where it grows beyond chance, False where no growth is within the interval; None with too few looks."""
        return None if self.low is None else self.low > 0

    @property
    def is_harmful(self) -> bool:
        """True where it is as many already as do harm."""
        return self.harm is not None and self.latest.value >= self.harm.value

    @property
    def harm_in(self) -> tuple[timedelta, timedelta, timedelta] | None:
        """How long it has from the last look until harm: the soonest, the likely and the latest time.

        Shape: None where it does not grow beyond chance, harm is there already or not known, or it is years away.
        """
        if not self.grows or self.harm is None or self.is_harmful or self.low is None or self.high is None:
            return None
        left = self.harm.value - self.latest.value
        hours = [left / slope for slope in (self.high, self.per_hour, self.low)]
        soonest, likely, latest = (timedelta(hours=min(each, FARTHEST / timedelta(hours=1))) for each in hours)
        return (soonest, likely, latest) if likely < FARTHEST else None


def since_reset(looks: Sequence[Look]) -> tuple[Look, ...]:
    """Return the looks of the latest boot, in order, without those before it was freed; times that repeat count once.

    Example:
    >>> from datetime import UTC
    >>> at = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3, 4)]
    >>> looks = [Look(at[0], 10, "a"), Look(at[1], 900, "a"), Look(at[2], 5, "a"), Look(at[3], 9, "a")]
    >>> [look.value for look in since_reset(looks)]
    [5, 9]
    """
    ordered = sorted({look.at: look for look in looks if math.isfinite(look.value)}.values(), key=lambda look: look.at)
    begin = 0
    for at in range(1, len(ordered)):
        before, now = ordered[at - 1], ordered[at]
        is_other_boot = bool(before.boot and now.boot and before.boot != now.boot)
        if is_other_boot or now.value < before.value / 2:
            begin = at
    return tuple(ordered[begin:])


def growth(cause: str, grows: Grows, looks: Sequence[Look], harm: HarmAt | None = None) -> Growth | None:
    """Return how it grows; None with less than two looks, or all within minutes."""
    whole = since_reset(looks)
    if len(whole) < 2 or whole[-1].at - whole[0].at < SHORTEST:
        return None
    used = spread(whole, MOST)
    slopes = sorted(
        (later.value - earlier.value) / ((later.at - earlier.at) / timedelta(hours=1))
        for earlier, later in combinations(used, 2)
    )
    low, high = _interval(slopes, [look.value for look in used])
    return Growth(cause, grows.what, spread(whole, KEPT), len(whole), median(slopes), low, high, harm)


def spread(looks: Sequence[Look], most: int) -> tuple[Look, ...]:
    """Return so many of the looks at most, evenly from the first to the last."""
    if len(looks) <= most:
        return tuple(looks)
    return tuple(looks[round(at * (len(looks) - 1) / (most - 1))] for at in range(most))


def _interval(slopes: Sequence[float], values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return Sen's interval by the variance of Kendall's S, with its correction for ties."""
    count = len(values)
    if count < FEWEST:
        return None, None
    ties = [values.count(value) for value in set(values)]
    variance = (_spread_of(count) - sum(_spread_of(tied) for tied in ties)) / 18
    half = Z * math.sqrt(max(variance, 0.0))
    lowest, highest = math.floor((len(slopes) - half) / 2), math.ceil((len(slopes) + half) / 2)
    return slopes[max(lowest, 0)], slopes[min(highest, len(slopes) - 1)]


def _spread_of(count: int) -> int:
    return count * (count - 1) * (2 * count + 5)
