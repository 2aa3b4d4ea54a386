"""Whole nodes whose sickness is printed in forms that few machines have: old kernels, other storage, other hosts."""

from __future__ import annotations

import pytest

from tests.contract.asked import Asked, check
from tests.independent.answers import files
from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import azure, database, gpu_node, guest, metal, nano, rancher, rhel7, rocky8, small
from tests.independent.machine import Machine

GPU, STALL, NIC, RECLAIM = "gpu-fault", "io-stall", "nic-device-fault", "memory-reclaim"
CARD = "0000:3b:00.0"


def waits(machine: Machine, count: int, name: str, wchan: str) -> Machine:
    return machine.waiting(count, name, wchan).pressure(io_some=60, io_full=42)


STORAGE = [
    # drivers/md/dm-thin.c: what writes to a full pool is queued, for a minute or for ever.
    Asked(
        "the thin pool of a runner is full",
        waits(guest(), 6, "dockerd", "io_schedule").log(
            (200, "device-mapper: thin: 253:4: reached low water mark for data device: sending event."),
            (100, "device-mapper: thin: 253:4: switching pool to out-of-data-space (queue IO) mode"),
        ),
        "critical",
        STALL,
    ),
    # drivers/scsi/scsi_transport_fc.c and libiscsi.c: the transport tells of it, and the requests wait.
    Asked(
        "both ports of a fibre are gone",
        waits(database(), 11, "postgres", "io_schedule").log(
            (70, "rport-2:0-5: blocked FC remote port time out: removing rport"),
            (69, "device-mapper: multipath: 253:3: Failing path 8:16."),
        ),
        "critical",
        STALL,
    ),
    Asked(
        "an iSCSI target comes and goes",
        guest()
        .log_every(9, 31, 30, "connection1:0: ping timeout of 5 secs expired, recv timeout 5, last rx 43{n}")
        .log_every(8.9, 31, 30, "connection1:0: detected conn error (1022)"),
        "degraded",
        STALL,
    ),
    Asked(
        "the iSCSI target moved to its other half this morning",
        guest().log((5 * HOUR, "connection1:0: detected conn error (1020)")),
        "healthy",
    ),
    Asked(
        "a SATA disk repeated one command last night",
        metal().log((9 * HOUR, "ata4.00: failed command: READ FPDMA QUEUED")),
        "healthy",
    ),
    Asked(
        "Proxmox on ZFS, whose root is full",
        Machine(kernel="6.8.12-8-pve", system="Debian GNU/Linux 12 (bookworm)", kubernetes=False)
        .mount("nvme0n1p2 ext4 rw,relatime /boot")
        .room("/", 900, 0.1, 0, 0, "rpool/ROOT/pve-1"),
        "critical",
        "disk-full",
    ),
    # mpt3sas_scsih.c, scsi_lib.c: a disk behind a host adapter that does not answer within its 30 s.
    Asked(
        "a SAS disk's commands are aborted",
        metal().log_every(
            50, 95, 12, "sd 0:0:9:0: attempting task abort!scmd(0x00000000e6e7404d), outstanding for 30424 ms"
        ),
        "degraded",
        STALL,
    ),
    Asked(
        "a disk of a cloud lets its commands wait for three minutes",
        azure().log_every(30, 190, 4, "sd 1:0:0:1: [sdc] tag#17 timing out command, waited 180s"),
        "degraded",
        STALL,
    ),
    Asked(
        "a disk that holds its requests, as Linux 3.10 counts them",
        rhel7()
        .instead(
            "storage",
            "disks",
            *(
                files(
                    {"/proc/diskstats": f"   8  0 sda 9{at} 1 2 3 4 5 6 7 0 8 9\n   8  16 sdb 41 0 2 3 77 5 6 7 31 8 9"}
                )
                for at in (0, 5)
            ),
        )
        .waiting(3, "rsyslogd", "wait_on_page_bit"),
        "critical",
        STALL,
    ),
]


def vmstat310(stalls: int, scanned: int) -> tuple[str, ...]:
    memory = "MemTotal:       32611904 kB\nMemFree:          210112 kB\nMemAvailable:     402112 kB\nSlab:   900000 kB"
    return tuple(
        files(
            {
                "/proc/vmstat": f"nr_free_pages 52528\npgscan_kswapd_normal {90_000 + look * 800_000}\n"
                f"pgscan_direct_normal {4_000 + look * scanned}\npgscan_direct_dma32 12\npgscan_direct_throttle 0\n"
                f"allocstall {881 + look * stalls}\npswpin 0\npswpout 0",
                "/proc/meminfo": memory,
            }
        )
        for look in (0, 1)
    )


def kswapd(scanned: int) -> Machine:
    """Let kswapd alone reclaim, with all of a core, and find hardly anything."""
    machine = small(memory_gib=8).memory(MemAvailable=64_000, MemFree=51_000).core(1, sys=99)
    machine.vmstat(pgscan_kswapd=(10, 10 + scanned), allocstall_normal=(3, 9), pgscan_direct=(100, 900))
    return machine.process("kswapd0", sys=440, core=1, pid=55, kernel=True, state="R")


MEMORY = [
    Asked(
        "every allocation reclaims for itself, as Linux 3.10 counts it",
        rhel7(memory_gib=31).instead("reclaim", "memory", *vmstat310(900, 700_000)),
        "degraded critical",
        RECLAIM,
    ),
    Asked("the same machine at rest", rhel7(memory_gib=31).instead("reclaim", "memory", *vmstat310(0, 0)), "healthy"),
    Asked("kswapd has a core for itself and less than a hundredth is left", kswapd(6_000_000), "degraded", RECLAIM),
]

GPUS = [
    # The open kernel modules print this line besides the Xid, which may be lost.
    Asked(
        "a GPU fell off the bus, and only the second line of it is left",
        gpu_node()
        .gpus(CARD, "0000:af:00.0", listed=("0000:af:00.0",))
        .log((50 * MINUTE, f"NVRM: GPU {CARD}: GPU has fallen off the bus.")),
        "critical",
        GPU,
        "cordon",
        says="power cycle",
    ),
    Asked(
        "the driver asks for a reboot of the system",
        gpu_node()
        .gpus(CARD, "0000:af:00.0", listed=("0000:af:00.0",))
        .log(
            (600, "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."),
            (599, "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (OS Reboot)"),
        ),
        "critical",
        GPU,
        "drain uncordon",
        needs="reboot",
    ),
    Asked(
        "no GPU comes up, and nvidia-smi finds none",
        gpu_node().gpus(
            CARD,
            "0000:af:00.0",
            smi="==> /gpus <==\nNo devices were found\nstatus 6\n==> /rows <==\n==> /actions <==\n-- end --\n",
        ),
        "critical",
        GPU,
        "cordon",
    ),
]

CARDS = [
    # drivers/net/vmxnet3/vmxnet3_drv.c, vmxnet3_tx_timeout.
    Asked(
        "a card of VMware hangs",
        rancher().log_every(12, 40, 9, "vmxnet3 0000:0b:00.0 ens192: tx hang"),
        "degraded critical",
        NIC,
    ),
    Asked(
        "a virtual machine's only queue is stuck",
        nano()
        .log_every(8, 6, 20, "virtio_net virtio0 eth0: NETDEV WATCHDOG: CPU: 0: transmit queue 0 timed out 5{n}12 ms")
        .log_every(
            7.9, 6, 20, "virtio_net virtio0 eth0: TX timeout on queue: 0, sq: output.0, vq: 0x1, name: output.0"
        ),
        "degraded critical",
        NIC,
    ),
]


def hangs() -> Machine:
    """Let docker's socket be there and its daemon answer nobody: `docker ps` ends at its own time limit."""
    machine = Machine(kubernetes=False).service("docker.service").essential("docker.service")
    return machine.instead("containers", "docker", None).instead(
        "containers", "cri", "-- absent --\n", "-- absent --\n"
    )


OTHERS = [
    Asked("docker answers nobody", hangs(), "unknown degraded critical", "- essential-unit-stopped"),
    Asked(
        "a day after its module failed, corrected errors by the hundred still come",
        rocky8(up=2 * HOUR).edac("mc1", 0, 9_100, 2 * HOUR),
        "degraded",
        "memory-errors",
    ),
    Asked(
        "a service mesh at its limit of connections, by the instance",
        Machine().nic(conntrack_allowance_exceeded=(88_000, 91_400), conntrack_allowance_available=(12, 0)),
        "degraded",
        "instance-allowance-exceeded",
    ),
    Asked(
        "a build host of 192 cores, one of whose runners is held back",
        Machine(cores=192, memory_gib=768, kubernetes=False).quota("/docker/4f1a", 50, 44, 9_100_000),
        "degraded",
        "cfs-throttling",
    ),
    Asked(
        "the network of an edge host failed, and it is here",
        guest(up=3 * DAY)
        .failed("systemd-networkd.service")
        .essential("systemd-networkd.service", changed_ago=2 * DAY, ActiveState="failed", SubState="failed"),
        "degraded",
        "essential-unit-stopped failed-units",
        "start",
    ),
]

MICROK8S = "snap.microk8s.daemon-kubelite.service"


def microk8s() -> Machine:
    machine = guest(up=12 * DAY)
    machine.facts.kubernetes = True
    machine.facts.health = ["000 7", "000 7"]
    return machine.essential(MICROK8S, changed_ago=3 * HOUR, ActiveState="inactive", SubState="dead")


UE = "EDAC MC1: 1 UE memory read error on CPU_SrcID#1_MC#0_Chan#0_DIMM#0 (channel:0 slot:0 page:0x91f2)"
STUCK = "watchdog: BUG: soft lockup - CPU#6 stuck for 26s! [mysqld:2201]"
TWO = [
    Asked("MicroK8s was stopped three hours ago", microk8s(), "critical", "essential-unit-stopped", needs="start"),
    Asked(
        "docker failed on a host of ECS tasks, and nothing else is wrong",
        Machine(kubernetes=False)
        .failed("docker.service")
        .essential("docker.service", changed_ago=900, ActiveState="failed", SubState="failed", Result="exit-code"),
        "critical",
        "essential-unit-stopped",
        needs="start",
    ),
    Asked(
        "a clock that is a quarter of an hour behind, and a certificate that has not begun by it",
        Machine()
        .clock(
            "chronyd", "Leap status     : Not synchronised", "System time     : 900.000000000 seconds slow of NTP time"
        )
        .certificate("/var/lib/kubelet/pki/kubelet-client-current.pem", 600, 365 * DAY),
        "degraded unknown",
        "- clock-unsynced",
    ),
    Asked(
        "memory that errs under a GPU that is gone",
        metal()
        .gpus(CARD, "0000:af:00.0", listed=("0000:af:00.0",))
        .edac("mc1", 1, 2, 60 * DAY)
        .log((500, UE), (400, "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.")),
        "critical",
        "memory-errors",
    ),
    Asked(
        "a core that is stuck over a disk that is stuck",
        database()
        .disk("nvme1n1", 31, 31)
        .waiting(12, "mysqld", "io_schedule")
        .log((420, STUCK), (210, STUCK), (12, STUCK)),
        "critical",
        f"{STALL} lockup",
    ),
    Asked(
        "the instance's limits and packets that drown it",
        Machine(cores=4)
        .core(1, soft=95)
        .core(2, soft=94)
        .packets(1, 900_000, 2_100, 500)
        .nic(pps_allowance_exceeded=(10, 61_000)),
        "critical",
        "softirq-storm",
    ),
    Asked(
        "the neighbours' table and the one of connections are full at once",
        metal()
        .table_fulls(40, 812)
        .conntrack(131_072, 131_072)
        .log((3, "nf_conntrack: nf_conntrack: table full, dropping packet")),
        "critical",
        "conntrack-full neighbour-overflow",
    ),
    Asked(
        "a full disk keeps the kubelet's runtime from starting",
        Machine()
        .room("/var/lib/containerd", 200, 0, device="/dev/nvme1n1")
        .loops("containerd.service", 40, 6)
        .essential("containerd.service", ActiveState="activating", SubState="auto-restart")
        .health("500 0", "500 0"),
        "critical",
        "disk-full",
    ),
    Asked(
        "one core of two is stolen, and a pod is held back by its quota",
        small().core(1, usr=40, steal=38).quota("/kubepods.slice/kubepods-podab.slice", 50, 46, 2_000_000),
        "degraded",
        "cpu-steal cfs-throttling",
    ),
    Asked(
        "a leak of an agent nobody needs, and a kubelet that is ill for another reason",
        Machine(kernel="5.4.0-1084-aws", v1=True, up=11 * DAY)
        .cgroups(250, 61_000, 61_001)
        .loops("trace-agent.service", 60_400, 15)
        .health("500 0", "500 0"),
        "critical",
        "essential-unit-stopped",
    ),
]
NODES = [*STORAGE, *MEMORY, *GPUS, *CARDS, *OTHERS, *TWO]


@pytest.mark.parametrize("asked", NODES, ids=lambda asked: str(asked.title))
def test_sickness_in_a_rare_form_is_told(asked: Asked) -> None:
    check(asked)
