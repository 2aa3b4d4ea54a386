"""The state of a simulated node, as values. Every answer is computed from it for the moment of the question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias

from bot.demo.machine.load import Load

DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant on a node. Units: seconds since boot, and the wall clock."""

    uptime: float
    at: datetime

    @property
    def booted_at(self) -> datetime:
        """When the node booted."""
        return self.at - timedelta(seconds=self.uptime)

    def wall(self, uptime: float) -> datetime:
        """Return the wall-clock time of another moment since boot."""
        return self.booted_at + timedelta(seconds=uptime)


Content: TypeAlias = str | Callable[[Moment], str]  # a file's content: fixed, or computed when it is read


@dataclass(frozen=True, slots=True)
class System:
    """Kernel, distribution and tools. An empty version means that the tool is not installed."""

    kernel: str
    build: str  # `uname -v`
    os_id: str
    os_version: str
    pretty: str
    systemd: int
    sysstat: str
    cgroups: str  # "v1", "v2" or "hybrid": v1 with an empty unified tree beside it
    product: str = "m5.2xlarge"
    clocksource: str = "tsc"

    @property
    def kernel_version(self) -> tuple[int, int]:
        """Major and minor."""
        major, minor = self.kernel.split(".")[:2]
        return int(major), int(minor)


@dataclass(frozen=True, slots=True)
class Cgroups:
    """Memory cgroups: how many are alive, how many were dying at `since`, and another every `every` seconds."""

    alive: int
    dying: int  # at `since`
    every: float = 0.0  # 0: no leak
    since: float = 0.0
    until: float = float("inf")

    def dying_at(self, uptime: float) -> int:
        """Return how many are dying at a moment."""
        leaked = (min(uptime, self.until) - self.since) / self.every if self.every and uptime > self.since else 0.0
        return self.dying + int(leaked)


@dataclass(frozen=True, slots=True)
class Loop:
    """Something that runs, ends, waits and starts again. `since` and `until` are uptimes."""

    runs: float
    rests: float
    since: float = 20.0
    until: float = float("inf")

    @property
    def turn(self) -> float:
        """Seconds from a start to the next."""
        return self.runs + self.rests

    def at(self, uptime: float) -> tuple[int, bool, float]:
        """Return the number of restarts, whether it runs, and when its newest run began."""
        turns = int(max(0.0, min(uptime, self.until) - self.since) // self.turn)
        began = self.since + turns * self.turn
        return turns, uptime < began + self.runs and uptime < self.until, began

    def ended(self, uptime: float) -> int:
        """Return how many of its runs have ended."""
        turns, runs, _ = self.at(uptime)
        return turns if runs else turns + 1


@dataclass(frozen=True, slots=True)
class Unit:
    """A systemd unit. With a `loop` systemd keeps restarting it; a `failed` unit keeps its last exit status."""

    name: str
    description: str = ""
    enabled: str = "enabled"
    active: str = "active"  # "active", "failed" or "inactive"
    sub: str = "running"
    type: str = "simple"
    restart: str = "no"
    restart_usec: int = 100_000
    exit_status: int = 0
    loop: Loop | None = None
    since: float = 12.0  # uptime at which it entered its state
    ran: float = 4.0  # seconds that its last run took
    pid: int = 0
    command: str = ""
    wanted_by: tuple[str, ...] = ("multi-user.target",)
    part_of: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    binds_to: tuple[str, ...] = ()
    stops_with: tuple[str, ...] = ()  # StopPropagatedFrom=
    triggered_by: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    also: tuple[str, ...] = ()  # Also= of its [Install]
    fragment: str = ""
    log: tuple[str, ...] = ()  # its journal lines in each run


@dataclass(frozen=True, slots=True)
class Container:
    """A container. With a `loop` every run has a new id."""

    image: str
    name: str
    created: float = 60.0  # uptime
    loop: Loop | None = None
    exit_status: int = 0
    keeps: int = 1  # how many runs of a loop the runtime lists


@dataclass(frozen=True, slots=True)
class Runtime:
    """The containers of docker and of the Kubernetes runtime. None: not installed."""

    docker: tuple[Container, ...] | None = None
    cri: tuple[Container, ...] | None = None


@dataclass(frozen=True, slots=True)
class Resets:
    """Resets of a network device because of a starved queue: the first at `first`, then every `every`, until `last`."""

    queue: int
    first: float
    every: float
    last: float = float("inf")

    def times(self, uptime: float) -> tuple[float, ...]:
        """Return the uptimes of all resets so far."""
        end = min(uptime, self.last)
        count = int((end - self.first) // self.every) + 1 if end >= self.first else 0
        return tuple(self.first + number * self.every for number in range(count))


@dataclass(frozen=True, slots=True)
class Nic:
    """A network interface. `counters` are values at boot, `rates` their rise per second."""

    name: str = "eth0"
    driver: str = "ena"
    version: str = "2.11.0g"
    bus: str = "0000:00:05.0"
    queues: int = 8
    counters: Mapping[str, int] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    resets: Resets | None = None
    packets: float = 20_000.0  # a second, received
    irq_cores: tuple[int, ...] = ()  # core of each queue; empty: queue N on core N
    irqbalance: bool = True
    dropped: float = 0.0  # packets a second that found a core's backlog full
    squeezed: float = 0.0  # a second, on each busy core

    def core_of(self, queue: int, cores: int) -> int:
        """Return the core that serves a queue."""
        return self.irq_cores[queue % len(self.irq_cores)] if self.irq_cores else queue % cores


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the kernel log. With `every` it repeats from `at` until `last`."""

    at: float
    text: str
    level: int = 6
    every: float = 0.0
    last: float = float("inf")


@dataclass(frozen=True, slots=True)
class Thread:
    """A busy thread. Units: percent of a core."""

    core: int
    usr: float = 0.0
    sys: float = 0.0


@dataclass(frozen=True, slots=True)
class Process:
    """A process. Its CPU use is the sum of its threads'; threads that are not named sleep."""

    pid: int
    comm: str
    threads: tuple[Thread, ...] = (Thread(0),)
    state: str = "S"
    command: str = ""
    ppid: int = 1
    policy: int = 0  # 1: SCHED_FIFO
    kernel: bool = False
    rss_kib: int = 20_000
    since: float = 15.0
    group: str = "/system.slice"


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory. Units: KiB; `rates` are of /proc/vmstat, per second; `pressure` is percent of time, None without PSI."""

    total: int = 32_000_000
    available: int = 20_000_000
    percpu: int = 20_000
    unreclaimable: int = 300_000
    rates: Mapping[str, float] = field(default_factory=dict)
    pressure: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Quota:
    """A cgroup with a CPU quota: periods per second, and how many were throttled for how long."""

    path: str
    periods: float = 10.0
    throttled: float = 0.0
    throttled_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Disk:
    """A file system on a block device, mounted at `point`. Units: KiB."""

    point: str = "/"
    device: str = "nvme0n1p1"
    options: str = "rw,relatime"
    kib: int = 104_000_000
    free: int = 61_000_000
    inodes: int = 13_107_200
    free_inodes: int = 12_400_000
    stuck: bool = False  # holds requests and completes none


@dataclass(frozen=True, slots=True)
class Gpu:
    """An NVIDIA GPU on the bus; a GPU that is not `there` for nvidia-smi has fallen off. `pids` use it."""

    bus: str
    there: bool = True
    remap_pending: bool = False
    recovery: str = "None"
    pids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """Everything about a simulated node."""

    name: str
    system: System
    load: Load
    uptime: float = 11.3 * DAY  # when the simulation begins
    cgroups: Cgroups = Cgroups(alive=120, dying=31)
    units: tuple[Unit, ...] = ()
    runtime: Runtime = Runtime()
    nics: tuple[Nic, ...] = (Nic(),)
    log: tuple[Line, ...] = ()
    processes: tuple[Process, ...] = ()
    memory: Memory = Memory()
    quotas: tuple[Quota, ...] = ()
    conntrack: tuple[int, int] | None = (3_400, 262_144)
    gpus: tuple[Gpu, ...] = ()
    disks: tuple[Disk, ...] = (Disk(),)
    files: Mapping[str, Content] = field(default_factory=dict)  # further files: configuration and logs of agents
    reads_journal: bool = True
    sudo: bool = True
    generation: int = 0  # the number of boots; each has its own boot_id
    perf: bool = True  # installed, for this kernel
    # What a held core runs in the kernel, innermost first; empty: a plain system call.
    kernel_path: tuple[str, ...] = ()
