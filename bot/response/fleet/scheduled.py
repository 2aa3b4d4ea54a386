"""A scheduled sweep: what is new since the last digest, and when to post it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.domain.growth import Growth
from bot.response.fleet.answer import NodeOutcome
from bot.response.fleet.ask import FleetAsk
from bot.response.fleet.report import FleetReport

NEAR = timedelta(days=7)  # harm that is farther away is not reported
URGENT = timedelta(hours=12)  # harm this near is posted in quiet hours too
NEARER = 2  # posted again once the time left is the last posted time divided by this


@dataclass(frozen=True, slots=True)
class ScheduledSweep:
    """A [[sweep]]: what is asked how often, where its digest goes, and its quiet hours (minutes of the day, UTC)."""

    name: str
    every: timedelta
    ask: FleetAsk
    channel: str
    quiet: tuple[tuple[int, int], ...] = ()

    def is_quiet(self, now: datetime) -> bool:
        """True in quiet hours, when only urgent news is posted."""
        minute = now.hour * 60 + now.minute
        return any(
            begin <= minute < end if begin <= end else (minute >= begin or minute < end) for begin, end in self.quiet
        )

    def slot(self, now: datetime) -> int:
        """The number of the sweep that is due; the same for every program that shares the database."""
        return int(now.timestamp() // self.every.total_seconds())


@dataclass(frozen=True, slots=True)
class SweepTold:
    """What was posted last: the nodes of each cause, and by `NODE CAUSE` the time that was left until harm."""

    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    harm_in: Mapping[str, timedelta] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Digest:
    """A sweep compared with the last digest that was posted.

    Shape: `new` and `gone` are nodes by cause; a node that did not answer is neither. `nearer` are nodes nearer
    to harm, the nearest first. `told` replaces the stored digest once this is posted.
    """

    report: FleetReport
    new: Mapping[str, tuple[str, ...]]
    gone: Mapping[str, tuple[str, ...]]
    nearer: tuple[tuple[str, Growth], ...]
    told: SweepTold

    @property
    def is_news(self) -> bool:
        """True if it should be posted: recovered nodes alone are no reason."""
        return bool(self.new or self.nearer)

    @property
    def is_urgent(self) -> bool:
        """True if harm is hours away, or there already."""
        return any(
            growth.is_harmful or (growth.harm_in is not None and growth.harm_in[1] < URGENT)
            for _, growth in self.nearer
        )


def digest(before: SweepTold, report: FleetReport, growths: Mapping[tuple[str, str], Growth]) -> Digest:
    """Compare a sweep with what was posted last; `growths` are by node and cause."""
    silent = {answer.node for answer in report.answers if answer.outcome is NodeOutcome.UNREACHABLE}
    silent |= {node for node in report.labels if node not in {answer.node for answer in report.answers}}
    new: dict[str, tuple[str, ...]] = {}
    gone: dict[str, tuple[str, ...]] = {}
    nodes: dict[str, tuple[str, ...]] = {}
    for count in report.causes:
        earlier, open_ = before.nodes.get(count.cause, ()), {*count.undecided, *silent}
        if outcome := tuple(node for node in count.nodes if node not in earlier):
            new[count.cause] = outcome
        if left := tuple(node for node in earlier if node not in count.nodes and node not in open_):
            gone[count.cause] = left
        # A node that did not answer has not recovered: it is not new when it answers again.
        nodes[count.cause] = (*count.nodes, *(node for node in earlier if node in open_ and node not in count.nodes))
    nearer: list[tuple[timedelta, str, Growth]] = []
    harm_in: dict[str, timedelta] = {
        key: left for key, left in before.harm_in.items() if key.partition(" ")[0] in silent
    }
    for (node, cause), growth in growths.items():
        left_now = timedelta(0) if growth.is_harmful else growth.harm_in[1] if growth.harm_in is not None else None
        if left_now is None or left_now > NEAR:
            continue
        key = f"{node} {cause}"
        earlier_left = before.harm_in.get(key)
        if earlier_left is None or left_now * NEARER <= earlier_left != timedelta(0):
            nearer.append((left_now, node, growth))
            harm_in[key] = left_now
        else:
            harm_in[key] = earlier_left
    nearer.sort(key=lambda each: each[:2])
    return Digest(report, new, gone, tuple((node, growth) for _, node, growth in nearer), SweepTold(nodes, harm_in))
