"""All labels: the first set, one line a cause, and the second."""

from __future__ import annotations

from tests.independent import cgroups, hardware, kernel, services, stalls, storage, traffic, trust
from tests.independent.label import Label
from tests.independent.second.labels import SECOND

LABELS: tuple[Label, ...] = (
    *cgroups.LEAKS,
    *cgroups.LIVE,
    *hardware.GPUS,
    *hardware.MEMORY,
    *hardware.EBS,
    *hardware.NICS,
    *kernel.OOM,
    *kernel.LIMITS,
    *kernel.NEIGHBOURS,
    *kernel.CONNTRACK,
    *kernel.RECLAIM,
    *stalls.LOCKUPS,
    *stalls.CONSOLE,
    *services.ESSENTIAL,
    *services.LOOPS,
    *services.AGENTS,
    *trust.CERTIFICATES,
    *trust.NAMES,
    *trust.CLOCKS,
    *storage.READ_ONLY,
    *storage.FULL,
    *storage.STUCK,
    *traffic.AFFINITY,
    *traffic.STORMS,
    *traffic.ALLOWANCES,
    *traffic.STEAL,
    *traffic.QUOTAS,
    *SECOND,
)
