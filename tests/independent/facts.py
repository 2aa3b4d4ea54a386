"""All that a machine's programs will print of it, as figures and rows; by default nothing is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

NOW = 1_795_263_246  # 2026-11-21 12:14:06 UTC
WINDOW = 5.0
MINUTE, HOUR, DAY = 60, 3600, 86400

Shares = dict[str, float]
Told = dict[str, object]


@dataclass
class Facts:
    """The state of one machine. Shape: a pair or a third figure `..._later` is what the second look sees."""

    kernel: str
    system: str
    cores: int
    up: float
    v1: bool
    kubernetes: bool
    maker: str
    product: str
    virt: str
    source: str
    sources: str
    driver: str
    systemd: str
    shares: list[list[Shares]]
    memory: dict[str, int]
    softnet: list[tuple[int, int, int]]
    health: list[str]
    certificates: dict[str, tuple[float, float, str]]
    queues: dict[int, int]
    irqs: dict[int, int]
    irqbalance: str = "yes"
    consoles: str = "tty0                 -WU (EC  p  )    4:1\nttyS0                -W- (E   p a)    4:64"
    log_level: int = 4
    log: list[tuple[float, str]] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)
    threads: list[str] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)
    units: dict[str, Told] = field(default_factory=dict)
    units_later: dict[str, Told] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    restarts: list[tuple[float, str]] = field(default_factory=list)
    essential: dict[str, Told] = field(default_factory=dict)
    essential_later: dict[str, Told] = field(default_factory=dict)
    agents: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    agent_files: str = ""
    boot_units: list[str] = field(default_factory=lambda: ["multi-user.target.wants/chronyd.service"])
    docker: list[list[str]] | None = None
    exits: list[str] = field(default_factory=list)
    cri: list[list[Told]] | None = None
    nic: dict[str, tuple[int, int]] = field(default_factory=dict)
    bonds: tuple[str, str] = ("", "")  # what the drivers of bonds and teams say, at both looks
    vm: dict[str, tuple[int, int]] = field(default_factory=dict)
    psi: dict[str, float] = field(default_factory=lambda: {"cpu some": 1.2})
    quotas: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    conntrack: tuple[int, int] | None = (3475, 262144)
    cgroups: tuple[int, int, int] = (240, 35, 35)
    below: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    clock: tuple[str, list[str]] = (
        "chronyd",
        ["Leap status     : Normal", "System time     : 0.000021133 seconds slow of NTP time"],
    )
    dns: list[tuple[str, str]] = field(default_factory=lambda: [("10.0.0.2", "NOERROR NXDOMAIN NXDOMAIN")])
    ebs: dict[str, tuple[dict[str, int], dict[str, int], int]] = field(default_factory=dict)
    mounts: list[str] = field(
        default_factory=lambda: ["nvme0n1p1 xfs rw,attr2,inode64,logbufs=8,logbsize=32k,noquota /"]
    )
    fstab: list[str] = field(default_factory=lambda: ["UUID=6a1e / xfs defaults,noatime 1 1"])
    rooms: list[tuple[str, int, int, int, int, str]] = field(
        default_factory=lambda: [("/dev/nvme0n1p1", 104_846_316, 61_873_356, 52_428_288, 51_900_000, "/")]
    )
    etc: list[str] = field(default_factory=lambda: ["xfs"])  # `stat -fc %T /etc`, and of an overlay's upper layer
    kubelet_config: list[str] = field(default_factory=list)
    gpus: list[str] = field(default_factory=list)
    smi: str | None = "no gpu\n"  # None: it never comes back
    threads_now: int = 1400
    pid_max: int = 4_194_304
    threads_max: int = 1_029_000
    open: int = 9000
    most_open: int = 9_223_372_036_854_775_807
    tasks: dict[str, tuple[int, str]] = field(default_factory=dict)
    table_fulls: tuple[int, int] = (0, 0)
    tcp: tuple[tuple[int, int, int], tuple[int, int, int]] = ((57, 0, 768_000), (61, 0, 768_000))
    heat: dict[int, tuple[tuple[int, int], tuple[int, int]]] | None = None  # of core and package, at both looks
    edac: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    corrupted: int = 0
    disks: dict[str, tuple[int, int, int, int]] = field(default_factory=lambda: {"nvme0n1": (0, 0, 210, 190)})
    arrays: dict[str, list[str]] = field(default_factory=dict)  # what the files of each array of md hold
    hung: tuple[int, int] | None = None
    without: set[str] = field(default_factory=set)
    instead: dict[tuple[str, str], tuple[str | None, ...]] = field(
        default_factory=dict
    )  # whole answers, by probe and command
