"""Cases of memory that ran out, tables and limits that are full, stalls of cores, and a console that is too slow.

Longer than most files because it is a list: one entry a case.
"""

from __future__ import annotations

from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import amazon2, database, edge, google, gpu_node, metal, small
from tests.independent.label import Label, near, sick
from tests.independent.machine import Machine

_OOM = "oom-kills"
_POD = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod7c1.slice"
_GLOBAL = (
    "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/system.slice,task=java,pid=4211,uid=1000",
    "Out of memory: Killed process 4211 (java) total-vm:18874368kB, anon-rss:14680064kB, file-rss:0kB, UID:1000",
)


def _in_pod(pod: str = _POD, name: str = "python3") -> tuple[str, str]:
    where = f"oom_memcg={pod},task_memcg={pod}/cri-1,task={name},pid=7{{n}}1,uid=0"
    return (
        f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-1,mems_allowed=0,{where}",
        f"Memory cgroup out of memory: Killed process 7{{n}}1 ({name}) total-vm:9000kB, anon-rss:8000kB, UID:0",
    )


def _kills(machine: Machine, newest: float, every: float, count: int, lines: tuple[str, str] | None = None) -> Machine:
    constraint, killed = lines or _in_pod()
    machine.log_every(newest, every, count, constraint).log_every(newest - 0.001, every, count, killed)
    return machine.vmstat(oom_kill=(count, count))


def _died(machine: Machine, ago: float) -> Machine:
    machine.log(
        (
            ago + 1,
            "java invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0",
        )
    )
    return machine.log((ago, _GLOBAL[0]), (ago - 0.001, _GLOBAL[1])).vmstat(oom_kill=(1, 1))


OOM: list[Label] = [
    sick(_OOM, "the node itself ran out ten minutes ago", _died(Machine(), 600)),
    sick(_OOM, "a pod is killed every half minute", _kills(google(), 12, 30, 40)),
    sick(_OOM, "ten kills in one pod within five minutes", _kills(gpu_node(), 40, 30, 10)),
    sick(
        _OOM,
        "the words of an old kernel",
        amazon2()
        .log((20 * MINUTE, "Out of memory: Kill process 4211 (java) score 903 or sacrifice child"))
        .vmstat(oom_kill=(1, 1)),
    ),
    near(
        _OOM,
        "one pod went over its limit, two hours ago",
        _kills(Machine(), 2 * HOUR, 1, 1),
        "a job sized to its limit",
    ),
    near(
        _OOM,
        "batch jobs die now and then, each its own",
        _kills(
            _kills(
                _kills(Machine(), 3 * HOUR, 1, 1, _in_pod("/slurm/job_11")), 9 * HOUR, 1, 1, _in_pod("/slurm/job_12")
            ),
            20 * HOUR,
            1,
            1,
            _in_pod("/slurm/job_13"),
        ),
        "one each, hours apart",
    ),
    near(_OOM, "the node ran out four days ago", _died(Machine(), 4 * DAY), "events age"),
    near(_OOM, "kills are counted since boot, none of late", database().vmstat(oom_kill=(37, 37))),
    near(_OOM, "two kills in one pod within the hour", _kills(Machine(), 15 * MINUTE, 40 * MINUTE, 2), "a remark"),
    near(
        _OOM,
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
    near(
        _TRACK,
        "full in a container's own network",
        Machine(kernel="6.17.1").log_every(4, 5, 9, "nf_conntrack: table full in netns 4026532891, dropping packet"),
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
    near(
        _RECLAIM,
        "a pod at its own limit reclaims",
        Machine().vmstat(pgscan_direct=(100, 4_000)).pressure(memory_some=3),
    ),
    near(_RECLAIM, "swap was used last week", metal().vmstat(pswpout=(88_000, 88_000), pswpin=(70_000, 70_000))),
]

_LOCK = "lockup"
_SOFT = "watchdog: BUG: soft lockup - CPU#{} stuck for {}s! [{}:4411]"
LOCKUPS: list[Label] = [
    sick(
        _LOCK,
        "one core is stuck and the kernel says so again and again",
        Machine(kernel="5.10.225-213.878.amzn2.x86_64")
        .log(*((ago, _SOFT.format(11, 22 + 26 * n, "kworker/11:1")) for n, ago in enumerate((82, 56, 30, 4))))
        .core(11, sys=100)
        .process("kworker/11:1", sys=445, core=11, pid=4411, kernel=True, state="R"),
        "now, and its core is held",
        "reboot",
    ),
    sick(
        _LOCK,
        "RCU stalls of one core, the newest seconds ago",
        metal()
        .log(*((ago, "rcu: INFO: rcu_preempt self-detected stall on CPU") for ago in (183, 120, 57, 3)))
        .log(
            *(
                (
                    ago - 0.001,
                    "rcu: \t31-....: (20999 ticks this GP) idle=3a4c/1/0x4000000000000000 softirq=8812/8812 fqs=5249",
                )
                for ago in (183, 120, 57, 3)
            )
        )
        .core(31, sys=100)
        .process("mlx5_health", sys=440, core=31, pid=990, kernel=True, state="R"),
        "",
        "reboot",
    ),
    sick(
        _LOCK,
        "lockups recur every few minutes on different cores",
        database().log(
            *(
                (ago, _SOFT.format(core, 23, "khugepaged"))
                for core, ago in ((3, 1500), (9, 1180), (3, 800), (21, 410), (9, 100))
            )
        ),
        "five episodes, the last not two minutes ago",
        "reboot",
    ),
    near(
        _LOCK,
        "one stall of seventy seconds, nine minutes ago",
        Machine().log(
            (600, _SOFT.format(5, 22, "java")),
            (574, _SOFT.format(5, 48, "java")),
            (560, "rcu: INFO: rcu_sched self-detected stall on CPU"),
        ),
        "one past episode",
    ),
    near(
        _LOCK,
        "a paused virtual machine wakes up",
        google().log(*((240 - core / 1e4, _SOFT.format(core, 41, "swapper/0")) for core in range(6))),
        "all cores in one instant",
    ),
    near(_LOCK, "a lockup three days ago", metal().log((3 * DAY, _SOFT.format(2, 22, "kcompactd0")))),
    near(
        _LOCK,
        "a busy core of a program that polls",
        metal().core(4, usr=100).process("dpdk-worker", usr=445, core=4, pid=811),
    ),
    near(
        _LOCK,
        "a core in the kernel for one second",
        Machine().core(3, {"sys": 100}, {"sys": 8}, {"sys": 3}, {"sys": 5}, {"sys": 2}),
    ),
]

_CONSOLE = "serial-console-printk"
_SERIAL = "ttyS0                -W- (EC  p a)    4:64\ntty0                 -WU (E   p  )    4:1"
_RESET = (
    (
        "ena 0000:00:05.0 eth0: TX q 3 is paused for too long (threshold 5000000). "
        "Time since last napi 6120000 usec. napi scheduled: 1"
    ),
    "ena 0000:00:05.0 eth0: napi handler hasn't been called for a long time but is scheduled",
    "ena 0000:00:05.0: Device reset completed successfully, Driver info: Elastic Network Adapter (ENA) v2.13.2g",
)


def _reset(machine: Machine, ago: float) -> Machine:
    return machine.log(*((ago - n / 100, line) for n, line in enumerate(_RESET))).nic(
        total_resets=(1, 1), suspected_poll_starvation=(1, 1)
    )


CONSOLE: list[Label] = [
    sick(
        _CONSOLE,
        "the node ran out of memory, its dump went out at 115,200 baud, and the card starved",
        _reset(_died(Machine().consoles(_SERIAL, 7), 190), 165),
        also=(_OOM,),
    ),
    sick(
        _CONSOLE,
        "a pod's kills are dumped one after another, then the card resets",
        _reset(_kills(Machine(cores=4).consoles(_SERIAL, 8), 100, 3, 6), 80),
        also=(_OOM,),
    ),
    sick(
        _CONSOLE,
        "the same on an old kernel",
        _reset(
            amazon2()
            .consoles(_SERIAL, 7)
            .log((300, "Out of memory: Kill process 88 (ruby) score 900 or sacrifice child")),
            260,
        ),
        also=(_OOM,),
    ),
    near(
        _CONSOLE,
        "no serial line is a console",
        _reset(_died(Machine().consoles("tty0                 -WU (EC  p  )    4:1", 7), 190), 165),
        "out of memory, and nothing slow to print on",
        _OOM,
        "nic-device-fault",
    ),
    near(
        _CONSOLE,
        "the console is kept quiet",
        _reset(_died(Machine().consoles(_SERIAL, 1), 190), 165),
        "nothing reached it",
        _OOM,
        "nic-device-fault",
    ),
    near(_CONSOLE, "a dump and no reset", _died(Machine().consoles(_SERIAL, 7), 400), "out of memory alone", _OOM),
    near(
        _CONSOLE,
        "both, hours apart and long ago",
        _reset(_died(Machine().consoles(_SERIAL, 7), 30 * HOUR), 28 * HOUR),
        "aged, and not within minutes",
    ),
    near(_CONSOLE, "a serial console on a quiet machine", metal().consoles(_SERIAL, 7)),
]
