"""Whole nodes with nothing wrong, or little, in figures and states that frighten, and readings that were cut short."""

from __future__ import annotations

import pytest

from tests.contract.asked import Asked, check
from tests.independent.facts import DAY, HOUR
from tests.independent.kernel import in_pod, kills
from tests.independent.kinds import (
    database,
    edge,
    google,
    gpu_node,
    guest,
    metal,
    rhel7,
    rocky8,
    small,
)
from tests.independent.machine import Machine

FOUR = ("0000:1b:00.0", "0000:43:00.0", "0000:9b:00.0", "0000:d1:00.0")


def smi(*lines: str, end: tuple[str, ...] = ("status 0", "==> /rows <==", "==> /actions <==", "-- end --", "")) -> str:
    return "\n".join(["==> /gpus <==", *lines, *end])


def inside(machine: Machine, virt: str = "lxc") -> Machine:
    """Let it be a container: its /proc/uptime is its own (lxcfs), the kernel's log is its host's."""
    machine.facts.virt = virt
    return machine


def swapped(machine: Machine, probe: str, name: str, *pairs: tuple[str, str], look: int | None = None) -> Machine:
    """Print one command's answers with some of its words replaced."""
    runs = [run for run in machine.case().runs if (run.probe, run.name) == (probe, name)]
    texts = []
    for run in runs:
        text = run.stdout
        for old, new in pairs:
            if look is None or run.look == look:
                assert old in text, (old, text)
                text = text.replace(old, new)
        texts.append(text)
    return machine.instead(probe, name, *texts)


def cut(machine: Machine, probe: str, name: str, after: str) -> Machine:
    """Let a command's answer end right after these words, as a connection does that breaks."""
    texts = []
    for run in machine.case().runs:
        if (run.probe, run.name) == (probe, name):
            assert after in run.stdout, run.stdout
            texts.append(run.stdout[: run.stdout.index(after) + len(after)])
    return machine.instead(probe, name, *texts)


def killed_together(machine: Machine, ago: float, count: int) -> Machine:
    """Let one container go over its limit once: memory.oom.group takes all its processes with it (cgroup-v2.rst)."""
    pod = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod7c1.slice/cri-1"
    machine.log((ago, in_pod()[0].replace("{n}", "0")))
    machine.log((ago - 0.001, f"Tasks in {pod} are going to be killed due to memory.oom.group set"))
    for n in range(count):
        machine.log((ago - 0.002 - n / 1e4, in_pod()[1].replace("{n}", str(n))))
    return machine.vmstat(oom_kill=(count, count))


def hypervisor() -> Machine:
    machine = metal()
    return machine.all_cores(guest=93, sys=3).process(
        "qemu-system-x86", usr=6_000, sys=200, core=3, pid=3311, threads=40
    )


def old_iowait() -> Machine:
    machine = rhel7().all_cores(usr=2, sys=4, iowait=62).disk("nvme0n1", 31, 30, 100, 9_000)
    return machine.process("rsync", usr=40, sys=200, core=2, pid=771, state="D")


def offline() -> Machine:
    """Let every second thread be off (nosmt): the tables keep a column for each."""
    return swapped(metal(cores=8), "host", "files", ("0-7", "0,2,4,6"))


def hibernated() -> Machine:
    """EC2 hibernates: CLOCK_MONOTONIC stood for three days, /proc/uptime did not (proc(5), clock_gettime(2))."""
    machine = Machine(up=9 * DAY)
    slept = 3 * DAY
    machine.log(
        (slept + HOUR, "PM: hibernation: hibernation entry"), (slept + HOUR - 2, "PM: hibernation: hibernation exit")
    )
    return machine.essential(
        "containerd.service",
        {"ActiveState": "activating", "SubState": "start"},
        changed_ago=slept + 6,
        ActiveState="deactivating",
        SubState="stop-sigterm",
    )


FIGURES = [
    # openzfs, module/os/linux/zfs/arc_os.c: the ARC is not counted as available, and is given back.
    Asked(
        "ZFS keeps nine tenths of memory as its cache",
        metal().memory(MemAvailable=18_000_000, MemFree=17_000_000, SUnreclaim=44_000_000, Slab=52_000_000),
        "healthy",
    ),
    # hugetlbpage.rst: a huge page is taken at boot and never available.
    Asked(
        "a database has all memory in huge pages",
        database().memory(MemAvailable=11_900_000, MemFree=9_000_000, HugePages_Total=115_000),
        "healthy",
    ),
    Asked("a hypervisor whose guests compute", hypervisor(), "healthy"),
    Asked("all cores fold proteins, nicely", metal().all_cores(nice=99.7, sys=0.3), "healthy"),
    Asked(
        "one second was stolen: the machine was moved",
        guest()
        .core(2, {"usr": 20}, {"steal": 92}, {"usr": 20}, {"usr": 22}, {"usr": 20})
        .core(3, {"usr": 20}, {"steal": 95}, {"usr": 20}, {"usr": 22}, {"usr": 20}),
        "healthy",
    ),
    Asked("a nightly copy on a kernel without figures of pressure", old_iowait(), "healthy degraded", "- io-stall"),
    Asked(
        "a checksum of a raid of six disks holds a core",
        metal()
        .core(17, sys=98)
        .process("md0_raid6", sys=440, core=17, pid=901, kernel=True, state="R")
        .waiting(1, "md0_resync", "md_do_sync"),
        "healthy",
    ),
    Asked(
        "the kernel looks for equal pages of its guests",
        metal().core(9, sys=100).process("ksmd", sys=445, core=9, pid=88, kernel=True, state="R"),
        "healthy",
    ),
    # kernel/cgroup/legacy_freezer.c: `docker pause` on v1 leaves the tasks in D.
    Asked(
        "forty processes of a container that somebody paused",
        Machine(v1=True, kernel="5.4.0-1084-aws", kubernetes=False)
        .waiting(40, "java", "__refrigerator")
        .disk("nvme0n1", 0, 0),
        "healthy",
    ),
    Asked(
        "one container of many processes went over its limit once",
        killed_together(Machine(), 200, 14),
        "healthy",
    ),
    # vm.rst, zone_reclaim_mode: __node_reclaim counts what it scans, and no stall.
    Asked(
        "a NUMA node reclaims its own pages first, and half of memory is free",
        Machine().vmstat(pgscan_direct=(0, 900_000), allocstall_normal=(40, 40)).pressure(memory_some=4.0),
        "healthy",
    ),
    Asked(
        "a quota that held a pod back for eight milliseconds",
        Machine().quota("/kubepods.slice/kubepods-podab.slice", 12, 7, 8_000),
        "healthy",
    ),
    Asked(
        "twenty terabytes of a data store, with a hundred and sixty gigabytes to go",
        database().mount("nvme2n1 xfs rw,noatime /srv/clickhouse").room("/srv/clickhouse", 20_000, 0.8),
        "healthy degraded",
        "- disk-full",
    ),
    Asked(
        "snaps are images of files, always full",
        small()
        .mount("loop3 squashfs ro,nodev,relatime /snap/core22/1748")
        .room("/snap/core22/1748", 0.07, 0, 12_000, 0, "/dev/loop3"),
        "healthy",
    ),
    Asked(
        "an installation disc is mounted",
        metal().mount("sr0 iso9660 ro,relatime /mnt/cdrom").room("/mnt/cdrom", 9, 0, 0, 0, "/dev/sr0"),
        "healthy",
    ),
    Asked(
        "a card with one queue whose core has time",
        small().served({0: 0}, {0: 30_000}).core(0, usr=20, soft=22),
        "healthy",
    ),
    Asked(
        "frames of a protocol that nobody here speaks",
        metal().nic(rx_dropped=(41_000, 41_022)),
        "healthy",
    ),
    Asked(
        "a card that was counted from zero again, as one looked", Machine().nic(total_resets=(12, 0)), "healthy unknown"
    ),
    # chronyc(1), tracking: "Insert second" on the day of a leap second.
    Asked(
        "a second will be inserted tonight",
        Machine().clock(
            "chronyd", "Leap status     : Insert second", "System time     : 0.000021133 seconds slow of NTP time"
        ),
        "healthy",
    ),
    Asked("a grandmaster in the rack keeps the time, by PTP", metal().clock("ptp4l"), "healthy"),
    Asked(
        "a certificate that the kubelet signed itself years ago and serves no more",
        Machine().certificate("/var/lib/kubelet/pki/kubelet.crt", -800 * DAY, -435 * DAY, "own"),
        "healthy",
    ),
    Asked("no name server at all: an island", edge().dns(), "healthy"),
    Asked(
        "the second of two name servers is silent",
        guest().dns(("10.0.0.2", "NOERROR NXDOMAIN NXDOMAIN"), ("10.0.0.3", "")),
        "healthy degraded",
        "- dns-failing",
    ),
    # A volume of many readers: the claim says ReadOnlyMany, and fstab knows nothing of it.
    Asked(
        "the weights of a model, for many nodes to read",
        google()
        .mount(
            "sdb ext4 ro,relatime,norecovery /var/lib/kubelet/plugins/kubernetes.io/csi/pd.csi.storage/1f/globalmount"
        )
        .mount("sdb ext4 ro,relatime,norecovery /var/lib/kubelet/pods/7c1/volumes/kubernetes.io~csi/weights/mount"),
        "healthy",
    ),
    Asked(
        "a replica of ZFS that nobody may change",
        metal()
        .mount("tank/replica zfs ro,relatime,xattr,noacl /tank/replica")
        .room("/tank/replica", 9_000, 12, 0, 0, "tank/replica"),
        "healthy",
    ),
    Asked(
        "an image of OSTree",
        Machine(system="Fedora CoreOS 41")
        .fstab()
        .mount("nvme0n1p4 xfs ro,relatime /sysroot")
        .mount("nvme0n1p4 xfs rw,relatime /var")
        .mount("nvme0n1p4 xfs ro,relatime /usr"),
        "healthy",
    ),
]

SEEN = [
    Asked(
        "virtual GPUs count no errors",
        gpu_node().gpus(*FOUR, smi=smi(*(f"0000{bus.upper()}, [N/A]" for bus in FOUR))),
        "healthy",
    ),
    Asked(
        "nvidia-smi was cut off after two of four",
        gpu_node().gpus(*FOUR, smi=smi(*(f"0000{bus.upper()}, 0" for bus in FOUR[:2]), end=("0000",))),
        "unknown",
    ),
    Asked(
        "the size of the root was cut off within its digits",
        cut(Machine(), "filesystems", "look", "/dev/nvme0n1p1 104846316 42972960 61"),
        "unknown",
    ),
    Asked(
        "the size of the connections' table was cut off",
        swapped(Machine().conntrack(3_475, 262_144), "conntrack", "conntrack", ("262144\n", "26")),
        "healthy unknown",
    ),
    Asked(
        "the kubelet's state was cut off",
        cut(Machine(), "essential_units", "look", "Id=kubelet.service\nLoadState=loaded\nActiveState=a"),
        "unknown",
    ),
    Asked(
        "a kernel without MemAvailable",
        swapped(rhel7(), "reclaim", "memory", ("MemAvailable: ", "MemOther: ")),
        "healthy unknown",
    ),
    Asked("half of the threads are switched off", offline(), "healthy"),
    Asked("a package is upgraded on a machine that slept for three days", hibernated(), "healthy unknown"),
    # lxcfs(8) and user_namespaces(7): dmesg is the host's, with the host's times.
    Asked(
        "a container sees that its host ran out of memory in another one",
        inside(kills(guest(up=2 * HOUR), -40 * DAY, 60, 3, in_pod("/lxc/ct7"))),
        "healthy unknown degraded",
        "- oom-kills",
        sure=False,
    ),
    # cgroup_namespaces(7): /proc/cgroups counts the whole machine, the mount is the container's.
    Asked(
        "a container of LXC counts the cgroups of all its neighbours",
        swapped(
            inside(rocky8().cgroups(60, 3_400)),
            "cgroups",
            "look",
            (" / /sys/fs/cgroup/memory ", " /lxc/ct101 /sys/fs/cgroup/memory "),
        ),
        "healthy unknown",
    ),
    Asked(
        "the same with a cgroup namespace of its own",
        swapped(
            inside(rocky8().cgroups(60, 3_400), "docker"),
            "cgroups",
            "look",
            ("cgroup:[4026531835]", "cgroup:[4026532588]"),
        ),
        "healthy unknown",
    ),
    Asked(
        "K3s within a container of a laptop",
        inside(edge(up=2 * DAY).clock("chronyd", "506 Cannot talk to daemon"), "docker"),
        "healthy unknown",
    ),
    Asked(
        "a container reads of a GPU that its host lost, and its own answer",
        inside(
            gpu_node().gpus(*FOUR[:2]).log((600, "NVRM: Xid (PCI:0000:d1:00): 79, GPU has fallen off the bus.")),
            "podman",
        ),
        "healthy degraded unknown",
        "- gpu-fault",
    ),
    Asked(
        "a file system is frozen for its snapshot",
        database().waiting(8, "postgres", "percpu_rwsem_wait").disk("nvme0n1", 0, 0),
        "healthy degraded",
        "- io-stall",
    ),
    Asked("a gateway with three quarters of its connections", guest().conntrack(200_000, 262_144), "healthy"),
]
NODES = [*FIGURES, *SEEN]


@pytest.mark.parametrize("asked", NODES, ids=lambda asked: str(asked.title))
def test_figures_of_an_ordinary_node_are_not_called_sick(asked: Asked) -> None:
    check(asked)
