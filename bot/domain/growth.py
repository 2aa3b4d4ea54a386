"""How fast something accumulates on a node, and when it does harm, estimated from earlier counts.

Source: the median of all slopes between two looks (Theil 1950, Sen 1968), with Sen's interval at 95 %; a few wrong
looks change neither. Counts before a reboot, or before a fall by half (somebody freed it), are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations
from statistics import median
from typing import Protocol

from bot.domain.probe import Snapshot

Z = 1.959964  # for 95 %
FEWEST = 5  # looks: fewer give no interval, as even four rising counts may be chance
MOST = 120  # looks compared with each other (7,140 slopes); of more looks, this many are taken evenly
SHORTEST = timedelta(minutes=5)  # between the first look and the last
KEPT = 48  # looks stored with a verdict, for people to see
FARTHEST = timedelta(days=3650)  # anything later counts as never


@dataclass(frozen=True, slots=True)
class CountSample:
    """A count at a time; `boot` is the boot it was made in, empty if not known."""

    at: datetime
    value: float
    boot: str = ""


class CountHistory(Protocol):
    """Counts of a cause on nodes, from before the ledger had any."""

    async def counted(self, node: str, cause: str, until: datetime) -> tuple[CountSample, ...]:
        """Return a node's counts in the weeks before, oldest first; empty if none are known.

        Raises: CannotRead when the store does not answer.
        """


@dataclass(frozen=True, slots=True)
class HarmThreshold:
    """The count from which it does harm, and what the harm is."""

    value: float
    says: str


@dataclass(frozen=True, slots=True)
class GrowthMeasure:
    """What a cause counts that may grow.

    Shape: `what` is the plural after a number: "dying memory cgroups". `read` returns the count, None if it was not
    read; `harm` returns the nearest harm by these thresholds, None if there is none. `few` may come within half an
    hour without a fault.
    """

    what: str
    read: Callable[[Snapshot], float | None]
    harm: Callable[[Snapshot, Mapping[str, float]], HarmThreshold | None]
    few: float


@dataclass(frozen=True, slots=True)
class Growth:
    """How something grows on a node.

    Shape: `looks` are those since the last reset, thinned out, oldest first. Slopes are per hour: `per_hour` is the
    likely slope, `low` and `high` its interval at 95 %; None with too few looks.
    """

    cause: str
    what: str
    looks: tuple[CountSample, ...]
    counted: int
    per_hour: float
    low: float | None = None
    high: float | None = None
    harm: HarmThreshold | None = None

    @property
    def latest(self) -> CountSample:
        """The latest count."""
        return self.looks[-1]

    @property
    def grows(self) -> bool | None:
        """True if it grows beyond chance, False if the interval includes no growth; None with too few looks."""
        return None if self.low is None else self.low > 0

    @property
    def is_harmful(self) -> bool:
        """True if the count is already harmful."""
        return self.harm is not None and self.latest.value >= self.harm.value

    @property
    def harm_in(self) -> tuple[timedelta, timedelta, timedelta] | None:
        """The time from the last look until harm: soonest, likely and latest.

        Shape: None if it does not grow beyond chance, if harm is there already or not known, or if it is years away.
        """
        if not self.grows or self.harm is None or self.is_harmful or self.low is None or self.high is None:
            return None
        left = self.harm.value - self.latest.value
        hours = [left / slope for slope in (self.high, self.per_hour, self.low)]
        soonest, likely, latest = (timedelta(hours=min(each, FARTHEST / timedelta(hours=1))) for each in hours)
        return (soonest, likely, latest) if likely < FARTHEST else None


def since_reset(looks: Sequence[CountSample]) -> tuple[CountSample, ...]:
    """Return the looks of the latest boot since the last fall, in order; repeated times count once.

    Example:
    >>> from datetime import UTC
    >>> at = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3, 4)]
    >>> counts = (10, "a"), (900, "a"), (5, "a"), (9, "a")
    >>> looks = [CountSample(at[number], count, boot) for number, (count, boot) in enumerate(counts)]
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


def growth(
    cause: str, grows: GrowthMeasure, looks: Sequence[CountSample], harm: HarmThreshold | None = None
) -> Growth | None:
    """Return the growth; None with less than two looks, or if all are within minutes."""
    whole = since_reset(looks)
    if len(whole) < 2 or whole[-1].at - whole[0].at < SHORTEST:
        return None
    used = thinned(whole, MOST)
    slopes = sorted(
        (later.value - earlier.value) / ((later.at - earlier.at) / timedelta(hours=1))
        for earlier, later in combinations(used, 2)
    )
    low, high = _interval(slopes, [look.value for look in used])
    return Growth(cause, grows.what, thinned(whole, KEPT), len(whole), median(slopes), low, high, harm)


def thinned(looks: Sequence[CountSample], most: int) -> tuple[CountSample, ...]:
    """Return at most that many of the looks, evenly spread from the first to the last."""
    if len(looks) <= most:
        return tuple(looks)
    return tuple(looks[round(at * (len(looks) - 1) / (most - 1))] for at in range(most))


def _interval(slopes: Sequence[float], values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return Sen's interval by the variance of Kendall's S, with its correction for ties."""
    count = len(values)
    if count < FEWEST:
        return None, None
    ties = [values.count(value) for value in set(values)]
    variance = (_variance_term(count) - sum(_variance_term(tied) for tied in ties)) / 18
    half = Z * math.sqrt(max(variance, 0.0))
    lowest, highest = math.floor((len(slopes) - half) / 2), math.ceil((len(slopes) + half) / 2)
    return slopes[max(lowest, 0)], slopes[min(highest, len(slopes) - 1)]


def _variance_term(count: int) -> int:
    return count * (count - 1) * (2 * count + 5)
