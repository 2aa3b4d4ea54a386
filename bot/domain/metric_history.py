"""What was measured of a node before anybody looked at it, as far as somebody kept it."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from bot.domain.growth import Look
from bot.domain.node import Node
from bot.domain.verdict import Evidence

# The names under which they stand among what was read, and what was not.
PAST = "prometheus"
PROFILED = "pyroscope"


class CountedBefore(Protocol):
    """Whoever kept what a cause counts on nodes, before the record did."""

    async def counted(self, node: str, cause: str, until: datetime) -> tuple[Look, ...]:
        """Return what was counted on a node in the weeks before, the oldest first; none where nothing is known.

        Raises: CannotRead when that cannot be told now.
        """
        ...


class Past(Protocol):
    """Knows the past of nodes."""

    async def before(self, node: Node, until: datetime) -> tuple[Evidence, ...]:
        """Return what is worth telling of the time before.

        Raises: CannotRead when it cannot be told, soon: whoever asks has a verdict to give.
        """
        ...
