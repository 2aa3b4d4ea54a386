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

    Shape: `machine_id` is the machine's that was approved, and `cure` names the plan apart from the node's name: one
    machine under two names is one. Both are empty where nobody knows. It may begin from `since`, when what allows it
    came on record, and before `until`, by the ledger's own time.
    """

    node: str
    remedy: str
    runner: str
    limits: Limits = Limits()
    labels: Mapping[str, str] = field(default_factory=dict)
    not_again_within: timedelta = timedelta(hours=24)
    since: datetime | None = None
    until: datetime | None = None
    machine_id: str = ""
    cure: str = ""


@dataclass(frozen=True, slots=True)
class Hold:
    """An incident has a node to itself: its step, who runs it, and for how long nothing was heard of them."""

    node: str
    incident: str
    step: int
    runner: str
    silent_for: timedelta


def busy_with(hold: Hold, node: str) -> str:
    """Say who acts on a node, and where it is known by another name.

    Example:
    >>> busy_with(Hold("gpu-7", "7k3m9x2qpv", 1, "r1", timedelta(0)), "node-7")
    'Incident 7k3m9x2qpv acts on node-7, under its other name gpu-7: both show one machine-id.'
    """
    if hold.node == node:
        return f"Incident {hold.incident} acts on {node}."
    if hold.node.lower() == node.lower():
        return f"Incident {hold.incident} acts on {node}, written {hold.node} there."
    return f"Incident {hold.incident} acts on {node}, under its other name {hold.node}: both show one machine-id."
