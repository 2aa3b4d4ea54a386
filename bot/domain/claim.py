"""What a step claims before it may begin: its node, and a place within the limits across all incidents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from bot.domain.duration import is_in_day_span
from bot.domain.errors import Braked, QuietHours
from bot.domain.policy import Limits, Policy
from bot.domain.safe_text import one_line

if TYPE_CHECKING:
    from bot.domain.entry import Entry
    from bot.domain.incident import Incident

CLOCK_TOLERANCE = timedelta(minutes=1)  # by how much NTP may set a clock back
DaySpan: TypeAlias = tuple[int, int]  # minutes of the day, UTC
Doubts: TypeAlias = Callable[[Policy, str], str]  # why a cause's plans are not offered; empty where they are


def no_doubts(_: Policy, __: str) -> str:
    """Say that the plans of any cause are offered."""
    return ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A step that is about to begin: `remedy` is its plan's digest without the boot, `runner` who would run it.

    Shape: `machine_id` is the approved machine's, and `cure` is the plan's digest without the node's name: a machine
    with two names counts once. Both are empty if unknown. By the ledger's time, the step may begin from `since`, when
    what allows it was recorded, until `until`, and at no time of the day that is `quiet`.
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
    quiet: tuple[DaySpan, ...] = ()


@dataclass(frozen=True, slots=True)
class Hold:
    """An incident holds a node: its step, the runner of the step, and how long the runner has been silent."""

    node: str
    incident: str
    step: int
    runner: str
    silent_for: timedelta


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """What a decision about an incident's plan depends on, all read at one moment.

    Shape: `pulled` is the pull of the brake that is on, `doubts` say which causes offer no plans. `hold` is on the
    plan's node or machine, `tried` the last incident that began the same plan there; both are None without a plan.
    """

    incident: Incident
    pulled: Entry | None
    doubts: Doubts
    hold: Hold | None = None
    tried: str | None = None


@dataclass(frozen=True, slots=True)
class ProposalRecord:
    """What it depends on whether a plan is offered, all read at one moment.

    Shape: `tried` is the last incident that began the same plan on its node or machine. `names` are the machine's, none
    without its machine-id; `nodes` are those of the incident's group. `doubts` say which causes offer no plans.
    """

    tried: str | None
    names: tuple[str, ...]
    nodes: frozenset[str]
    doubts: Doubts


def check_brake_off(pulled: Entry | None) -> None:
    """Raises: Braked."""
    if pulled is not None:
        reason = one_line(str(pulled.body.get("reason", "")), 200)
        raise Braked(f"{pulled.by} pulled the brake at {pulled.at:%H:%M} UTC: {reason}", "zombie brake off")


def check_not_quiet(quiet: Iterable[DaySpan], now: datetime) -> None:
    """Raises: QuietHours."""
    for begin, end in quiet:
        if is_in_day_span(now, (begin, end)):
            until = f"before {end // 60:02}:{end % 60:02} UTC" if begin != end else "at any time of the day"
            raise QuietHours(f"Nothing begins {until}.", "[policy] quiet")


def busy_words(hold: Hold, node: str) -> str:
    """Say which incident acts on a node, and the node's other name if the incident uses it.

    Example:
    >>> busy_words(Hold("gpu-7", "7k3m9x2qpv", 1, "r1", timedelta(0)), "node-7")
    'Incident 7k3m9x2qpv acts on node-7, under its other name gpu-7: both show the same machine-id.'
    """
    if hold.node == node:
        return f"Incident {hold.incident} acts on {node}."
    if hold.node.lower() == node.lower():
        return f"Incident {hold.incident} acts on {node}, written {hold.node} there."
    return f"Incident {hold.incident} acts on {node}, under its other name {hold.node}: both show the same machine-id."
