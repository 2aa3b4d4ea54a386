"""The state of a simulated node, as values. Every answer is computed from it for the moment of the question."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.demo.machine.load import Load

DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant on a node. Units: seconds since boot, and the wall clock."""

    uptime: float
    at: datetime

    def wall(self, uptime: float) -> datetime:
        """Return the wall-clock time of another moment since boot."""
        return self.at + timedelta(seconds=uptime - self.uptime)


@dataclass(frozen=True, slots=True)
class System:
    """Kernel, distribution and tools."""

    kernel: str
    build: str  # `uname -v`
    os_id: str
    os_version: str
    pretty: str
    systemd: int
    sysstat: str  # empty: not installed, or without JSON
    cgroups: str  # "v1" or "v2"
    product: str = "m5.2xlarge"

    @property
    def kernel_version(self) -> tuple[int, ...]:
        """Major and minor."""
        return tuple(map(int, self.kernel.split(".")[:2]))


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
    program: str = ""  # of its main process; empty: as its name
    wanted_by: tuple[str, ...] = ("multi-user.target",)
    part_of: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    binds_to: tuple[str, ...] = ()
    stops_with: tuple[str, ...] = ()  # StopPropagatedFrom=
    triggered_by: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    also: tuple[str, ...] = ()  # Also= of its [Install]

    @property
    def names(self) -> tuple[str, ...]:
        """Its name and its aliases."""
        return (self.name, *self.aliases)


@dataclass(frozen=True, slots=True)
class Container:
    """A container that runs since an uptime."""

    image: str
    name: str
    created: float = 60.0


@dataclass(frozen=True, slots=True)
class Agent:
    """The Amazon ECS agent outside any cluster: its container runs, ends with an error, and is started again."""

    loop: Loop
    exit_status: int


@dataclass(frozen=True, slots=True)
class Resets:
    """Resets of a network device because of a starved queue: the first at `first`, then every `every`."""

    queue: int
    first: float
    every: float

    def times(self, uptime: float) -> tuple[float, ...]:
        """Return the uptimes of all resets so far."""
        return tuple(self.first + number * self.every for number in range(int((uptime - self.first) // self.every) + 1))


@dataclass(frozen=True, slots=True)
class Nic:
    """An Elastic Network Adapter, eth0. `counters` are values at boot, `rates` their rise per second."""

    version: str = "2.11.0g"
    bus: str = "0000:00:05.0"
    queues: int = 8
    counters: Mapping[str, int] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    resets: Resets | None = None
    packets: float = 20_000.0  # a second, received
    irq_cores: tuple[int, ...] = ()  # core of each queue; empty: queue N on core N
    irqbalance: bool = True
    squeezed: float = 0.0  # a second, on each busy core

    def core_of(self, queue: int, cores: int) -> int:
        """Return the core that serves a queue; the management interrupt, queue -1, is served by core 0."""
        of_queues = self.irq_cores or range(cores)
        return of_queues[queue % len(of_queues)] if queue >= 0 else 0

    def reset_times(self, uptime: float) -> tuple[float, ...]:
        """Return the uptimes of its resets so far."""
        return self.resets.times(uptime) if self.resets else ()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the kernel log. With `every` it repeats from `at` on."""

    at: float
    text: str
    level: int = 6
    every: float = 0.0


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
    ppid: int = 1
    kernel: bool = False
    since: float = 15.0


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory. Units: KiB; `pressure` is percent of time."""

    total: int = 32_000_000
    available: int = 20_000_000
    percpu: int = 20_000
    unreclaimable: int = 300_000
    pressure: Mapping[str, float] | None = None  # None: a kernel without PSI


@dataclass(frozen=True, slots=True)
class Quota:
    """A cgroup with a CPU quota: how many periods a second were throttled, for how long."""

    path: str
    throttled: float = 0.0
    throttled_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Disk:
    """A file system on a block device, mounted at `point`."""

    point: str = "/"
    device: str = "nvme0n1p1"
    stuck: bool = False  # holds requests and completes none


@dataclass(frozen=True, slots=True)
class Gpu:
    """An NVIDIA GPU on the bus; a GPU that is not `there` for nvidia-smi has fallen off. `pids` use it."""

    bus: str
    there: bool = True
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
    docker: tuple[Container, ...] | None = None  # None: not installed
    cri: tuple[Container, ...] | None = None  # the same of the Kubernetes runtime
    agent: Agent | None = None
    nics: tuple[Nic, ...] = (Nic(),)
    log: tuple[Line, ...] = ()
    processes: tuple[Process, ...] = ()
    memory: Memory = Memory()
    quotas: tuple[Quota, ...] = ()
    conntrack: tuple[int, int] = (3_400, 262_144)
    gpus: tuple[Gpu, ...] = ()
    disks: tuple[Disk, ...] = (Disk(),)
    sudo: bool = True
    generation: int = 0  # the number of boots; each has its own boot_id
    perf: bool = True  # installed, for this kernel
    # What a held core runs in the kernel, innermost first; empty: a plain system call.
    kernel_path: tuple[str, ...] = ()

    def unit(self, name: str) -> Unit | None:
        """Return the unit of that name or alias."""
        return next((unit for unit in self.units if name in unit.names), None)

    def identity(self, of: str) -> uuid.UUID:
        """Return a stable identifier of this node."""
        return uuid.UUID(bytes=hashlib.sha256(f"{self.name} {of}".encode()).digest()[:16], version=4)

    @property
    def boot_id(self) -> str:
        """The identifier of this boot."""
        return str(self.identity(f"boot {self.generation}"))
