"""/proc, /sys and /etc of a simulated node: the files that probes read, each computed when it is read.

Defined in: Linux, Documentation/filesystems/proc.rst, Documentation/accounting/psi.rst, cgroup-v1/ and cgroup-v2.rst,
net/core/net-procfs.c.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from bot.demo.machine.state import Moment, State
from bot.domain.fence import BOOT_ID, MACHINE_ID, UPTIME

_V1 = (
    *("cpuset", "cpu", "cpuacct", "blkio", "memory", "devices", "freezer"),
    *("net_cls", "perf_event", "net_prio", "hugetlb", "pids"),
)
_TOGETHER = {
    "cpu": "cpu,cpuacct",
    "cpuacct": "cpu,cpuacct",
    "net_cls": "net_cls,net_prio",
    "net_prio": "net_cls,net_prio",
}
_COUNT_ALL = ("cpu", "cpuacct", "blkio", "devices", "pids")  # of the v1 hierarchies; in others is only the root
_NEIGHBOURS = (
    "entries  allocs   destroys hash_grows lookups  hits     res_failed rcv_probes_mcast rcv_probes_ucast "
    "periodic_gc_runs forced_gc_runs unresolved_discards table_fulls\n"
    "0000001c 00000a2f 00000a12 00000002 0001f2b3 0001e0aa 00000003 00000000 00000000 00002ab1 00000000 00000000 "
    "00000000\n"
)


def is_v2(state: State) -> bool:
    """True for a node with cgroup v2 alone."""
    return state.system.cgroups == "v2"


def _loadavg(state: State, now: Moment) -> str:
    shares = [state.load.own.get(core, state.load.shares) for core in range(state.load.cores)]
    busy = sum(sum(core) - core.steal for core in shares) / 100 + len(state.load.holds)
    return f"{busy:.2f} {busy * 0.98:.2f} {busy * 0.97:.2f} {max(1, int(busy))}/{900 + state.load.cores * 9} 128411\n"


def cpu_rows(state: State, now: Moment) -> str:
    """Return the rows of /proc/stat that tell of cores."""
    rows = []
    for core in range(state.load.cores):
        usr, nice, sys, iowait, irq, soft, steal, idle = state.load.ticks(core, now.uptime)
        rows.append((usr, nice, sys, idle, iowait, irq, soft, steal, 0, 0))
    named = (("", [sum(column) for column in zip(*rows, strict=True)]), *enumerate(rows))
    return "".join(f"cpu{core} {' '.join(map(str, row))}\n" for core, row in named)


def _meminfo(state: State, now: Moment) -> str:
    memory = state.memory
    cached = memory.available - memory.available // 3
    rows = {
        "MemTotal": memory.total,
        "MemFree": memory.available // 3,
        "MemAvailable": memory.available,
        "Buffers": cached // 20,
        "Cached": cached,
        "SwapCached": 0,
        "Active": cached // 2,
        "Inactive": cached // 3,
        "SwapTotal": 0,
        "SwapFree": 0,
        "Dirty": 912,
        "Writeback": 0,
        "AnonPages": max(1, memory.total - memory.available - memory.unreclaimable),
        "Shmem": 3_100,
        "KReclaimable": 700_000,
        "Slab": 700_000 + memory.unreclaimable,
        "SReclaimable": 700_000,
        "SUnreclaim": memory.unreclaimable,
        "KernelStack": 21_000,
        "PageTables": 60_000,
        "CommitLimit": memory.total // 2,
        "Committed_AS": memory.total // 2,
        "Percpu": memory.percpu,
        "HardwareCorrupted": 0,
    }
    text = "".join(f"{name + ':':<15} {kib:>8} kB\n" for name, kib in rows.items())
    return text + "HugePages_Total:       0\nHugePages_Free:        0\nHugepagesize:       2048 kB\n"


_VMSTAT = {"nr_free_pages": 1_299_760, "nr_inactive_file": 1_655_800, "nr_active_file": 888_930}
_VMSTAT_RATES = {
    **{"pgpgin": 210.0, "pgpgout": 980.0, "pgfree": 41_000.0, "pgfault": 52_000.0, "pgmajfault": 0.3},
    **dict.fromkeys(("pswpin", "pswpout", "allocstall_dma", "allocstall_dma32", "allocstall_normal"), 0.0),
    **dict.fromkeys(("allocstall_movable", "pgsteal_kswapd", "pgsteal_direct", "pgscan_kswapd"), 0.0),
    **dict.fromkeys(("pgscan_direct", "pgscan_direct_throttle", "workingset_refault", "oom_kill"), 0.0),
}


def _vmstat(state: State, now: Moment) -> str:
    rows = {**_VMSTAT, **{name: int(rate * now.uptime) for name, rate in _VMSTAT_RATES.items()}}
    return "".join(f"{name} {value}\n" for name, value in rows.items())


def _pressure(resource: str) -> Callable[[State, Moment], str | None]:
    """A PSI file, with `some` and `full` lines (system-wide cpu has only `some` before 5.13)."""

    def text(state: State, now: Moment) -> str | None:
        if state.memory.pressure is None:
            return None
        lines = ("some",) if resource == "cpu" and state.system.kernel_version < (5, 13) else ("some", "full")
        shares = {line: state.memory.pressure.get(f"{resource} {line}", 0.0) for line in lines}
        return "".join(
            f"{line} avg10={share:.2f} avg60={share * 0.97:.2f} avg300={share * 0.95:.2f} "
            f"total={int(share / 100 * now.uptime * 1e6)}\n"
            for line, share in shares.items()
        )

    return text


def mounted_cgroups(state: State) -> str:
    """Return the rows of /proc/self/mountinfo that tell of cgroups."""
    if is_v2(state):
        return "30 24 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec - cgroup2 cgroup2 rw,nsdelegate\n"
    text = "32 30 0:28 / /sys/fs/cgroup/systemd rw shared:11 - cgroup cgroup rw,xattr,name=systemd\n"
    return text + "".join(
        f"{35 + at} 30 0:{31 + at} / /sys/fs/cgroup/{name} rw,relatime shared:{15 + at} - cgroup cgroup rw,{name}\n"
        for at, name in enumerate(dict.fromkeys(_TOGETHER.get(name, name) for name in _V1))
    )


def _proc_cgroups(state: State, now: Moment) -> str:
    """/proc/cgroups; under v2 all controllers are in hierarchy 0, with the same count."""
    dying, alive = state.cgroups.dying_at(now.uptime), state.cgroups.alive
    counts = {"memory": alive + dying, **dict.fromkeys(_COUNT_ALL, alive)}
    rows = (
        (name, 0, alive + dying) if is_v2(state) else (name, number, counts.get(name, 1))
        for number, name in enumerate(_V1, start=2)
    )
    return "#subsys_name\thierarchy\tnum_cgroups\tenabled\n" + "".join(f"{n}\t{h}\t{c}\t1\n" for n, h, c in rows)


def _cgroup_stat(state: State, now: Moment) -> str | None:
    """The root's cgroup.stat of v2."""
    counts = f"nr_descendants {state.cgroups.alive - 1}\nnr_dying_descendants {state.cgroups.dying_at(now.uptime)}\n"
    return counts if is_v2(state) else None


def _os_release(state: State, now: Moment) -> str:
    system = state.system
    return (
        f'NAME="{system.pretty.split(" 2")[0]}"\nVERSION_ID="{system.os_version}"\nID={system.os_id}\n'
        f'PRETTY_NAME="{system.pretty}"\n'
    )


def _diskstats(state: State, now: Moment) -> str:
    text = ""
    for number, disk in enumerate(state.disks):
        done, waiting = (40_000, 12) if disk.stuck else (int(now.uptime * 40), 0)
        reads, writes = f"{done} 12 {done * 64} {done // 2}", f"{done * 2} 31 {done * 96} {done}"
        row = f"{reads} {writes} {waiting} {done} {done * 2} 0 0 0 0 0 0"
        devices = dict.fromkeys((re.sub(r"p[0-9]+\Z", "", disk.device), disk.device))  # the whole disk, its partition
        text += "".join(f" 259 {number * 2 + at:7} {device} {row}\n" for at, device in enumerate(devices))
    return text


def _packets_received(state: State, now: Moment) -> list[int]:
    """Packets that each core has taken from the network since boot."""
    packets = [0.0] * state.load.cores
    for nic in state.nics:
        for queue in range(nic.queues):
            packets[nic.core_of(queue, state.load.cores)] += nic.packets / nic.queues * now.uptime
    return [int(count) for count in packets]


_SOFTIRQS = {
    **{"HI": 0.0, "TIMER": 110.0, "NET_TX": 0.4, "NET_RX": 0.0, "BLOCK": 6.0, "IRQ_POLL": 0.0, "TASKLET": 0.1},
    **{"SCHED": 70.0, "HRTIMER": 0.0, "RCU": 90.0},
}


def _softirqs(state: State, now: Moment) -> str:
    cores = range(state.load.cores)
    text = "                    " + "".join(f"{'CPU' + str(core):<11}" for core in cores) + "\n"
    for name, rate in _SOFTIRQS.items():
        counts = _packets_received(state, now) if name == "NET_RX" else [int(rate * now.uptime)] * state.load.cores
        text += f"{name + ':':>12}" + "".join(f" {count:>10}" for count in counts) + "\n"
    return text


def _softnet(state: State, now: Moment) -> str:
    """/proc/net/softnet_stat: 11 columns, 13 since Linux 5.14, 15 in recent kernels; counters of 32 bits."""
    since = state.system.kernel_version
    more = [0] * 8 if since < (5, 14) else [0] * 9
    squeezed = int(sum(nic.squeezed for nic in state.nics) * now.uptime)
    received = _packets_received(state, now)
    hot = max(max(received) / 2, 1)
    rows = [[packets, 0, squeezed if packets >= hot else 0, *more] for packets in received]
    if since >= (5, 14):
        rows = [[*row, core, *([0, 0] if since >= (6, 8) else [])] for core, row in enumerate(rows)]
    return "".join(" ".join(f"{value % 2**32:08x}" for value in row) + "\n" for row in rows)


FILES: Mapping[str, Callable[[State, Moment], str | None]] = {
    BOOT_ID: lambda state, now: f"{state.boot_id}\n",
    MACHINE_ID: lambda state, now: f"{state.identity('machine').hex}\n",
    UPTIME: lambda state, now: f"{now.uptime:.2f} {now.uptime * state.load.cores * 0.7:.2f}\n",
    "/etc/os-release": _os_release,
    "/proc/cgroups": _proc_cgroups,
    "/proc/consoles": lambda state, now: (
        "tty0                 -WU (EC  p  )    4:1\nttyS0                -W- (E   p a)    4:64\n"
    ),
    "/proc/diskstats": _diskstats,
    "/proc/loadavg": _loadavg,
    "/proc/meminfo": _meminfo,
    "/proc/net/sockstat": lambda state, now: "sockets: used 812\nTCP: inuse 214 orphan 0 tw 61 alloc 240 mem 57\n",
    "/proc/net/softnet_stat": _softnet,
    "/proc/net/stat/arp_cache": lambda state, now: _NEIGHBOURS,
    "/proc/net/stat/ndisc_cache": lambda state, now: _NEIGHBOURS,
    "/proc/pressure/cpu": _pressure("cpu"),
    "/proc/pressure/io": _pressure("io"),
    "/proc/pressure/memory": _pressure("memory"),
    "/proc/softirqs": _softirqs,
    "/proc/sys/fs/file-nr": lambda state, now: "9824\t0\t9223372036854775807\n",
    "/proc/sys/kernel/hostname": lambda state, now: f"{state.name}\n",
    "/proc/sys/kernel/osrelease": lambda state, now: f"{state.system.kernel}\n",
    "/proc/sys/kernel/pid_max": lambda state, now: "4194304\n",
    "/proc/sys/kernel/printk": lambda state, now: "4\t4\t1\t7\n",
    "/proc/sys/kernel/threads-max": lambda state, now: f"{state.memory.total // 8}\n",
    "/proc/sys/net/core/somaxconn": lambda state, now: "4096\n",
    "/proc/sys/net/ipv4/tcp_max_orphans": lambda state, now: "262144\n",
    "/proc/sys/net/ipv4/tcp_mem": lambda state, now: (
        "\t".join(str(state.memory.total // 4 // part) for part in (64, 48, 32)) + "\n"
    ),
    "/proc/sys/net/netfilter/nf_conntrack_count": lambda state, now: (
        f"{state.conntrack[0] + int(now.uptime * 7) % 97}\n"
    ),
    "/proc/sys/net/netfilter/nf_conntrack_max": lambda state, now: f"{state.conntrack[1]}\n",
    "/proc/vmstat": _vmstat,
    "/sys/class/dmi/id/product_name": lambda state, now: f"{state.system.product}\n",
    "/sys/class/dmi/id/sys_vendor": lambda state, now: "Amazon EC2\n",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": lambda state, now: "tsc\n",
    "/sys/devices/system/cpu/online": lambda state, now: f"0-{state.load.cores - 1}\n",
    "/sys/fs/cgroup/cgroup.controllers": lambda state, now: (
        "cpuset cpu io memory hugetlb pids rdma misc\n" if is_v2(state) else None
    ),
    "/sys/fs/cgroup/cgroup.stat": _cgroup_stat,
}


def read(path: str, state: State, now: Moment) -> str | None:
    """Return a file's content, None if there is no such file."""
    found = FILES.get(path)
    return None if found is None else found(state, now)


def tail(paths: Sequence[str], state: State, now: Moment) -> tuple[str, str]:
    """Return the stdout and the stderr of `tail -v -n +1`."""
    contents = [(path, read(path, state, now)) for path in paths]  # a path may come again
    printed = "\n".join(f"==> {path} <==\n{text}" for path, text in contents if text is not None)
    missing = (path for path, text in contents if text is None)
    return printed, "".join(f"tail: cannot open '{path}' for reading: No such file or directory\n" for path in missing)
