"""Cases of memory that ran out, and of tables and limits that are full."""

from __future__ import annotations

from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import amazon2, database, edge, google, gpu_node, metal, small
from tests.independent.label import Label, corrected, near, sick
from tests.independent.machine import Machine

OOM_KILLS = "oom-kills"
_POD = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod7c1.slice"
_GLOBAL = (
    "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/system.slice,task=java,pid=4211,uid=1000",
    "Out of memory: Killed process 4211 (java) total-vm:18874368kB, anon-rss:14680064kB, file-rss:0kB, UID:1000",
)

# A kill by a memory policy: the process may use only some of the machine's memory nodes.
BOUND = (
    "oom-kill:constraint=CONSTRAINT_MEMORY_POLICY,nodemask=0,cpuset=/,mems_allowed=0-1,global_oom,task=redis-server",
    "Out of memory: Killed process 991 (redis-server) total-vm:201326592kB, anon-rss:188743680kB, UID:996",
)


def in_pod(pod: str = _POD, name: str = "python3") -> tuple[str, str]:
    where = f"oom_memcg={pod},task_memcg={pod}/cri-1,task={name},pid=7{{n}}1,uid=0"
    return (
        f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-1,mems_allowed=0,{where}",
        f"Memory cgroup out of memory: Killed process 7{{n}}1 ({name}) total-vm:9000kB, anon-rss:8000kB, UID:0",
    )


def kills(machine: Machine, newest: float, every: float, count: int, lines: tuple[str, str] | None = None) -> Machine:
    """Let processes of one cgroup be killed at its limit, again and again."""
    constraint, killed = lines or in_pod()
    machine.log_every(newest, every, count, constraint).log_every(newest - 0.001, every, count, killed)
    return machine.vmstat(oom_kill=(count, count))


def died(machine: Machine, ago: float) -> Machine:
    """Let the whole machine run out of memory, and the kernel kill one process."""
    machine.log(
        (
            ago + 1,
            "java invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0",
        )
    )
    return machine.log((ago, _GLOBAL[0]), (ago - 0.001, _GLOBAL[1])).vmstat(oom_kill=(1, 1))


OOM: list[Label] = [
    sick(OOM_KILLS, "the node itself ran out ten minutes ago", died(Machine(), 600)),
    sick(OOM_KILLS, "a pod is killed every half minute", kills(google(), 12, 30, 40)),
    sick(OOM_KILLS, "ten kills in one pod within five minutes", kills(gpu_node(), 40, 30, 10)),
    sick(
        OOM_KILLS,
        "the words of an old kernel",
        amazon2()
        .log((20 * MINUTE, "Out of memory: Kill process 4211 (java) score 903 or sacrifice child"))
        .vmstat(oom_kill=(1, 1)),
    ),
    near(
        OOM_KILLS,
        "one pod went over its limit, two hours ago",
        kills(Machine(), 2 * HOUR, 1, 1),
        "a job sized to its limit",
    ),
    near(
        OOM_KILLS,
        "batch jobs die now and then, each its own",
        kills(
            kills(kills(Machine(), 3 * HOUR, 1, 1, in_pod("/slurm/job_11")), 9 * HOUR, 1, 1, in_pod("/slurm/job_12")),
            20 * HOUR,
            1,
            1,
            in_pod("/slurm/job_13"),
        ),
        "one each, hours apart",
    ),
    near(OOM_KILLS, "the node ran out four days ago", died(Machine(), 4 * DAY), "events age"),
    near(OOM_KILLS, "kills are counted since boot, none of late", database().vmstat(oom_kill=(37, 37))),
    near(OOM_KILLS, "two kills in one pod within the hour", kills(Machine(), 15 * MINUTE, 40 * MINUTE, 2), "a remark"),
    near(
        OOM_KILLS,
        "a program that speaks of memory",
        metal().log((30, "systemd-oomd: ManagedOOM reads out of memory policy")),
    ),
]

_LIMIT = "pid-or-fd-exhaustion"
_FORK = "cgroup: fork rejected by pids controller in /system.slice/jenkins.service"
LIMITS: list[Label] = [
    sick(_LIMIT, "all but a few process numbers are taken", database().limits(threads=31_900, pid_max=32_768)),
    sick(
        _LIMIT,
        "nobody can open a file",
        metal()
        .limits(open_files=1_619_400, most_open=1_620_000)
        .log_every(8, 30, 5, "VFS: file-max limit 1620000 reached"),
    ),
    sick(_LIMIT, "pods have almost all the tasks that they may have", Machine().limits(kubepods=(61_500, "62000"))),
    sick(
        _LIMIT,
        "forks were refused a minute ago and the unit is at its limit",
        Machine(kubernetes=False).log((55, _FORK)).limits(system=(4_910, "4915")),
    ),
    sick(
        _LIMIT, "threads near the kernel's own maximum", small(memory_gib=2).limits(threads=14_700, threads_max=15_100)
    ),
    near(_LIMIT, "thirty thousand threads where four million may be", gpu_node().limits(threads=30_000)),
    near(_LIMIT, "almost a million open files and no limit", database().limits(open_files=930_000)),
    near(_LIMIT, "a third of the process numbers", metal().limits(threads=11_800, pid_max=32_768)),
    near(
        _LIMIT,
        "forks were refused six days ago",
        Machine().log((6 * DAY, _FORK)).limits(system=(900, "4915")),
        "long over",
    ),
    near(_LIMIT, "pods without any limit", google().limits(kubepods=(28_000, "max"))),
    near(_LIMIT, "half of a quarter million threads", gpu_node().limits(threads=120_000, pid_max=262_144)),
]

_ARP = "neighbour-overflow"
NEIGHBOURS: list[Label] = [
    sick(
        _ARP,
        "new neighbours find no room now",
        Machine().table_fulls(1200, 1480).log_every(2, 5, 12, "neighbour: arp_cache: neighbor table overflow!"),
    ),
    sick(
        _ARP,
        "the older spelling",
        amazon2().table_fulls(80_211, 80_904).log_every(3, 5, 30, "Neighbour table overflow."),
    ),
    sick(_ARP, "the count rises, the log is silent", edge().table_fulls(33, 61)),
    sick(
        _ARP,
        "a large flat network",
        metal().table_fulls(9, 4012).log_every(1, 5, 3, "neighbour: ndisc_cache: neighbor table overflow!"),
    ),
    near(
        _ARP,
        "full three days ago",
        Machine()
        .table_fulls(18_233, 18_233)
        .log_every(3 * DAY, 5, 9, "neighbour: arp_cache: neighbor table overflow!"),
    ),
    near(
        _ARP,
        "once, six hours ago",
        google().table_fulls(1, 1).log((6 * HOUR, "neighbour: arp_cache: neighbor table overflow!")),
    ),
    near(_ARP, "never", metal().table_fulls(0, 0)),
    near(_ARP, "an old count and a silent log", database().table_fulls(4_000_000, 4_000_000)),
    near(_ARP, "a burst at boot, eight days ago", Machine().table_fulls(612, 612)),
]

_TRACK = "conntrack-full"
_DROP = "nf_conntrack: nf_conntrack: table full, dropping packet"
CONNTRACK: list[Label] = [
    sick(_TRACK, "full, and it drops", Machine().conntrack(262_144, 262_144).log_every(1, 5, 20, _DROP)),
    sick(
        _TRACK,
        "a small table, almost full, dropped a minute ago",
        small().conntrack(65_120, 65_536).log_every(50, 5, 4, _DROP),
    ),
    sick(
        _TRACK,
        "an old kernel's words",
        amazon2().conntrack(131_072, 131_072).log_every(2, 5, 20, "nf_conntrack: table full, dropping packet"),
    ),
    near(_TRACK, "sixty percent", Machine().conntrack(157_000, 262_144)),
    corrected(
        sick(
            _TRACK,
            "full in a container's own network",
            Machine(kernel="6.17.1").log_every(
                4, 5, 9, "nf_conntrack: table full in netns 4026532891, dropping packet"
            ),
            "the host's own table has room; that pod's has none",
        ),
        "it named nothing, since the host is well; but a pod loses packets now, which degrades the node",
    ),
    near(_TRACK, "drops an hour ago, empty now", Machine().conntrack(9_000, 262_144).log((HOUR, _DROP))),
    near(_TRACK, "nothing is tracked here", metal().untracked()),
    near(_TRACK, "many connections in a table for millions", google().conntrack(900_000, 4_194_304)),
]

_RECLAIM = "memory-reclaim"
RECLAIM: list[Label] = [
    sick(
        _RECLAIM,
        "nothing is left and kswapd burns a core",
        database()
        .memory(MemAvailable=2_100_000, MemFree=1_900_000)
        .core(7, sys=99)
        .process("kswapd0", sys=440, core=7, pid=212, kernel=True, state="R")
        .vmstat(
            pgscan_direct=(8_000, 4_100_000),
            pgsteal_direct=(4_000, 900_000),
            allocstall_normal=(10, 2_400),
            pgscan_kswapd=(10, 9_000_000),
        )
        .pressure(memory_some=61, memory_full=44),
    ),
    sick(
        _RECLAIM,
        "a small machine thrashes",
        small(memory_gib=2)
        .memory(MemAvailable=21_000, MemFree=16_000)
        .all_cores(usr=4, sys=55, iowait=40)
        .vmstat(
            pgscan_direct=(0, 210_000),
            allocstall_movable=(0, 900),
            pgscan_kswapd=(0, 800_000),
            workingset_refault_file=(0, 120_000),
        )
        .pressure(memory_some=88, memory_full=71, io_some=70, io_full=40)
        .process("kswapd0", sys=300, core=1, pid=50, kernel=True, state="R"),
    ),
    sick(
        _RECLAIM,
        "every allocation reclaims for itself",
        Machine(memory_gib=32, cores=8)
        .memory(MemAvailable=300_000, MemFree=250_000)
        .vmstat(
            pgscan_direct=(100, 1_900_000),
            pgsteal_direct=(50, 400_000),
            allocstall_normal=(5, 1_800),
            allocstall_movable=(5, 2_900),
        )
        .pressure(memory_some=40, memory_full=22),
    ),
    near(
        _RECLAIM,
        "a handful of stalls on two TiB",
        metal()
        .memory(MemTotal=2_113_929_216, MemAvailable=1_400_000_000)
        .vmstat(allocstall_normal=(40, 44), pgscan_direct=(900, 1_300)),
    ),
    near(
        _RECLAIM,
        "one NUMA node reclaims while memory is free",
        metal().memory(MemAvailable=400_000_000).vmstat(pgscan_kswapd=(10, 300_000), pgsteal_kswapd=(10, 290_000)),
        "node-local, no harm",
    ),
    near(
        _RECLAIM,
        "a page cache that fills memory",
        database()
        .memory(MemFree=900_000, MemAvailable=180_000_000)
        .vmstat(pgscan_kswapd=(10, 80_000), pgsteal_kswapd=(10, 79_000)),
    ),
    corrected(
        near(_RECLAIM, "a pod at its own limit reclaims", Machine().pressure(memory_some=3)),
        "the recording let pgscan_direct rise, which no cgroup's own reclaim does (mm/vmscan.c, global_reclaim)",
    ),
    near(_RECLAIM, "swap was used last week", metal().vmstat(pswpout=(88_000, 88_000), pswpin=(70_000, 70_000))),
]
