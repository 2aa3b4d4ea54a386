"""The limits of rolling captures."""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain.setting import count, option


@dataclass(frozen=True, slots=True)
class CaptureSettings:
    """The limits of rolling captures: nodes at once, hours, captures a day for a person."""

    at_once: int = option(count(1), 3)
    most_hours: int = option(count(1, 24), 24)
    a_day: int = option(count(1), 6)
