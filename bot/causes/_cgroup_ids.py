"""Whether the kernel refused to make a cgroup because dying ones hold the ids: on old kernels only."""

from __future__ import annotations

from dataclasses import dataclass

from bot.causes import _recent
from bot.domain.cause import Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Evidence
from bot.probes.cgroups import CgroupsReading
from bot.probes.host import HostReading

# 73f576c04b94 ("mm: memcontrol: fix cgroup creation failure after many small jobs"): since then a cgroup that is
# removed gives its id back at once. Before, dying ones kept theirs.
GIVEN_BACK_SINCE = (4, 8)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A cgroup that the kernel refused to make; `by_dying`: recently, and because dying ones hold nearly all ids."""

    evidence: Evidence
    by_dying: bool


def refusal(snapshot: Snapshot, cgroups: CgroupsReading, dying: int, tuning: Tuning) -> Refusal | None:
    """Return the last refusal; None if the log has none. Live cgroups that use up ids are too-many-live-cgroups."""
    host, events = snapshot.get(HostReading), _recent.told(snapshot, "cgroup-exhausted")
    refused = _recent.recent(snapshot, (e for e in events if "fork rejected" not in e.text), tuning["recent_hours"])
    if not refused:
        return None
    alive = cgroups.alive if cgroups.alive_later is None else cgroups.alive_later
    says = f"the kernel refused to make a cgroup, {_recent.ago(snapshot, refused[-1])}"
    keep = not isinstance(host, Unread) and (0, 0) < host.kernel_version < GIVEN_BACK_SINCE
    spent = alive + dying >= tuning["ids_live_many"]
    if keep and spent and _recent.surely_within(snapshot, refused, tuning["harm_minutes"]):
        says += f"; before 4.8 dying ones keep their ids, and {alive + dying:,} of 65,535 are in use"
        return Refusal(Evidence("cgroup-ids-spent", "kernel_log", says, _recent.lines(refused)), True)
    why = "from 4.8 on they have given their ids back"
    if keep:
        why = "that is too long ago, or at an unknown time" if spent else f"{alive + dying:,} of 65,535 ids are in use"
    says += f"; not attributed to the dying cgroups: {why}"
    return Refusal(Evidence("cgroup-refused", "kernel_log", says, _recent.lines(refused)), False)
