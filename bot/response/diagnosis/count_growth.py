"""Stores counts from every check of a node, and works out how fast they grow."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bot.domain.errors import CannotRead
from bot.domain.growth import CountHistory, CountSample, Growth, growth
from bot.domain.playbook import Playbook
from bot.domain.probe import Snapshot
from bot.probes.host import HostReading

if TYPE_CHECKING:
    from bot.ledger import ReadingStore

SOON = timedelta(days=14)  # on a healthy node, harm that is farther away is not reported


async def store_count_and_growth(
    readings: ReadingStore,
    node: str,
    snapshot: Snapshot,
    playbook: Playbook,
    cause: str | None,
    before: Sequence[CountHistory] = (),
) -> Growth | None:
    """Store what was counted on a node now, and return the growth of what its verdict's cause counts.

    Shape: without such growth, the growth that does harm first, if that is soon. `before` know the counts of this boot
    from before the record began.
    Raises: LedgerUnavailable.
    """
    looks: dict[str, Sequence[CountSample]] = {}
    for counted, look in _samples(snapshot, playbook).items():
        await readings.keep(node, counted, look)
        ours = await readings.looks(node, counted)
        looks[counted] = (*ours, *await _looks_before(before, node, counted, snapshot, ours))
    return _growth_to_show(looks, snapshot, playbook, cause)


def growth_without_storing(
    looks: Mapping[str, Sequence[CountSample]], snapshot: Snapshot, playbook: Playbook, cause: str | None
) -> Growth | None:
    """Return the same without storing anything; `looks` are the node's earlier counts, by cause."""
    now = _samples(snapshot, playbook)
    looks = {counted: (*looks[counted], look) for counted, look in now.items() if counted in looks}
    return _growth_to_show(looks, snapshot, playbook, cause)


def _samples(snapshot: Snapshot, playbook: Playbook) -> dict[str, CountSample]:
    """Return what was counted now, by cause."""
    host = snapshot.get(HostReading)
    boot = host.boot_id if isinstance(host, HostReading) else ""
    counting = [(used.cause.name, used.cause.grows) for used in playbook.causes]
    counts = {name: grows.read(snapshot) for name, grows in counting if grows is not None}
    return {name: CountSample(snapshot.taken_at, count, boot) for name, count in counts.items() if count is not None}


def _growth_to_show(
    looks: Mapping[str, Sequence[CountSample]], snapshot: Snapshot, playbook: Playbook, cause: str | None
) -> Growth | None:
    found: dict[str, Growth] = {}
    for used in playbook.causes:
        name, grows = used.cause.name, used.cause.grows
        if grows is not None and name in looks:
            trend = growth(name, grows, looks[name], grows.harm(snapshot, used.tuning))
            found |= {name: trend} if trend is not None else {}
    if cause is not None and cause in found:
        return found[cause]
    near = [(times[1], trend) for trend in found.values() if (times := trend.harm_in) is not None and times[1] < SOON]
    return min(near, key=lambda pair: pair[0])[1] if near else None


async def _looks_before(
    before: Sequence[CountHistory], node: str, cause: str, snapshot: Snapshot, ours: Sequence[CountSample]
) -> Sequence[CountSample]:
    """Return the counts of this boot from before ours of it."""
    host = snapshot.get(HostReading)
    if not before or not isinstance(host, HostReading):
        return ()
    boot_at = snapshot.taken_at - host.uptime
    until = min((look.at for look in ours if look.boot == host.boot_id), default=snapshot.taken_at)
    found = await _counts_from_outside(before, node, cause, snapshot.taken_at)
    return [replace(look, boot=host.boot_id) for look in found if boot_at < look.at < until]


async def _counts_from_outside(
    before: Sequence[CountHistory], node: str, cause: str, until: datetime
) -> tuple[CountSample, ...]:
    """The counts of the first that has any."""
    for each in before:
        with contextlib.suppress(CannotRead):  # the verdict says already that the past was not read
            if found := await each.counted(node, cause, until):
                return found
    return ()
