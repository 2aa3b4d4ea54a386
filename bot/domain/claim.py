"""What a step claims before it may begin: its node, and a place within the limits that hold across incidents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.domain.defaults import AT_ONCE


@dataclass(frozen=True, slots=True)
class Limits:
    """How many nodes may be acted on; None: no such limit.

    Shape: `per_label` is by label: so many nodes of one value at once. `percent` is of all `nodes` known, which denies
    when it is not known how many those are.
    """

    at_once: int = AT_ONCE
    per_hour: int | None = None
    per_label: Mapping[str, int] = field(default_factory=dict)
    percent: int | None = None
    nodes: int = 0

    @property
    def most_at_once(self) -> int:
        """The least of what the limits at once allow."""
        if self.percent is None:
            return self.at_once
        return min(self.at_once, self.nodes * self.percent // 100)


@dataclass(frozen=True, slots=True)
class Claim:
    """A step that wants to begin: `remedy` names its plan apart from the boot it is for, `runner` who would run it.

    Shape: it may begin from `since`, when what allows it came on record, and before `until`, by the ledger's own time.
    """

    node: str
    remedy: str
    runner: str
    limits: Limits = Limits()
    labels: Mapping[str, str] = field(default_factory=dict)
    not_again_within: timedelta = timedelta(hours=24)
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Hold:
    """An incident has a node to itself: its step, who runs it, and for how long nothing was heard of them."""

    node: str
    incident: str
    step: int
    runner: str
    silent_for: timedelta
