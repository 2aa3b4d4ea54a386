"""CFS bandwidth throttling, by cgroup, looked at twice."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class ThrottledGroup:
    """One cgroup with a quota: its rises inside the window, and the raw lines of the second look."""

    path: str
    periods: int
    throttled: int
    throttled_for: timedelta
    source: tuple[str, ...] = ()

    @property
    def ratio(self) -> float:
        """Throttled periods as a share of all periods in the window."""
        return self.throttled / self.periods if self.periods else 0.0


@dataclass(frozen=True, slots=True)
class ThrottlingReading:
    """The cgroups with a CPU quota that ran in the window; `groups_seen` counts all that were looked at."""

    probe: ClassVar[str] = "throttling"

    groups: tuple[ThrottledGroup, ...]
    groups_seen: int = 0
    capped: bool = False  # there were more than the probe looks at

    @property
    def worst_ratio(self) -> float:
        """The highest throttled share of any cgroup."""
        return max((group.ratio for group in self.groups), default=0.0)
