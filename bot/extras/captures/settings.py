"""The limits of rolling captures."""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain.setting import count, option


@dataclass(frozen=True, slots=True)
class CaptureSettings:
    """The limits of rolling captures: nodes at once, hours, captures a day for a person."""

    at_once: int = option(count(1), 3, "On how many nodes at once a rolling capture may run.")
    most_hours: int = option(count(1, 24), 24, "For how many hours at most.")
    a_day: int = option(count(1), 6, "How many a day for one person.")
