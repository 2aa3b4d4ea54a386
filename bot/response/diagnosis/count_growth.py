"""Stores counts from every check of a node, and works out how fast they grow."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bot.domain.errors import CannotRead
from bot.domain.growth import CountHistory, CountSample, Growth, growth
from bot.domain.playbook import ConfiguredCause, Playbook
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
    found: dict[str, Growth] = {}
    for used in playbook.causes:
        if (trend := await _store_and_estimate_growth(readings, node, snapshot, used, before)) is not None:
            found[used.cause.name] = trend
    return _growth_to_show(found, cause)


def growth_without_storing(
    looks: Mapping[str, Sequence[CountSample]], snapshot: Snapshot, playbook: Playbook, cause: str | None
) -> Growth | None:
    """Return the same without storing anything; `looks` are the node's earlier counts, by cause."""
    found: dict[str, Growth] = {}
    for used in playbook.causes:
        grows, look, name = used.cause.grows, _sample(snapshot, used), used.cause.name
        if grows is None or look is None or name not in looks:
            continue
        trend = growth(name, grows, (*looks[name], look), grows.harm(snapshot, used.tuning))
        if trend is not None:
            found[name] = trend
    return _growth_to_show(found, cause)


def _growth_to_show(found: Mapping[str, Growth], cause: str | None) -> Growth | None:
    if cause is not None and cause in found:
        return found[cause]
    near = [(times[1], trend) for trend in found.values() if (times := trend.harm_in) is not None and times[1] < SOON]
    return min(near, key=lambda pair: pair[0])[1] if near else None


async def _store_and_estimate_growth(
    readings: ReadingStore, node: str, snapshot: Snapshot, used: ConfiguredCause, before: Sequence[CountHistory]
) -> Growth | None:
    grows, look, cause = used.cause.grows, _sample(snapshot, used), used.cause.name
    if grows is None or look is None:
        return None
    host, boot = snapshot.get(HostReading), look.boot
    await readings.keep(node, cause, look)
    looks = await readings.looks(node, cause)
    if before and isinstance(host, HostReading):
        trend = await _counts_from_outside(before, node, cause, snapshot.taken_at)
        boot_at = snapshot.taken_at - host.uptime
        ours = min((look.at for look in looks if look.boot == boot), default=snapshot.taken_at)
        earlier = (replace(look, boot=boot) for look in trend if boot_at < look.at < ours)
        looks = (*looks, *earlier)
    return growth(cause, grows, looks, grows.harm(snapshot, used.tuning))


async def _counts_from_outside(
    before: Sequence[CountHistory], node: str, cause: str, until: datetime
) -> tuple[CountSample, ...]:
    """The counts of the first that has any."""
    for each in before:
        with contextlib.suppress(CannotRead):  # the verdict says already that the past was not read
            if found := await each.counted(node, cause, until):
                return found
    return ()


def _sample(snapshot: Snapshot, used: ConfiguredCause) -> CountSample | None:
    """The cause's present count; None where it counts nothing, or it was not read."""
    value = used.cause.grows.read(snapshot) if used.cause.grows is not None else None
    host = snapshot.get(HostReading)
    boot = host.boot_id if isinstance(host, HostReading) else ""
    return CountSample(snapshot.taken_at, value, boot) if value is not None else None
