"""/proc, /sys and /etc of a simulated node: kernel, cores, memory and cgroups.

Defined in: Linux, Documentation/filesystems/proc.rst, Documentation/accounting/psi.rst, cgroup-v1/ and cgroup-v2.rst.
"""

from __future__ import annotations

import functools
import hashlib
import uuid

from bot.demo.machine import hardware
from bot.demo.machine.state import Content, Moment, State

_V1 = (
    "cpuset",
    "cpu",
    "cpuacct",
    "blkio",
    "memory",
    "devices",
    "freezer",
    "net_cls",
    "perf_event",
    "net_prio",
    "hugetlb",
    "pids",
)
_TOGETHER = {
    "cpu": "cpu,cpuacct",
    "cpuacct": "cpu,cpuacct",
    "net_cls": "net_cls,net_prio",
    "net_prio": "net_cls,net_prio",
}


def files(state: State) -> dict[str, Content]:
    """Return the files, each with its content or a function that computes it."""
    system, pages = state.system, state.memory.total // 4
    found: dict[str, Content] = {
        "/proc/uptime": lambda now: f"{now.uptime:.2f} {now.uptime * state.load.cores * 0.7:.2f}\n",
        "/proc/loadavg": lambda now: _loadavg(state),
        "/proc/stat": lambda now: proc_stat(state, now),
        "/proc/meminfo": meminfo(state),
        "/proc/vmstat": lambda now: vmstat(state, now),
        "/proc/version": f"Linux version {system.kernel} (buildd@lcy02) (gcc version 9.4.0) {system.build}\n",
        "/proc/cmdline": f"BOOT_IMAGE=/boot/vmlinuz-{system.kernel} root=LABEL=root ro console=ttyS0\n",
        "/proc/self/mountinfo": mountinfo(state),
        "/proc/mounts": "",
        "/proc/sys/kernel/osrelease": f"{system.kernel}\n",
        "/proc/sys/kernel/hostname": f"{state.name}\n",
        "/proc/sys/kernel/random/boot_id": f"{identity(state, f'boot {state.generation}')}\n",
        "/proc/sys/kernel/pid_max": "4194304\n",
        "/proc/sys/fs/file-nr": "9824\t0\t9223372036854775807\n",
        "/proc/sys/kernel/threads-max": f"{state.memory.total // 8}\n",
        "/proc/sys/net/core/somaxconn": "4096\n",
        "/proc/sys/net/ipv4/tcp_mem": f"{pages // 64}\t{pages // 48}\t{pages // 32}\n",
        "/proc/sys/net/ipv4/tcp_max_orphans": "262144\n",
        "/proc/net/sockstat": "sockets: used 812\nTCP: inuse 214 orphan 0 tw 61 alloc 240 mem 57\n",
        "/etc/machine-id": f"{identity(state, 'machine').hex}\n",
        "/etc/hostname": f"{state.name}\n",
        "/etc/os-release": os_release(state),
        "/sys/devices/system/cpu/online": f"0-{state.load.cores - 1}\n",
        "/sys/devices/system/cpu/present": f"0-{state.load.cores - 1}\n",
        "/run/systemd/system/.keep": "",
    }
    if state.memory.pressure is not None:
        for resource in ("cpu", "io", "memory"):
            found[f"/proc/pressure/{resource}"] = functools.partial(_pressure, state, resource)
    if state.conntrack is not None:
        count, maximum = state.conntrack
        found["/proc/sys/net/netfilter/nf_conntrack_count"] = lambda now: f"{count + int(now.uptime * 7) % 97}\n"
        found["/proc/sys/net/netfilter/nf_conntrack_max"] = f"{maximum}\n"
    found.update(hardware.files(state))
    found.update(cgroup_files(state))
    found.update(state.files)
    return found


def identity(state: State, of: str) -> uuid.UUID:
    """Return a stable identifier of this node."""
    return uuid.UUID(bytes=hashlib.sha256(f"{state.name} {of}".encode()).digest()[:16], version=4)


def os_release(state: State) -> str:
    """Return /etc/os-release."""
    name = state.system.pretty.split(" 2")[0]
    return (
        f'NAME="{name}"\nVERSION_ID="{state.system.os_version}"\nID={state.system.os_id}\n'
        f'PRETTY_NAME="{state.system.pretty}"\n'
    )


def _loadavg(state: State) -> str:
    shares = [state.load.own.get(core, state.load.shares) for core in range(state.load.cores)]
    busy = sum(sum(core) - core.steal for core in shares) / 100 + len(state.load.holds)
    return f"{busy:.2f} {busy * 0.98:.2f} {busy * 0.97:.2f} {max(1, int(busy))}/{900 + state.load.cores * 9} 128411\n"


def proc_stat(state: State, now: Moment) -> str:
    """Return /proc/stat."""
    rows = []
    for core in range(state.load.cores):
        usr, nice, sys, iowait, irq, soft, steal, idle = state.load.ticks(core, now.uptime)
        rows.append((usr, nice, sys, idle, iowait, irq, soft, steal, 0, 0))
    total = [sum(column) for column in zip(*rows, strict=True)]
    text = "cpu  " + " ".join(map(str, total)) + "\n"
    text += "".join(f"cpu{core} {' '.join(map(str, row))}\n" for core, row in enumerate(rows))
    blocked = sum(1 for process in state.processes if process.state == "D")
    return (
        text + f"intr {int(now.uptime * 21_000)} 0 9 0\nctxt {int(now.uptime * 48_000)}\n"
        f"btime {int(now.booted_at.timestamp())}\nprocesses {30_000 + int(now.uptime * 2.3)}\n"
        f"procs_running {1 + len(state.load.holds)}\nprocs_blocked {blocked}\n"
        f"softirq {int(now.uptime * 30_000)} 0 0 0 0 0 0 0 0 0 0\n"
    )


def meminfo(state: State) -> str:
    """Return /proc/meminfo."""
    memory = state.memory
    free = memory.available // 3
    cached = memory.available - free
    rows = {
        "MemTotal": memory.total,
        "MemFree": free,
        "MemAvailable": memory.available,
        "Buffers": cached // 20,
        "Cached": cached,
        "SwapCached": 0,
        "Active": cached // 2,
        "Inactive": cached // 3,
        "Active(anon)": memory.total // 9,
        "Inactive(anon)": memory.total // 40,
        "Active(file)": cached // 3,
        "Inactive(file)": cached // 4,
        "Unevictable": 18_000,
        "Mlocked": 18_000,
        "SwapTotal": 0,
        "SwapFree": 0,
        "Dirty": 912,
        "Writeback": 0,
        "AnonPages": max(1, memory.total - memory.available - memory.unreclaimable),
        "Mapped": 410_000,
        "Shmem": 3_100,
        "KReclaimable": 700_000,
        "Slab": 700_000 + memory.unreclaimable,
        "SReclaimable": 700_000,
        "SUnreclaim": memory.unreclaimable,
        "KernelStack": 21_000,
        "PageTables": 60_000,
        "NFS_Unstable": 0,
        "Bounce": 0,
        "WritebackTmp": 0,
        "CommitLimit": memory.total // 2,
        "Committed_AS": memory.total // 2,
        "VmallocTotal": 34_359_738_367,
        "VmallocUsed": 90_000,
        "VmallocChunk": 0,
        "Percpu": memory.percpu,
        "HardwareCorrupted": 0,
        "AnonHugePages": 0,
        "ShmemHugePages": 0,
        "ShmemPmdMapped": 0,
    }
    text = "".join(f"{name + ':':<15} {kib:>8} kB\n" for name, kib in rows.items())
    return text + "HugePages_Total:       0\nHugePages_Free:        0\nHugepagesize:       2048 kB\n"


_VMSTAT = {
    "nr_free_pages": 1_299_760,
    "nr_inactive_anon": 183_329,
    "nr_active_anon": 894_200,
    "nr_inactive_file": 1_655_800,
    "nr_active_file": 888_930,
    "nr_unevictable": 4_382,
    "nr_mlock": 4_113,
    "nr_slab_reclaimable": 175_000,
    "nr_slab_unreclaimable": 75_000,
    "workingset_refault": 7_012,
    "nr_dirty": 228,
    "nr_writeback": 0,
}
_VMSTAT_RATES = {
    "pgpgin": 210.0,
    "pgpgout": 980.0,
    "pgfree": 41_000.0,
    "pgactivate": 300.0,
    "pgfault": 52_000.0,
    "pgmajfault": 0.3,
    "thp_fault_alloc": 1.2,
} | dict.fromkeys(
    (
        "pswpin",
        "pswpout",
        "allocstall_dma",
        "allocstall_dma32",
        "allocstall_normal",
        "allocstall_movable",
        "pgdeactivate",
        "pgrefill",
        "pgsteal_kswapd",
        "pgsteal_direct",
        "pgscan_kswapd",
        "pgscan_direct",
        "pgscan_direct_throttle",
        "slabs_scanned",
        "kswapd_low_wmark_hit_quickly",
        "kswapd_high_wmark_hit_quickly",
        "pageoutrun",
        "oom_kill",
        "compact_stall",
        "compact_fail",
        "compact_success",
        "thp_fault_fallback",
    ),
    0.0,
)


def vmstat(state: State, now: Moment) -> str:
    """Return /proc/vmstat."""
    rates = {**_VMSTAT_RATES, **state.memory.rates}
    rows = {**_VMSTAT, **{name: int(rate * now.uptime) for name, rate in rates.items()}}
    return "".join(f"{name} {value}\n" for name, value in rows.items())


def _pressure(state: State, resource: str, now: Moment) -> str:
    """A PSI file, with `some` and `full` lines (system-wide cpu has only `some` before 5.13)."""
    text = ""
    for line in ("some", "full"):
        if resource == "cpu" and line == "full" and state.system.kernel_version < (5, 13):
            continue
        share = (state.memory.pressure or {}).get(f"{resource} {line}", 0.0)
        total = int(share / 100 * now.uptime * 1e6)
        text += f"{line} avg10={share:.2f} avg60={share * 0.97:.2f} avg300={share * 0.95:.2f} total={total}\n"
    return text


def mountinfo(state: State) -> str:
    """Return /proc/self/mountinfo."""
    text = "22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n23 22 0:5 / /proc rw - proc proc rw\n"
    if state.system.cgroups == "v2":
        return text + "30 24 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec - cgroup2 cgroup2 rw,nsdelegate\n"
    text += "30 24 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:9 - tmpfs tmpfs ro,mode=755\n"
    if state.system.cgroups == "hybrid":
        text += "31 30 0:27 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw,nsdelegate\n"
    text += "32 30 0:28 / /sys/fs/cgroup/systemd rw shared:11 - cgroup cgroup rw,xattr,name=systemd\n"
    folders = dict.fromkeys(_TOGETHER.get(name, name) for name in _V1)
    for number, folder in enumerate(folders):
        where = f"/sys/fs/cgroup/{folder}"
        text += (
            f"{35 + number} 30 0:{31 + number} / {where} rw,relatime shared:{15 + number} - cgroup cgroup rw,{folder}\n"
        )
    return text


def cgroup_files(state: State) -> dict[str, Content]:
    """Return the files that count cgroups."""
    found: dict[str, Content] = {"/proc/cgroups": lambda now: proc_cgroups(state, now)}
    unified = {"v2": "/sys/fs/cgroup", "hybrid": "/sys/fs/cgroup/unified"}.get(state.system.cgroups)
    if unified:
        found[f"{unified}/cgroup.stat"] = lambda now: cgroup_stat(state, now)
        controllers = "cpuset cpu io memory hugetlb pids rdma misc" if state.system.cgroups == "v2" else ""
        found[f"{unified}/cgroup.controllers"] = f"{controllers}\n"
        found[f"{unified}/cgroup.procs"] = "1\n"
    if state.system.cgroups != "v2":
        found["/sys/fs/cgroup/memory/cgroup.procs"] = "1\n"
    return found


def proc_cgroups(state: State, now: Moment) -> str:
    """Return /proc/cgroups. Since Linux 6.12 it has no `memory` and `cpuset` under cgroup v2."""
    dying, alive = state.cgroups.dying_at(now.uptime), state.cgroups.alive
    text = "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
    for number, name in enumerate(_V1, start=2):
        if state.system.cgroups == "v2":
            if name in ("memory", "cpuset") and state.system.kernel_version >= (6, 12):
                continue
            text += f"{name}\t0\t{alive + dying}\t1\n"
        else:
            many = name in ("cpu", "cpuacct", "blkio", "devices", "pids")
            count = alive + dying if name == "memory" else alive if many else 1
            text += f"{name}\t{number}\t{count}\t1\n"
    return text


def cgroup_stat(state: State, now: Moment) -> str:
    """Return the root's cgroup.stat; counts by controller since Linux 6.12."""
    own = state.system.cgroups == "v2"
    alive = state.cgroups.alive - 1 if own else 0
    dying = state.cgroups.dying_at(now.uptime) if own else 0
    text = f"nr_descendants {alive}\n"
    controllers = ("cpuset", "cpu", "io", "memory", "perf_event", "hugetlb", "pids", "rdma", "misc") if own else ()
    if state.system.kernel_version >= (6, 12):
        text += "".join(f"nr_subsys_{name} {alive + 1}\n" for name in controllers)
    text += f"nr_dying_descendants {dying}\n"
    if state.system.kernel_version >= (6, 12):
        text += "".join(f"nr_dying_subsys_{name} {dying if name == 'memory' else 0}\n" for name in controllers)
    return text
