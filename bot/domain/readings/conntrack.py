"""The connection-tracking table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class ConntrackReading:
    """Entries and their limit; `loaded` False: the kernel tracks no connections here."""

    probe: ClassVar[str] = "conntrack"

    loaded: bool
    count: int = 0
    maximum: int = 0
    source: tuple[str, ...] = ()

    @property
    def used_percent(self) -> float:
        """How full the table is; 0 where there is none."""
        return 100 * self.count / self.maximum if self.maximum else 0.0
