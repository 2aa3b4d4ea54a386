"""More cases of memory that ran out or errs, and of limits of tasks and files."""

from __future__ import annotations

from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kernel import died, in_pod, kills
from tests.independent.kinds import arm, azure, database, google, gpu_node, guest, metal, rocky8
from tests.independent.label import Label, corrected, near, sick
from tests.independent.machine import Machine

_OOM = "oom-kills"
OOM: list[Label] = [
    sick(
        _OOM,
        "a Graviton ran out twice within the hour",
        died(died(arm(cores=4, memory_gib=8), 40 * MINUTE), 4 * MINUTE),
    ),
    sick(
        _OOM,
        "five kills in one pod in eight minutes, on v1",
        kills(
            Machine(kernel="5.4.0-1084-aws", system="Ubuntu 20.04.6 LTS", v1=True),
            25,
            105,
            5,
            in_pod("/kubepods/burstable/pod88c4", "node"),
        ),
    ),
    near(
        _OOM,
        "the kernel found no large block for a driver",
        guest().log(
            (
                20 * MINUTE,
                "kworker/u16:2: page allocation failure: order:5, mode:0x40dc0(GFP_KERNEL|__GFP_COMP|__GFP_ZERO)",
            )
        ),
        "an allocation failed; nobody was killed",
    ),
    near(
        _OOM,
        "a job went over its limit four times in ten hours",
        kills(rocky8(), 70 * MINUTE, 3 * HOUR, 4, in_pod("/slurm/uid_1042/job_8812", "matlab")),
        "sized to its limit",
    ),
    near(
        _OOM,
        "the reaper's last line, three days ago",
        metal().log((3 * DAY, "oom_reaper: reaped process 4211 (java), now anon-rss:0kB")),
    ),
    near(_OOM, "one pod, fifty minutes ago", kills(azure(), 50 * MINUTE, 1, 1)),
]

_RECLAIM = "memory-reclaim"
RECLAIM: list[Label] = [
    sick(
        _RECLAIM,
        "a Graviton swaps itself to death",
        arm(cores=4, memory_gib=16)
        .memory(MemAvailable=180_000, MemFree=140_000)
        .vmstat(
            pswpin=(100, 210_000),
            pswpout=(100, 260_000),
            pgscan_direct=(0, 900_000),
            pgsteal_direct=(0, 200_000),
            allocstall_movable=(0, 4_100),
            pgscan_kswapd=(0, 3_000_000),
        )
        .pressure(memory_some=72, memory_full=35, io_some=60, io_full=20)
        .process("kswapd0", sys=410, core=2, pid=66, kernel=True, state="R")
        .core(2, sys=92, iowait=6),
    ),
    sick(
        _RECLAIM,
        "the reclaimers of both NUMA nodes hold a core each",
        rocky8()
        .memory(MemAvailable=2_600_000, MemFree=1_900_000)
        .vmstat(
            pgscan_direct=(0, 7_000_000),
            pgsteal_direct=(0, 800_000),
            allocstall_normal=(0, 9_000),
            pgscan_kswapd=(0, 20_000_000),
        )
        .pressure(memory_some=66, memory_full=41)
        .process("kswapd0", sys=440, core=3, pid=301, kernel=True, state="R")
        .process("kswapd1", sys=436, core=29, pid=302, kernel=True, state="R")
        .core(3, sys=99)
        .core(29, sys=98),
    ),
    sick(
        _RECLAIM,
        "twelve thousand stalls in five seconds",
        azure()
        .memory(MemAvailable=700_000, MemFree=500_000)
        .vmstat(
            pgscan_direct=(0, 3_100_000),
            pgsteal_direct=(0, 500_000),
            allocstall_normal=(0, 5_000),
            allocstall_movable=(0, 7_000),
            pgscan_kswapd=(0, 6_000_000),
        )
        .pressure(memory_some=55, memory_full=30),
    ),
    near(
        _RECLAIM,
        "cold pages go to swap while half of memory is free",
        guest().memory(MemAvailable=15_000_000).vmstat(pswpout=(40_000, 40_900), pgscan_kswapd=(0, 2_000)),
        "nobody waits",
    ),
    near(
        _RECLAIM,
        "a database keeps its memory in large pages and six percent are left",
        database().memory(MemAvailable=16_000_000, MemFree=9_000_000),
        "no scan, no pressure: built so",
    ),
    near(
        _RECLAIM,
        "somebody dropped the caches",
        rocky8().memory(MemFree=380_000_000, MemAvailable=390_000_000).vmstat(drop_pagecache=(0, 1), drop_slab=(0, 1)),
    ),
    near(
        _RECLAIM,
        "pages are moved together for huge ones",
        gpu_node().vmstat(compact_stall=(900, 1_180), compact_success=(700, 960), thp_fault_alloc=(90_000, 90_900)),
        "compaction, and memory is free",
    ),
    corrected(
        near(
            _RECLAIM,
            "a job at its own limit waits, the node has room",
            rocky8().pressure(memory_some=6, memory_full=2),
        ),
        "the recording let pgscan_direct rise, which no cgroup's own reclaim does (mm/vmscan.c, global_reclaim)",
    ),
]

_ERRORS = "memory-errors"
ERRORS: list[Label] = [
    sick(
        _ERRORS,
        "an AMD controller counts an uncorrected error",
        rocky8()
        .edac("mc3", 1, 0, 160 * DAY)
        .log(
            (
                50 * MINUTE,
                "EDAC MC3: 1 UE on mc#3csrow#1channel#0 (csrow:1 channel:0 page:0x3fc120 offset:0x80 grain:64)",
            )
        ),
    ),
    sick(
        _ERRORS,
        "nine hundred corrected errors an hour since the last boot",
        metal(up=6.2 * HOUR)
        .edac("mc0", 0, 5_600, 22_300)
        .log_every(
            12, 4, 60, "EDAC MC0: 1 CE memory scrubbing error on CPU_SrcID#0_Ha#0_Chan#2_DIMM#0 (channel:2 slot:0)"
        ),
    ),
    near(_ERRORS, "a controller that has counted nothing in its life", rocky8().edac("mc0", 0, 0, 160 * DAY)),
    near(_ERRORS, "four corrected errors an hour for a month", metal().edac("mc2", 0, 2_700, 30 * DAY)),
    corrected(
        near(
            _ERRORS,
            "a core grew hot and was slowed down",
            metal().log_every(
                40, 300, 3, "mce: CPU4: Core temperature above threshold, cpu clock throttled (total events = {n}1)"
            ),
            "the same subsystem says it; no memory in it",
        ),
        "it named nothing, when no cause knew of heat; told 40 s ago and without an end, it degrades the node",
        "thermal-throttling",
    ),
    near(
        _ERRORS,
        "a link repeats its packets",
        metal().log_every(20, 60, 9, "pcieport 0000:40:01.1: AER: Corrected error received: 0000:41:00.0"),
    ),
]

_LIMIT = "pid-or-fd-exhaustion"
_FORK = "cgroup: fork rejected by pids controller in "
LIMITS: list[Label] = [
    sick(
        _LIMIT,
        "pods of a node with v1 have no task left to start",
        Machine(kernel="5.4.0-1084-aws", v1=True).limits(kubepods=(29_300, "30000")),
    ),
    sick(
        _LIMIT,
        "a thread leak came to the kernel's maximum",
        guest(cores=4, memory_gib=16).limits(threads=127_900, threads_max=128_300),
    ),
    near(_LIMIT, "four thousand tasks of fifteen thousand", azure().limits(system=(4_000, "15000"))),
    near(
        _LIMIT,
        "a fork bomb in one pod was stopped by its limit, five hours ago",
        google().log((5 * HOUR, _FORK + "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod9a.slice")),
        "the limit did its work",
    ),
    near(
        _LIMIT,
        "the last file was opened nine days ago",
        rocky8().limits(open_files=210_000, most_open=39_000_000).log((9 * DAY, "VFS: file-max limit 1048576 reached")),
        "raised since",
    ),
    near(_LIMIT, "more than half of the process numbers", database().limits(threads=18_400, pid_max=32_768)),
]
