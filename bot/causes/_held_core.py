"""A core that the kernel did not give back for seconds, and the process that worked in the kernel on it."""

from __future__ import annotations

from dataclasses import dataclass

from bot.causes._figures import percent
from bot.domain.probe import Snapshot, Unread
from bot.domain.readings.cpu import CpuReading, HeldCore
from bot.domain.readings.processes import ProcessesReading, ProcessUse

# Programs that read every cgroup's statistics again and again, by comm (15 characters at most).
STATISTICS_WALKERS = (
    "kubelet", "kubelite", "k3s-server", "k3s-agent", "cadvisor", "dockerd", "containerd", "containerd-shim", "crio",
    "systemd-oomd", "systemd-cgtop", "node_exporter", "telegraf",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hold:
    """The cores held in the kernel, and the statistics walker that held one of them.

    Shape: `core` and `walker` are set together. `unread` is what would have told more; `short_window`: the window held
    fewer seconds than were asked for.
    """

    cores: tuple[HeldCore, ...]
    core: HeldCore | None = None
    walker: ProcessUse | None = None
    others: tuple[ProcessUse, ...] = ()  # what else burned kernel time
    unread: tuple[Unread, ...] = ()
    short_window: bool = False

    @property
    def source(self) -> tuple[str, ...]:
        """The node's rows: the core's seconds, then the walker."""
        core = self.core or (self.cores[0] if self.cores else None)
        rows = tuple(row for row in core.raw if row)[:3] if core else ()
        return (*rows, *((self.walker.raw,) if self.walker and self.walker.raw else ()))

    @property
    def says(self) -> str:
        """What was seen, in words."""
        if self.core is not None and self.walker is not None:
            once = ", all of a short window" if self.short_window else ""
            return (
                f"core {self.core.core} spent {percent(self.core.mean_percent)} of {self.core.seconds} s in the kernel"
                f"{once}; {self.walker.name} (pid {self.walker.pid}) worked there, "
                f"{self.walker.sys_seconds:.1f} s of kernel time in all"
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


def hold(snapshot: Snapshot, at_least_percent: float, for_seconds: float, walker_cores: float) -> Hold:
    """Return which cores were held in the kernel, and by which statistics walker, in the same window.

    The walker must have used `walker_cores` of kernel time, and one of its threads must have worked on the held core;
    where threads could not be read, it must have been the first in kernel time and have used most of a core.
    """
    cpu, processes = snapshot.get(CpuReading), snapshot.get(ProcessesReading)
    unread = tuple(reading for reading in (cpu, processes) if isinstance(reading, Unread))
    if isinstance(cpu, Unread):
        return Hold((), unread=unread)
    # A window of a second or two must be able to see it too, and says that it was short.
    needed = max(1, min(round(for_seconds), len(cpu.seconds)))
    cores = cpu.held("sys_percent", at_least_percent, needed)
    short = needed < for_seconds
    if not cores or isinstance(processes, Unread):
        return Hold(cores, unread=unread, short_window=short)
    busy = sorted((p for p in processes.busiest if p.sys_seconds > 0), key=lambda p: -p.sys_seconds)
    for walker in busy:
        share = walker.sys_seconds / processes.seconds if processes.seconds > 0 else 0.0
        if walker.name not in STATISTICS_WALKERS or share < walker_cores:
            continue
        for core in cores:
            if core.core in walker.cores_in_kernel:
                return Hold(cores, core, walker, short_window=short)
        if not walker.threads and walker is busy[0] and share >= 0.8:
            return Hold(cores, cores[0], walker, short_window=short)
    return Hold(cores, others=tuple(busy[:3]), short_window=short)
