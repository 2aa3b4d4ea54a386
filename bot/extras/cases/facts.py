"""Facts: the numbers, booleans and entries of readings that a result looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeAlias

from bot.domain.change import Change

Number: TypeAlias = int | float


@dataclass(frozen=True, slots=True)
class Fact:
    """A value that was looked at; `was` is None for an entry that can only be left out."""

    change: Change
    was: Number | bool | timedelta | None = None

    @property
    def both_looks(self) -> str:
        """For a later look: the fact that moves it together with the first look; else empty."""
        field, part = (name.removesuffix("_later") for name in (self.change.field, self.change.part))
        now = replace(self.change, field=field, part=part)
        return now.what if now != self.change else ""

    def at(self, value: str) -> Change:
        """Return the change that gives it this value."""
        change = self.change
        return Change(change.probe, change.field, change.entry, change.part, value)


def number(value: Number | timedelta) -> Number:
    """Return a value as a number; a duration in seconds."""
    return value.total_seconds() if isinstance(value, timedelta) else value
