"""The number of dying cgroups from which they would do harm on a node: the nearest kind of harm."""

from __future__ import annotations

from collections.abc import Mapping

from bot.causes._harm import kib_each, walk_of
from bot.domain.growth import HarmAt
from bot.domain.probe import Snapshot, Unread
from bot.probes.cgroups import CgroupsReading
from bot.probes.reclaim import ReclaimReading


def ahead(snapshot: Snapshot, cgroups: CgroupsReading, tuning: Mapping[str, float]) -> HarmAt | None:
    """Return the lowest number of dying cgroups that would do harm here, and the harm; None if not known."""
    found: list[HarmAt] = []
    if walk_of(snapshot, cgroups.mode).dear:
        seconds = tuning["core_held_seconds"]
        many = 10_000 * seconds / tuning["walk_seconds_per_10000"]
        found.append(HarmAt(round(many), f"each read of the statistics holds a core for {seconds:g} s"))
    reclaim = snapshot.get(ReclaimReading)
    if not isinstance(reclaim, Unread) and reclaim.mem_total_kib:
        share = tuning["memory_gone_percent"]
        many = reclaim.mem_total_kib * share / 100 / kib_each(snapshot, tuning)
        found.append(HarmAt(round(many), f"they hold {share:g} % of the node's memory"))
    return min(found, key=lambda harm: harm.value, default=None)
