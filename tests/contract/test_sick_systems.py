"""Whole nodes whose kernel or network is sick, on old, small and odd systems; and nodes with two faults at once."""

from __future__ import annotations

import pytest

from tests.contract.asked import STOPPED, Asked, check
from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kernel import BOUND
from tests.independent.kinds import azure, database, edge, gpu_node, guest, metal, nano, rhel7, rocky8, small
from tests.independent.machine import KUBELET, Machine

OOM, RECLAIM, STALL, LOCK, STEAL = "oom-kills", "memory-reclaim", "io-stall", "lockup", "cpu-steal"
SOFT_OLD = "BUG: soft lockup - CPU#3 stuck for 22s! [kworker/3:1:31022]"
RCU_OLD = "INFO: rcu_sched self-detected stall on CPU { 7}  (t=60001 jiffies g=881 c=880 q=1204)"


def lines(*said: str) -> str:
    return "\n".join([*said, "-- dmesg: 812 lines, 0 left out --", ""])


def looks(up: float, *cores: tuple[int, ...]) -> str:
    """Print /proc/stat every second: user, nice, system, idle, iowait, irq, softirq, steal; in hundredths a second."""
    text = []
    for second in range(6):
        text.append(f"uptime {up + second:.2f}")
        totals = [sum(core[at] for core in cores) for at in range(8)]
        for name, shares in (("cpu", totals), *((f"cpu{n}", core) for n, core in enumerate(cores))):
            text.append(f"{name} " + " ".join(str(9000 + second * share) for share in shares) + " 0 0")
    return "\n".join([*text, ""])


KERNELS = [
    Asked(
        "a core that is stuck for the third time, in the words of an old kernel",
        rhel7().log((401, SOFT_OLD), (210, SOFT_OLD), (19, SOFT_OLD)).core(3, sys=100),
        "critical",
        LOCK,
        "drain uncordon",
        needs="reboot",
    ),
    Asked(
        "RCU waits for a core, and tells of it every three minutes",
        rhel7().log((283, RCU_OLD), (100, RCU_OLD)).core(7, sys=100),
        "critical",
        LOCK,
        "drain uncordon",
        needs="reboot",
    ),
    Asked("the smallest burstable machine has no credits left", nano(usr=30, sys=6, steal=62), "critical", STEAL),
    Asked(
        "the same without mpstat",
        nano().instead("cpu", "mpstat", looks(9 * DAY, (30, 0, 6, 2, 0, 0, 0, 62))),
        "critical",
        STEAL,
    ),
    Asked(
        "a host that takes a third of all time, and cores that are stuck over it",
        guest().all_cores(usr=40, steal=35).log((400, SOFT_OLD), (200, SOFT_OLD)),
        "critical",
        STEAL,
    ),
    Asked(
        "a log without times, and a disk that holds its requests",
        rhel7()
        .instead(
            "kernel_log", "log", lines(*(f"blk_update_request: I/O error, dev sdb, sector {n}808" for n in range(9)))
        )
        .disk("sdb", 31, 31)
        .waiting(8, "rsyslogd", "wait_on_page_bit"),
        "critical",
        STALL,
    ),
    Asked(
        "a log that names the thread of each line",
        nano().instead(
            "kernel_log",
            "log",
            lines(
                "[777500.123456][ T4411] Out of memory: Killed process 4411 (dnf) total-vm:900000kB, anon-rss:300000kB"
            ),
        ),
        "degraded",
        OOM,
    ),
    Asked(
        "a clock source that was lost before the log begins",
        metal(up=400 * DAY).clock(
            "chronyd",
            "Leap status     : Normal",
            "System time     : 0.000021133 seconds slow of NTP time",
            source="hpet",
            available="hpet acpi_pm",
        ),
        "degraded",
        "- clock-unsynced",
    ),
    Asked("ntpd has lost its servers", rhel7().clock("ntpd", "leap=11, offset=0.000"), "degraded", "clock-unsynced"),
    Asked(
        "btrfs gave up and went read-only",
        Machine(kubernetes=False, system="openSUSE Leap 15.6", kernel="6.4.0-150600.23.33-default")
        .mount("nvme0n1p3 btrfs ro,relatime,ssd,space_cache=v2 /", "UUID=6a1e / btrfs defaults 0 0")
        .log((2 * HOUR, "BTRFS info (device nvme0n1p3: state EA): forced readonly")),
        "critical",
        "filesystem-read-only",
    ),
]


def one_core_full() -> Machine:
    """Let the only core of a box do nothing but packets: both of its card's interrupts land there, where else."""
    machine = nano(usr=4, sys=3, soft=92).served({0: 0, 1: 0}, {0: 9_000, 1: 8_000}).packets(0, 900_000, 4_100, 700)
    machine.facts.driver = "virtio_net"
    return machine


NETWORKS = [
    Asked("the only core of a box drowns in packets", one_core_full(), "critical", "softirq-storm"),
    Asked(
        "two of 192 cores drown in packets",
        Machine(cores=192, memory_gib=768, product="c7i.48xlarge")
        .core(4, soft=97)
        .core(5, soft=96)
        .packets(4, 2_000_000, 5_000, 900)
        .packets(5, 1_900_000, 3_000, 800),
        "critical",
        "softirq-storm",
    ),
    Asked(
        "a table of connections at its limit that drops nothing",
        Machine().conntrack(260_100, 262_144),
        "degraded",
        "conntrack-full",
    ),
    Asked(
        "a table of connections at its limit that drops",
        Machine().conntrack(262_144, 262_144).log((4, "nf_conntrack: nf_conntrack: table full, dropping packet")),
        "critical",
        "conntrack-full",
    ),
    Asked(
        "an old kernel's neighbours of IPv6",
        rhel7().log_every(20, 5, 12, "IPv6: Neighbour table overflow"),
        "degraded",
        "neighbour-overflow",
    ),
    Asked(
        "the name server on the node itself is silent", Machine().dns(("169.254.20.10", "")), "degraded", "dns-failing"
    ),
]

NFS = "nfs: server 10.0.4.20 not responding, still trying"
ENDED = ("/var/lib/kubelet/pki/kubelet-client-current.pem", -366 * DAY, -2 * HOUR)


def lxc() -> Machine:
    machine = guest().without("cgroups", "conntrack").room("/", 40, 0.4)
    machine.facts.virt = "lxc"
    return machine


TWO = [
    Asked(
        "the kubelet hangs on a volume whose server went away",
        Machine().log((20 * MINUTE, NFS)).waiting(12, "kubelet", "rpc_wait_bit_killable").health("000 28", "000 28"),
        "critical",
        STALL,
    ),
    Asked(
        "the kubelet loops because its certificate has ended",
        Machine()
        .certificate(*ENDED)
        .loops(KUBELET, 60, 11, Restart="always")
        .essential(KUBELET, ActiveState="activating", SubState="auto-restart")
        .health("000 7", "000 7"),
        "critical",
        "certificate-expiry",
    ),
    Asked(
        "a database loops because its disk is full",
        database().room("/", 100, 0.3).loops("postgresql.service", 300, 6),
        "critical",
        "disk-full",
    ),
    Asked(
        "a GPU is gone from a node whose cgroups leak without harm",
        gpu_node()
        .gpus("0000:3b:00.0", "0000:af:00.0", listed=("0000:af:00.0",))
        .log((50 * MINUTE, "NVRM: Xid (PCI:0000:3b:00): 79, pid=41, name=python3, GPU has fallen off the bus."))
        .cgroups(300, 8_000, 8_004)
        .loops("tracer.service", 7_900, 200, again="3min"),
        "critical",
        "gpu-fault",
    ),
    Asked(
        "a volume at its limit, and all that wait for it",
        database()
        .ebs("nvme1", {}, {"volume_iops": 4_700_000}, 64)
        .disk("nvme1n1", 60, 64, 900, 900)
        .waiting(30, "postgres", "io_schedule")
        .pressure(io_some=90, io_full=62),
        "degraded",
        "ebs-throttled",
    ),
    Asked(
        "memory is short, and the kernel kills",
        small()
        .memory(MemAvailable=60_000, MemFree=30_000)
        .vmstat(pgscan_direct=(0, 900_000), allocstall_normal=(0, 2_000), oom_kill=(1, 3))
        .log((100, BOUND[1]))
        .pressure(memory_some=80, memory_full=61),
        "critical",
        RECLAIM,
    ),
    Asked(
        "no process number is left, and services fail over it",
        small().limits(threads=32_100, pid_max=32_768).failed("apt-daily.service").failed("logrotate.service"),
        "critical",
        "pid-or-fd-exhaustion",
    ),
    Asked(
        "a container as a node, whose disk is full",
        lxc(),
        "critical",
        "disk-full",
    ),
    Asked(
        "the kubelet is off, and the login may not read the log",
        azure()
        .without("kernel_log")
        .essential(KUBELET, changed_ago=HOUR, ActiveState="inactive", SubState="dead")
        .health("000 7", "000 7"),
        "critical",
        STOPPED,
        "start",
    ),
    Asked("Alpine's disk is full", edge().room("/", 30, 0.2), "critical", "disk-full", systemd=False),
    Asked(
        "systemd itself waits for a dead disk and answers nobody",
        rocky8()
        .without("units", "agents", "essential_units")
        .disk("sda", 40, 40)
        .waiting(7, "systemd", "xfs_buf_lock"),
        "critical",
        STALL,
    ),
]

NODES = [*KERNELS, *NETWORKS, *TWO]


@pytest.mark.parametrize("asked", NODES, ids=lambda asked: str(asked.title))
def test_sick_system_is_told_as_what_it_is(asked: Asked) -> None:
    check(asked)
