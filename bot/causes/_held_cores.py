"""Cores that stayed in the kernel for seconds, and the process that worked in the kernel there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.causes._figures import percent
from bot.domain.probe import Snapshot, Unread
from bot.probes.cpu import CpuReading, HeldCore
from bot.probes.processes import ProcessesReading, ProcessUse

# Programs that keep reading every cgroup's statistics, by comm (15 characters at most).
STATISTICS_WALKERS = (
    "kubelet",
    "kubelite",
    "k3s-server",
    "k3s-agent",
    "cadvisor",
    "dockerd",
    "containerd",
    "containerd-shim",
    "crio",
    "systemd-oomd",
    "systemd-cgtop",
    "node_exporter",
    "telegraf",
    "nomad",  # by runc's library, as the kubelet
    "amazon-cloudwat",  # CloudWatch's agent, by cAdvisor
)


@dataclass(frozen=True, slots=True)
class HeldCores:
    """The cores held in the kernel, and the statistics walker that held a core.

    Shape: `core` and `walker` are set together; `by_elimination` if no thread of the walker was seen on that core.
    `unread` is what would have told more; `short_window`: the window was shorter than requested.
    """

    cores: tuple[HeldCore, ...]
    core: HeldCore | None = None
    walker: ProcessUse | None = None
    others: tuple[ProcessUse, ...] = ()  # other processes that used kernel time
    unread: tuple[Unread, ...] = ()
    by_elimination: bool = False
    short_window: bool = False

    @property
    def source(self) -> tuple[str, ...]:
        """The node's rows: the core's seconds, then the walker."""
        core = self.core or (self.cores[0] if self.cores else None)
        rows = tuple(row for row in core.raw if row)[:3] if core else ()
        return (*rows, *((self.walker.raw,) if self.walker and self.walker.raw else ()))

    @property
    def says(self) -> str:
        """Describe what was seen."""
        if self.core is not None and self.walker is not None:
            once = ", all of a short window" if self.short_window else ""
            did = "alone used that much kernel time" if self.by_elimination else "worked there in the kernel"
            return (
                f"core {self.core.core} spent {percent(self.core.mean_percent)} of {self.core.seconds} s in the kernel"
                f"{once}; {self.walker.name} (pid {self.walker.pid}) {did}, {self.walker.sys_seconds:.1f} s in all"
            )
        if not self.cores:
            return "no core was held in the kernel"
        core = self.cores[0]
        by = ", ".join(process.name for process in self.others[:2])
        return (
            f"core {core.core} spent {percent(core.mean_percent)} of {core.seconds} s in the kernel"
            + (f"; most kernel time went to {by}" if by else "")
            + (f"; who held it was not read ({self.unread[-1].reason})" if self.unread else "")
        )


def held_cores(snapshot: Snapshot, at_least_percent: float, for_seconds: float, walker_share: float) -> HeldCores:
    """Return which cores were held in the kernel, and by which statistics walker, in the same window.

    The walker must have used `walker_share` of the core's kernel time, and a thread of it must have worked there.
    Threads are sampled only for a moment; if none was seen there, the walker must be the only process that used as much
    kernel time as the held core.
    """
    cpu, processes = snapshot.get(CpuReading), snapshot.get(ProcessesReading)
    unread = tuple(reading for reading in (cpu, processes) if isinstance(reading, Unread))
    if isinstance(cpu, Unread):
        return HeldCores((), unread=unread)
    cores = cpu.held("sys_percent", at_least_percent, for_seconds)
    short = len(cpu.seconds) < for_seconds  # the sentence says so
    if not cores or isinstance(processes, Unread):
        return HeldCores(cores, unread=unread, short_window=short)
    busy = sorted((p for p in processes.busiest if p.sys_seconds > 0), key=lambda p: -p.sys_seconds)
    for walker in busy:
        if walker.name not in STATISTICS_WALKERS:
            continue
        for core in cores:
            if core.core in walker.cores_in_kernel and walker.sys_seconds >= walker_share * _core_seconds(core):
                return HeldCores(cores, core, walker, short_window=short)
        if walker is busy[0] and _alone_can_have(walker, busy, cores[0]):
            return HeldCores(cores, cores[0], walker, by_elimination=True, short_window=short)
    return HeldCores(cores, others=tuple(busy[:3]), short_window=short)


def held_in_realtime(
    snapshot: Snapshot, at_least_percent: float, for_seconds: float, share: float
) -> tuple[tuple[HeldCore, tuple[ProcessUse, ...]], ...]:
    """Return the cores that realtime programs hold in their own code, with those that had this part of its time.

    Nothing else runs there meanwhile, ksoftirqd neither; for a program that is none soft interrupts do not wait.
    """
    cpu, processes = snapshot.get(CpuReading), snapshot.get(ProcessesReading)
    if isinstance(cpu, Unread) or isinstance(processes, Unread):
        return ()
    first = [process for process in processes.busiest if process.realtime]
    held = cpu.held("usr_percent", at_least_percent, for_seconds)
    there = ((core, [p for p in first if core.core in p.cores_in_user_code]) for core in held)
    enough = ((core, tuple(p for p in by if p.usr_seconds >= share * _core_seconds(core))) for core, by in there)
    return tuple((core, by) for core, by in enough if by)


def held_in_kernel_by(snapshot: Snapshot, core: HeldCore, share: float) -> tuple[ProcessUse, ...]:
    """Return who worked in the kernel on that core and used this part of its time."""
    processes = snapshot.get(ProcessesReading)
    busiest = () if isinstance(processes, Unread) else processes.busiest
    there = (process for process in busiest if core.core in process.cores_in_kernel)
    return tuple(process for process in there if process.sys_seconds >= share * _core_seconds(core))


def _alone_can_have(walker: ProcessUse, busy: Sequence[ProcessUse], core: HeldCore) -> bool:
    spent = _core_seconds(core)
    others = (process for process in busy if process is not walker)
    return walker.sys_seconds >= 0.8 * spent and all(other.sys_seconds < 0.5 * spent for other in others)


def _core_seconds(core: HeldCore) -> float:
    return core.seconds * core.mean_percent / 100
