"""The value of a threshold as somebody wrote it: in the unit that its name says, and readable."""

from __future__ import annotations


def wrong_unit(name: str, value: float) -> str:
    """Return what is wrong with a threshold in another unit than its name says; empty if nothing is."""
    if value < 0:
        return f"is {value:g}; no threshold is below 0"
    if name.endswith("_percent") and value > 100:
        return f"is {value:g}; a percentage is at most 100"
    if name.endswith("_percent") and 0 < value < 1:
        return f"is {value:g}, less than one percent; in percent it would be {100 * value:g}"
    if name.endswith(("_share", "_ratio")) and value > 1:
        return f"is {value:g}; a share is from 0 to 1: {value / 100:g} for {value:g} percent"
    return ""


def tidy(value: float) -> float:
    """Return a whole number without a decimal point, because people will read it."""
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else value
