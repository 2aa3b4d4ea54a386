"""How many memory cgroups live, and how many are removed but not freed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class CgroupsReading:
    """Memory cgroups alive and dying.

    Shape: `mode` is where the memory controller is: "v1", "v2" or "hybrid" (v1 controllers beside a unified tree).
    `counter` says which figure `dying` is; `siblings` are the other v1 controllers' counts, a check without a walk.
    `dying_below` holds the few cgroups of the first two levels with most dying under them, by their path from the root
    ("system.slice/ecs.service"), each with a raw line in `source_below`; one that is missing was not told, never zero.
    """

    probe: ClassVar[str] = "cgroups"

    mode: str
    dying: int
    alive: int
    counter: str
    dying_later: int | None = None  # at the second look
    alive_later: int | None = None
    seconds_between: float | None = None
    alive_is_at_least: bool = False  # the count of directories was stopped at its cap
    siblings: Mapping[str, int] = field(default_factory=dict)
    source: tuple[str, ...] = ()
    source_later: tuple[str, ...] = ()
    dying_is_known: bool = True  # False: `dying` is 0 because so many live that the two cannot be told apart
    dying_below: Mapping[str, int] = field(default_factory=dict)  # empty on v1, where no cgroup counts for itself
    dying_below_later: Mapping[str, int] = field(default_factory=dict)
    source_below: Mapping[str, str] = field(default_factory=dict)  # by the same path, of the newest look that told

    @property
    def growth(self) -> int | None:
        """How many more are dying at the second look; None when there was none."""
        return None if self.dying_later is None else self.dying_later - self.dying

    @property
    def growth_per_hour(self) -> float | None:
        """Growth between the looks, by the hour."""
        if self.growth is None or not self.seconds_between:
            return None
        return self.growth * 3600 / self.seconds_between
