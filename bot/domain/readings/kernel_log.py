"""What the kernel said that matters, with times."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar


class KernelEventKind(enum.StrEnum):
    """What a line of the kernel log is about."""

    NIC_STARVED = "nic-starved"  # the driver says that its poll was scheduled and did not run
    NIC_STALLED = "nic-stalled"  # queue or completion time-out that does not say starved
    NIC_KEEPALIVE = "nic-keepalive"
    NIC_ADMIN = "nic-admin"
    NIC_INTERRUPT = "nic-interrupt"  # interrupt that never came
    NIC_RESET = "nic-reset"
    NIC_RESET_FAILED = "nic-reset-failed"
    NIC_DEVICE_ERROR = "nic-device-error"  # invalid ids, malformed descriptors, failed restore
    NIC_REFILL = "nic-refill"  # receive ring could not be refilled: too little memory
    NETDEV_WATCHDOG = "netdev-watchdog"
    SOFT_LOCKUP = "soft-lockup"
    HARD_LOCKUP = "hard-lockup"
    RCU_STALL = "rcu-stall"
    STACK_MEMCG_WALK = "stack-memcg-walk"  # a call trace that names the memory cgroup statistics walk
    HUNG_TASK = "hung-task"
    OOM_KILL = "oom-kill"
    CONNTRACK_FULL = "conntrack-full"
    DISK_ERROR = "disk-error"  # I/O errors, NVMe time-outs, aborted journals
    CGROUP_EXHAUSTED = "cgroup-exhausted"  # ENOSPC on making a cgroup, fork rejected by pids
    CLOCKSOURCE = "clocksource"
    GPU_ERROR = "gpu-error"


@dataclass(frozen=True, slots=True)
class KernelEvent:
    """One line. `since_boot` is None where the line carries no time of that kind."""

    kind: KernelEventKind
    text: str  # the raw line
    since_boot: timedelta | None = None
    device: str = ""
    core: int | None = None  # the CPU the line names
    queue: int | None = None
    process: str = ""  # the process the line names
    napi_scheduled: bool | None = None
    reason: KernelEventKind | None = None  # of a reset: what the driver said just before it


@dataclass(frozen=True, slots=True)
class KernelLogReading:
    """The lines of this boot that matter, oldest first; `lines_seen` counts all lines, and is never zero."""

    probe: ClassVar[str] = "kernel_log"

    origin: str  # "journal" or "dmesg"
    lines_seen: int
    events: tuple[KernelEvent, ...] = ()
    kinds: tuple[str, ...] = field(default=())  # every kind seen, for conditions
    left_out: int = 0  # older lines that matter: of each sort only the newest are read

    def of(self, *kinds: KernelEventKind) -> tuple[KernelEvent, ...]:
        """Return the events of these kinds, oldest first."""
        return tuple(event for event in self.events if event.kind in kinds)

    @property
    def nic_resets(self) -> int:
        """How many device resets the log tells of."""
        return len(self.of(KernelEventKind.NIC_RESET, KernelEventKind.NIC_RESET_FAILED))

    @property
    def last_nic_reset_seconds(self) -> float | None:
        """Seconds after boot of the last device reset; None where there was none that has a time."""
        resets = self.of(KernelEventKind.NIC_RESET, KernelEventKind.NIC_RESET_FAILED)
        times = [reset.since_boot.total_seconds() for reset in resets if reset.since_boot is not None]
        return max(times, default=None)

    @property
    def nic_resets_untimed(self) -> int:
        """How many device resets have no time: they may be from now."""
        resets = self.of(KernelEventKind.NIC_RESET, KernelEventKind.NIC_RESET_FAILED)
        return sum(1 for reset in resets if reset.since_boot is None)

    @property
    def lockups(self) -> int:
        """How many soft or hard lockups and RCU stalls the log tells of."""
        return len(self.of(KernelEventKind.SOFT_LOCKUP, KernelEventKind.HARD_LOCKUP, KernelEventKind.RCU_STALL))

    @property
    def hung_tasks(self) -> int:
        """How many hung tasks the log tells of."""
        return len(self.of(KernelEventKind.HUNG_TASK))
