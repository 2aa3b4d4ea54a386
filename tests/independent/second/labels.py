"""All labels of the second set, one line a cause."""

from __future__ import annotations

from tests.independent.label import Label
from tests.independent.second import cgroups, cores, failed, gpus, memory, network, services, stalls, storage, trust

SECOND: tuple[Label, ...] = (
    *cgroups.LEAKS,
    *cgroups.LIVE,
    *gpus.GPUS,
    *memory.OOM,
    *memory.RECLAIM,
    *memory.ERRORS,
    *memory.LIMITS,
    *network.NICS,
    *network.ALLOWANCES,
    *network.NEIGHBOURS,
    *network.CONNTRACK,
    *stalls.LOCKUPS,
    *stalls.CONSOLE,
    *services.ESSENTIAL,
    *services.LOOPS,
    *services.AGENTS,
    *failed.FAILED,
    *trust.CERTIFICATES,
    *trust.NAMES,
    *trust.CLOCKS,
    *storage.READ_ONLY,
    *storage.FULL,
    *storage.STUCK,
    *storage.EBS,
    *cores.AFFINITY,
    *cores.STORMS,
    *cores.STEAL,
    *cores.QUOTAS,
)
