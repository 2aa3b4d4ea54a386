"""The rest of the fleet: other faults with similar symptoms, and healthy nodes."""

from __future__ import annotations

from dataclasses import replace

from bot.demo.images import (
    AMAZON_2023,
    CONTAINERD,
    DEBIAN_12,
    DOCKER,
    KUBELET,
    UBUNTU_22,
    UBUNTU_24,
    kubelet,
    usual_units,
)
from bot.demo.machine.load import Load, Shares
from bot.demo.machine.state import (
    DAY,
    Cgroups,
    Container,
    Disk,
    Gpu,
    Line,
    Loop,
    Memory,
    Nic,
    Process,
    Quota,
    State,
    Thread,
    Unit,
)

_QUIET_PRESSURE = {"cpu some": 0.4, "memory some": 0.0, "io some": 0.1}


def _pods(*names: str) -> tuple[Container, ...]:
    return tuple(
        Container(f"registry.example/{name}:1.4", f"prod/{name}-7d9f-{at:04x}", created=90.0 + at)
        for at, name in enumerate(names)
    )


BUSY = State(
    name="train-gpu-1a-0102",
    system=replace(UBUNTU_22, product="p4d.24xlarge"),
    load=Load(96, Shares(usr=95.0, sys=2.2, soft=0.3)),
    uptime=3.4 * DAY,
    cgroups=Cgroups(alive=188, dying=41),
    units=usual_units(UBUNTU_22, CONTAINERD, KUBELET),
    cri=_pods("trainer", "dcgm-exporter", "aws-node", "kube-proxy"),
    nics=(Nic(version="2.13.0g", queues=32, packets=340_000.0, bus="0000:20:03.0"),),
    processes=(
        *(
            Process(
                30_000 + 40 * core,
                "python3",
                (Thread(core, 94.0, 1.6),),
                ppid=29_900,
                since=4_000.0,
            )
            for core in range(96)
        ),
        kubelet(),
    ),
    memory=Memory(
        total=1_176_000_000,
        available=106_000_000,
        percpu=190_000,
        unreclaimable=3_100_000,
        pressure={"cpu some": 6.1, "memory some": 0.0, "io some": 0.2},
    ),
    conntrack=(8_100, 2_097_152),
)

_LOST = "0000:90:1c.0"
GPU_LOST = replace(
    BUSY,
    name="train-gpu-1b-0116",
    load=Load(96, Shares(usr=3.0, sys=0.6)),
    processes=(kubelet(),),
    uptime=12.6 * DAY,
    gpus=tuple(
        Gpu(bus, there=bus != _LOST)
        for bus in ("0000:10:1c.0", "0000:10:1d.0", "0000:20:1c.0", "0000:20:1d.0", _LOST, "0000:90:1d.0")
    ),
    log=(
        Line(12.6 * DAY - 1_261.0, f"NVRM: GPU at PCI:{_LOST}: GPU-6ae0bd45-1c2b-4a3e-9f0f-3b1b7a1d6a10", 5),
        Line(
            12.6 * DAY - 1_260.9,
            f"NVRM: Xid (PCI:{_LOST[:-2]}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
            3,
        ),
        Line(12.6 * DAY - 1_260.8, f"NVRM: GPU {_LOST}: GPU has fallen off the bus.", 3),
        Line(
            12.6 * DAY - 1_260.7,
            f"NVRM: Xid (PCI:{_LOST[:-2]}): 154, GPU recovery action changed from 0x0 (None) to "
            "0x2 (Node Reboot Required)",
            3,
        ),
    ),
)

ALLOWANCE = State(
    name="ingest-1c-0011",
    system=replace(AMAZON_2023, product="c5n.large"),
    load=Load(2, Shares(usr=31.0, sys=14.0, soft=11.0)),
    uptime=19.2 * DAY,
    units=usual_units(AMAZON_2023, CONTAINERD),
    nics=(
        Nic(
            version="2.13.2g",
            queues=2,
            packets=180_000.0,
            counters={"conntrack_allowance_available": 136_812},
            rates={"bw_out_allowance_exceeded": 412.0, "pps_allowance_exceeded": 96.0},
        ),
    ),
    memory=Memory(total=5_400_000, available=3_900_000, pressure=_QUIET_PRESSURE),
)

IRQ_AFFINITY = State(
    name="edge-1b-0003",
    system=replace(UBUNTU_22, product="c5.4xlarge"),
    load=Load(16, Shares(usr=14.0, sys=3.0), own={0: Shares(usr=0.6, sys=1.9, irq=3.0, soft=94.2)}),
    uptime=6.6 * DAY,
    units=usual_units(UBUNTU_22, CONTAINERD, irqbalance=False),
    nics=(Nic(version="2.13.0g", queues=8, packets=410_000.0, irq_cores=(0,), irqbalance=False, squeezed=340.0),),
    processes=(Process(10, "ksoftirqd/0", (Thread(0, 0.0, 58.0),), ppid=2, kernel=True, since=0.0),),
    memory=Memory(pressure=_QUIET_PRESSURE),
)

BACKUP_FAILED = State(
    name="db-backup-1a-0008",
    system=replace(DEBIAN_12, product="r5.xlarge"),
    load=Load(4, Shares(usr=5.0, sys=1.2, iowait=0.8)),
    uptime=41.0 * DAY,
    units=usual_units(
        DEBIAN_12,
        Unit(
            "restic-backup.service",
            "Nightly backup to the archive",
            "static",
            "failed",
            "failed",
            type="oneshot",
            exit_status=1,
            since=40.2 * DAY,
            ran=31.0,
            wanted_by=(),
            triggered_by=("restic-backup.timer",),
            program="restic",
        ),
        Unit(
            "postgresql@15-main.service",
            "PostgreSQL Cluster 15-main",
            "enabled-runtime",
            pid=1402,
            type="forking",
            program="postgres",
        ),
    ),
    nics=(Nic(version="6.1.0-28-cloud-amd64", queues=4, packets=4_200.0),),
    memory=Memory(pressure=_QUIET_PRESSURE),
)

QUIET_ZOMBIES = State(
    name="quiet-1a-0061",
    system=replace(AMAZON_2023, product="m6i.4xlarge"),
    load=Load(16, Shares(usr=4.0, sys=0.8)),
    uptime=52.0 * DAY,
    cgroups=Cgroups(alive=164, dying=70_012),
    units=usual_units(AMAZON_2023, CONTAINERD, KUBELET),
    cri=_pods("web", "sidecar", "kube-proxy"),
    nics=(Nic(version="2.13.2g"),),
    processes=(kubelet(),),
    memory=Memory(
        total=64_000_000, available=49_000_000, percpu=2_200_000, unreclaimable=1_400_000, pressure=_QUIET_PRESSURE
    ),
)

_SHIPPER_LOOP = Loop(runs=0.45, rests=0.1, since=1_900.0)
FAST_LEAK = State(
    name="ci-runner-1b-0019",
    system=replace(UBUNTU_24, product="m6i.2xlarge"),
    load=Load(8, Shares(usr=22.0, sys=7.0)),
    uptime=2.6 * 3600,
    cgroups=Cgroups(alive=143, dying=26, every=_SHIPPER_LOOP.turn, since=_SHIPPER_LOOP.since),
    units=usual_units(
        UBUNTU_24,
        DOCKER,
        Unit(
            "metrics-shipper.service",
            "Ships metrics to the collector",
            restart="always",
            restart_usec=100_000,
            exit_status=1,
            loop=_SHIPPER_LOOP,
            pid=61_240,
            program="shipper",
        ),
    ),
    docker=(Container("actions/runner:2.321", "runner-19"),),
    nics=(Nic(version="2.13.0g"),),
    memory=Memory(pressure={"cpu some": 2.1, "memory some": 0.0, "io some": 0.3}),
)

STEAL = State(
    name="bastion-1a-01",
    system=replace(DEBIAN_12, product="t3.medium", sysstat=""),  # no mpstat: read from /proc/stat
    load=Load(2, Shares(usr=18.0, sys=5.0, steal=61.0)),
    uptime=88.0 * DAY,
    units=usual_units(DEBIAN_12),
    nics=(Nic(version="6.1.0-28-cloud-amd64", queues=2, packets=900.0),),
    memory=Memory(
        total=3_900_000, available=2_600_000, pressure={"cpu some": 44.0, "memory some": 0.0, "io some": 0.2}
    ),
)

CONNTRACK_FULL = State(
    name="nat-1c-0031",
    system=replace(UBUNTU_22, product="c5.xlarge"),
    load=Load(4, Shares(usr=2.0, sys=4.0, soft=21.0)),
    uptime=12.0 * DAY,
    units=usual_units(UBUNTU_22),
    nics=(Nic(version="2.13.0g", queues=4, packets=96_000.0),),
    log=(Line(1_030_000.0, "nf_conntrack: nf_conntrack: table full, dropping packet", 4, every=5.2),),
    memory=Memory(pressure=_QUIET_PRESSURE),
    conntrack=(262_040, 262_144),
)

_DISK = "nvme1n1"
IO_STALL = State(
    name="kafka-1a-0007",
    system=replace(AMAZON_2023, product="m5.2xlarge"),
    load=Load(8, Shares(usr=6.0, sys=2.0, iowait=61.0)),
    uptime=23.0 * DAY,
    units=usual_units(AMAZON_2023, Unit("kafka.service", "Kafka", pid=3120, program="java")),
    nics=(Nic(version="2.13.2g"),),
    log=(
        Line(23.0 * DAY - 1_400.0, f"nvme nvme1: I/O 214 ({_DISK}) QID 3 timeout, aborting", 4, every=130.0),
        Line(23.0 * DAY - 900.0, "INFO: task kafka-log-clean:3377 blocked for more than 122 seconds.", 3, every=122.0),
    ),
    processes=(
        Process(3120, "java", (Thread(1, 31.0, 6.0),), "S"),
        Process(3377, "kafka-log-clean", (Thread(3),), "D"),
        Process(3378, "kafka-request-h", (Thread(4),), "D"),
    ),
    memory=Memory(pressure={"cpu some": 1.2, "memory some": 0.0, "io some": 78.0, "io full": 64.0}),
    disks=(Disk(), Disk("/var/lib/kafka", "nvme1n1", stuck=True)),
)

THROTTLED = State(
    name="api-1c-0150",
    system=replace(UBUNTU_22, product="m5.4xlarge"),
    load=Load(16, Shares(usr=19.0, sys=4.0)),
    uptime=9.0 * DAY,
    units=usual_units(UBUNTU_22, CONTAINERD, KUBELET),
    cri=_pods("checkout", "cart", "kube-proxy"),
    nics=(Nic(version="2.13.0g"),),
    processes=(kubelet(),),
    memory=Memory(pressure=_QUIET_PRESSURE),
    quotas=(
        Quota(
            "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podc1ec0a7.slice",
            throttled=8.7,
            throttled_seconds=0.61,
        ),
        Quota("kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod77ac001.slice"),
    ),
)

KUBELET_STOPPED = State(
    name="web-1c-0077",
    system=replace(UBUNTU_22, product="m6i.4xlarge"),
    load=Load(16, Shares(usr=3.0, sys=0.7)),
    uptime=17.3 * DAY,
    units=usual_units(
        UBUNTU_22,
        CONTAINERD,
        replace(KUBELET, active="inactive", sub="dead", pid=0, since=17.3 * DAY - 2_520.0),
    ),
    cri=_pods("web", "sidecar", "kube-proxy"),
    nics=(Nic(version="2.13.0g"),),
    memory=Memory(pressure=_QUIET_PRESSURE),
)

# These two cannot be read: fleet.py breaks their connections.
SILENT = replace(QUIET_ZOMBIES, name="ray-gpu-1c-0290", cgroups=Cgroups(alive=200, dying=20))
REBUILT = replace(BACKUP_FAILED, name="web-1b-0044", units=usual_units(DEBIAN_12))
