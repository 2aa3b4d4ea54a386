"""Whole nodes whose verdict must not be too grave, too sure, too well or the lesser of two, and ordinary ones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.asked import FAILED, LOOP, OFF, STOPPED, Asked, check, uncounted
from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kernel import died
from tests.independent.kinds import database, edge, google, gpu_node, guest, metal, rocky8, small
from tests.independent.machine import KUBELET, Machine

SWAPPER = "watchdog: BUG: soft lockup - CPU#0 stuck for 23s! [swapper/0:0]"
K3S_LOST: dict[str, Any] = {"ActiveState": "activating", "SubState": "auto-restart", "Result": "exit-code"}


def readers(inflight: int, wchan: str, moved: int = 0) -> Machine:
    """Let forty processes wait at both looks; those that `moved` used the CPU between."""
    machine = gpu_node().waiting(40, "dataloader", wchan).disk("nvme0n1", inflight, inflight)
    for n in range(moved):
        machine.process("dataloader", usr=30 + n, sys=20, core=n, pid=20_000 + n, state="D")
    return machine.pressure(io_some=55, io_full=40)


GRAVITY = [
    # The kubelet's own check fails when its sync loop stops, as it does without a runtime (kubelet.go, syncLoop).
    Asked(
        "a distribution's containerd failed beside K3s, which has its own",
        edge().failed("containerd.service").essential("containerd.service", changed_ago=9 * DAY, **OFF),
        "degraded",
        f"{STOPPED} {FAILED}",
    ),
    Asked(
        "the runtime of a kubelet failed a minute ago, and its check is still well",
        Machine().failed("containerd.service").essential("containerd.service", changed_ago=MINUTE, **OFF),
        "critical",
        STOPPED,
        plan="start",
    ),
    Asked(
        "docker failed weeks ago, and the kubelet uses containerd",
        Machine().failed("docker.service").essential("docker.service", changed_ago=8 * DAY, **OFF),
        "degraded",
        f"{STOPPED} {FAILED}",
    ),
    # kubernetes.io, install-kubeadm: without a configuration the kubelet restarts every few seconds.
    Asked(
        "kubeadm's kubelet came with the image of a K3s node",
        edge().loops(KUBELET, 311, 10.5, Restart="always").essential(KUBELET, **K3S_LOST),
        "degraded",
        LOOP,
    ),
    *(
        # None of them carries anything that runs: a wait at boot, a line that the machine lacks, a timer's job.
        Asked(f"{name} failed", machine.failed(name), "degraded", FAILED)
        for name, machine in (
            ("NetworkManager-wait-online.service", rocky8()),
            ("serial-getty@ttyS0.service", google()),
            ("podman-auto-update.service", database()),
            ("sshd-keygen@rsa.service", database()),
        )
    ),
    Asked(
        "ifupdown failed and the network is there: we were let in through it",
        guest().failed("networking.service").essential("networking.service", changed_ago=70 * DAY, **OFF),
        "degraded",
        f"{STOPPED} {FAILED}",
        plan="start",
    ),
    # mm/memory-failure.c: a page with many corrected errors that is put aside (soft offline) counts there too.
    Asked(
        "mcelog put a page aside before it failed",
        metal().edac("mc0", 0, 340, 90 * DAY, given_up_kib=4),
        "degraded",
        "memory-errors",
    ),
    # psi.rst: full is the share of time in which all non-idle tasks wait, and here there is one.
    Asked(
        "one pod waits at its own limit on an idle node",
        gpu_node().all_cores(usr=1).pressure(memory_some=82, memory_full=79).memory(MemAvailable=900_000_000),
        "healthy degraded",
        "- memory-reclaim",
        sure=False,
    ),
    Asked(
        "everything waits for memory, and there is none",
        small().memory(MemAvailable=40_000, MemFree=30_000).pressure(memory_some=82, memory_full=79),
        "critical",
        "memory-reclaim",
    ),
    # proc_pid_stat(5), utime and stime: what used the CPU between two looks was not asleep all the time.
    Asked(
        "forty readers of a file server, and idle disks",
        readers(0, "folio_wait_bit_common", 24),
        "healthy degraded",
        "- io-stall",
        sure=False,
    ),
    Asked("forty readers of a dead disk", readers(32, "folio_wait_bit_common"), "critical", "io-stall"),
    Asked(
        "forty calls to a file server that is slow",
        readers(0, "rpc_wait_bit_killable", 24),
        "healthy degraded",
        "- io-stall",
        sure=False,
    ),
    # psi.c: a task that waits for I/O keeps `some` at a core's share at least.
    Asked(
        "forty readers that nobody may look at",
        readers(0, "", 24),
        "healthy degraded",
        "- io-stall",
        sure=False,
    ),
    Asked(
        "a disk's count of requests drifted, and one task waits for something else",
        rocky8().disk("sdb", 1, 1).waiting(1, "ipmi-poll").pressure(io_some=0.0, io_full=0.0),
        "healthy degraded",
        "- io-stall",
        sure=False,
    ),
    # An idle core cannot be stuck: the hypervisor held the machine (for a snapshot, or as it moved).
    Asked("a guest was moved half a minute ago", guest().log((30, SWAPPER)), "degraded", "lockup"),
    Asked("a guest is saved every five minutes", guest().log((480, SWAPPER), (190, SWAPPER)), "degraded", "lockup"),
    Asked(
        "an idle core of a real machine is stuck",
        metal().log((480, SWAPPER), (190, SWAPPER)),
        "critical",
        "lockup",
        "reboot drain uncordon",
    ),
    # openshift/os, docs/faq.md: composefs is an image of a few megabytes, always full, and cannot be written.
    Asked(
        "an image of files as the root",
        Machine(system="Fedora CoreOS 42").room("/", 0.006, 0, 1200, 0, "composefs").room("/var", 100, 60),
        "healthy",
    ),
    Asked(
        "a root that is read-only by design, and full",
        Machine(system="Bottlerocket OS 1.26.1")
        .fstab()
        .mount("dm-0 ext4 ro,seclabel /")
        .room("/", 0.9, 0, 60_000, 40, "/dev/dm-0")
        .room("/var", 80, 60),
        "healthy",
    ),
    # fs/ext4/super.c and fs/xfs/xfs_super.c tell of each mount: what was wrong before it is over.
    Asked(
        "another volume has the name of one that failed a month ago",
        Machine(up=60 * DAY)
        .log((30 * DAY, "EXT4-fs (nvme2n1): Remounting filesystem read-only"))
        .log((2 * DAY, "EXT4-fs (nvme2n1): mounted filesystem 6a1e with ordered data mode. Quota mode: none."))
        .mount("nvme2n1 ext4 rw,relatime /var/lib/kubelet/pods/7c1/volumes/pvc"),
        "healthy",
    ),
    Asked(
        "a volume that the kernel shut down a month ago",
        Machine(up=60 * DAY)
        .log((40 * DAY, "EXT4-fs (nvme2n1): mounted filesystem 6a1e with ordered data mode. Quota mode: none."))
        .log((30 * DAY, "EXT4-fs (nvme2n1): Remounting filesystem read-only"))
        .mount("nvme2n1 ext4 rw,relatime /var/lib/kubelet/pods/7c1/volumes/pvc"),
        "critical",
        "filesystem-read-only",
    ),
    # fstab(5): noauto is mounted by hand, in whatever way that person wants it.
    Asked(
        "a person looks at a copy without changing it",
        database()
        .fstab("UUID=6a1e / xfs defaults 0 0", "/dev/vg/snap /mnt/copy ext4 noauto,defaults 0 0")
        .mount("dm-7 ext4 ro,norecovery /mnt/copy"),
        "healthy",
    ),
]


def alpine(process: str = "") -> Machine:
    machine = edge()
    machine.facts.system = "Alpine Linux v3.20"
    return machine.process(process, usr=9, sys=4, pid=900) if process else machine


def in_container() -> Machine:
    machine = gpu_node().gpus(*(f"0000:{n}0:1c.0" for n in range(1, 9)), listed=("0000:10:1c.0", "0000:20:1c.0"))
    machine.facts.virt = "lxc"
    return machine


def hold(machine: Machine) -> Machine:
    """Let io_uring poll for its program on one core: a kernel thread that never sleeps (io_uring_setup(2), SQPOLL)."""
    return machine.core(12, sys=100).process("iou-sqp-4411", sys=445, core=12, pid=4412, kernel=True, state="R")


SILENT = "ena 0000:00:05.0 eth0: Keep alive watchdog timeout, 6{n}12 msecs since last keep alive."
BACK = "ena 0000:00:05.0: Device reset completed successfully, Driver info: Elastic Network Adapter (ENA) v2.13.2g"
UE = ("EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x8a2b3c)",)
STUCK = "watchdog: BUG: soft lockup - CPU#9 stuck for 22s! [python3:4411]"
XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=41, name=python3, GPU has fallen off the bus."
FAILED_SMI = (
    "==> /gpus <==\nFailed to initialize NVML: Driver/library version mismatch\nstatus 18\n==> /rows <==\n-- end --\n"
)
OUT = ("Leap status     : Not synchronised", "System time     : 34560000.000000000 seconds fast of NTP time")

SEEN = [
    Asked("nvidia-smi never came back, and the log is silent", gpu_node().gpus("0000:3b:00.0").smi_hangs(), "unknown"),
    Asked("nvidia-smi fails for all", gpu_node().gpus("0000:3b:00.0", smi=FAILED_SMI), "unknown"),
    # nvidia-smi comes with the driver; NVIDIA's operator keeps both in a container.
    Asked("the driver's programs are in a container", gpu_node().gpus("0000:3b:00.0", smi="absent\n"), "healthy"),
    # A container sees the whole bus in sysfs, and the devices that it was given.
    Asked("two of eight GPUs were given to a container", in_container(), "healthy unknown"),
    # k3s-io/k3s: k3s.service is Type=notify with TimeoutStartSec=0.
    Asked(
        "K3s has been starting for three hours",
        edge()
        .essential("k3s-agent.service", changed_ago=3 * HOUR, ActiveState="activating", SubState="start")
        .health("000 7", "000 7"),
        "critical",
        STOPPED,
    ),
    Asked(
        "the kubelet has been stopping for two hours",
        Machine()
        .essential(KUBELET, changed_ago=2 * HOUR, ActiveState="deactivating", SubState="final-sigterm")
        .health("000 7", "000 7"),
        "critical",
        STOPPED,
    ),
    Asked(
        "K3s has been starting for a minute",
        edge()
        .essential("k3s-agent.service", changed_ago=MINUTE, ActiveState="activating", SubState="start")
        .health("000 7", "000 7"),
        "healthy unknown",
    ),
    Asked("no systemd, and no kubelet at work where one should be", alpine(), "unknown", systemd=False),
    Asked("no systemd, and the kubelet at work", alpine("k3s-agent"), "healthy", systemd=False),
    # systemd-gpt-auto-generator(8) mounts a root that no fstab names; what is read-only by design has another /var.
    Asked(
        "a root that nobody's fstab names takes no writes, and /var is on it",
        small(up=9 * DAY).fstab().mount("nvme0n1p1 ext4 ro,relatime /"),
        "critical",
        "filesystem-read-only",
        plan="cordon",
    ),
    Asked(
        "what polls by design does not excuse a dying card",
        hold(Machine().log_every(30, 100, 5, SILENT).log_every(29, 100, 5, BACK)),
        "critical",
        "nic-device-fault",
    ),
    Asked("io_uring polls for its program", hold(Machine()), "healthy"),
]

ORDER = [
    # A reboot keeps the module: the errors come before what they made of the cores.
    Asked(
        "memory that errs, and cores that were stuck over it",
        metal().edac("mc0", 1, 3, 60 * DAY).log((500, UE[0]), (480, STUCK), (190, STUCK)),
        "critical",
        "memory-errors",
    ),
    Asked(
        "a GPU fell off the bus under a program that waits for it",
        gpu_node()
        .gpus("0000:3b:00.0", "0000:af:00.0", listed=("0000:af:00.0",))
        .log((500, XID), (480, STUCK), (190, STUCK)),
        "critical",
        "gpu-fault",
        "drain reboot uncordon",
    ),
    Asked(
        "no name can be looked up, and eleven hundred cgroups do no harm",
        Machine().cgroups(240, 1_100).dns(("10.0.0.2", ""), ("10.0.0.3", "")),
        "degraded",
        "dns-failing",
    ),
    Asked(
        "the machine ran out of memory, and eleven hundred do no harm",
        died(Machine().cgroups(240, 1_100), 600),
        "degraded",
        "oom-kills",
    ),
    Asked(
        "a year too late by a clock that is wrong",
        Machine()
        .clock("chronyd", *OUT)
        .certificate("/var/lib/kubelet/pki/kubelet-client-current.pem", -400 * DAY, -35 * DAY),
        "degraded unknown",
        "- clock-unsynced",
    ),
    Asked(
        "a year too late by a clock that is right",
        Machine().certificate("/var/lib/kubelet/pki/kubelet-client-current.pem", -400 * DAY, -35 * DAY),
        "critical",
        "certificate-expiry",
    ),
    Asked(
        "the disk is full, and the kubelet stopped over it",
        Machine()
        .room("/", 100, 0.2)
        .essential(KUBELET, changed_ago=HOUR, **OFF)
        .failed(KUBELET)
        .health("000 7", "000 7"),
        "critical",
        "disk-full",
    ),
]

PLAIN = [
    Asked("Alpine without systemd or Kubernetes", guest(), "healthy", systemd=False),
    Asked(
        "RHEL 7",
        uncounted(
            Machine(kernel="3.10.0-1160.119.1.el7.x86_64", v1=True, kubernetes=False, systemd="systemd 219"),
            "sshd.service",
        ),
        "healthy",
    ),
    Asked("three hundred and eighty-four cores", Machine(cores=384, memory_gib=3072, product="u7i"), "healthy"),
    Asked("a nested guest that loses three percent", guest().all_cores(usr=20, steal=3), "healthy"),
]


def eight_pollers() -> Machine:
    """Let a packet processor poll on eight isolated cores (DPDK, lcores): they are busy with nothing, in user mode."""
    machine = metal()
    for core in range(56, 64):
        machine.core(core, usr=100)
    return machine.process("dpdk-l3fwd", usr=3_560, core=56, pid=811, threads=9, state="R")


PLAIN.append(Asked("eight cores that poll by design", eight_pollers(), "healthy"))
NODES = [*GRAVITY, *SEEN, *ORDER, *PLAIN]


@pytest.mark.parametrize("asked", NODES, ids=lambda asked: str(asked.title))
def test_node_gets_no_more_and_no_less_than_it_earned(asked: Asked) -> None:
    check(asked)
