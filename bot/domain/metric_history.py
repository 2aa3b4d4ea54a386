"""What was measured on a node before the check, as far as a metrics store kept it."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from bot.domain.growth import CountSample
from bot.domain.node import Node
from bot.domain.verdict import Evidence

# The names they have among the readings, and among what is unread.
HISTORY = "prometheus"
PROFILED = "pyroscope"


class CountedBefore(Protocol):
    """Counts of a cause on nodes, from before the ledger had any."""

    async def counted(self, node: str, cause: str, until: datetime) -> tuple[CountSample, ...]:
        """Return a node's counts in the weeks before, oldest first; empty if none are known.

        Raises: CannotRead when the store does not answer.
        """


class MetricHistory(Protocol):
    """The metric history of nodes."""

    async def before(self, node: Node, until: datetime) -> tuple[Evidence, ...]:
        """Return the evidence from the time before.

        Raises: CannotRead when it cannot be read; it fails quickly, because a verdict waits for it.
        """
