"""How fast a count grows, in words."""

from __future__ import annotations

from bot.domain.duration import span_words
from bot.domain.growth import Growth


def growth_words(growth: Growth) -> str:
    """Return how fast it grows and when it does harm, in a sentence or two.

    Example:
    >>> from datetime import UTC, datetime, timedelta
    >>> from bot.domain.growth import CountSample
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> looks = (CountSample(at, 1000), CountSample(at + timedelta(days=2), 3400))
    >>> growth_words(Growth("leaked-memory-cgroups", "dying memory cgroups", looks, 2, 50.0))
    '1,200 more dying memory cgroups a day over 2 d (2 looks: too few for an interval).'
    """
    over = span_words(growth.latest.at - growth.looks[0].at)
    if growth.low is None or growth.high is None:
        few = f"over {over} ({growth.counted} looks: too few for an interval)"
        return f"{_rate_words(growth.per_hour)} {growth.what} {_time_unit(growth.per_hour)} {few}."
    if not growth.grows:
        low, high = growth.low, growth.high
        moves = "falls" if high < 0 else "does not grow beyond chance"
        return (
            f"The number of {growth.what} {moves} over {over} ({growth.counted} looks, {_range_words(low, high)} "
            f"{_time_unit(max(low, high, key=abs))}): never harmful at this rate."
        )
    by = _time_unit(growth.per_hour)
    rate = (
        f"{_rate_words(growth.per_hour)} {growth.what} {by} ({_range_words(growth.low, growth.high, growth.per_hour)})"
    )
    return f"{rate} over {over}, {growth.counted} looks. {harm_words(growth)}".rstrip()


def harm_words(growth: Growth) -> str:
    """Return when it does harm; empty where that is not known."""
    if growth.harm is None:
        return ""
    says = f"{growth.harm.says} (from {growth.harm.value:,.0f} on)"
    if growth.is_harmful:
        return f"This many do harm already: {says}."
    if (times := growth.harm_in) is None:
        return "At this rate that is years away." if growth.grows else ""
    soonest, likely, latest = map(span_words, times)
    return f"In about {likely} ({soonest} to {latest}): {says}."


def _time_unit(per_hour: float) -> str:
    return "an hour" if abs(per_hour) >= 100 else "a day"


def _amount_words(per_hour: float, like: float) -> str:
    value = per_hour if abs(like) >= 100 else per_hour * 24
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:,.1f}".removesuffix(".0")


def _rate_words(per_hour: float) -> str:
    return f"{_amount_words(abs(per_hour), per_hour)} {'more' if per_hour >= 0 else 'fewer'}"


def _range_words(low: float, high: float, like: float | None = None) -> str:
    like = max(low, high, key=abs) if like is None else like
    return f"{_amount_words(low, like)} to {_amount_words(high, like)}"
