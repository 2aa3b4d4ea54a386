"""Who burns CPU now, in the program and in the kernel, and on which core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class ThreadUse:
    """One thread of a busy process. Units: seconds of CPU in the short look at threads."""

    tid: int
    core: int  # where it last ran
    usr_seconds: float
    sys_seconds: float


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """One process's CPU inside the window. Units: seconds of CPU; a busy core is one second a second."""

    pid: int
    name: str  # comm: at most 15 characters
    usr_seconds: float
    sys_seconds: float
    state: str = ""
    core: int | None = None  # where its main thread last ran
    realtime: bool = False
    kernel_thread: bool = False
    threads: tuple[ThreadUse, ...] = ()
    raw: str = ""

    @property
    def cores_in_kernel(self) -> frozenset[int]:
        """The cores on which its threads worked in the kernel; its main thread's core when threads were not read."""
        busy = frozenset(thread.core for thread in self.threads if thread.sys_seconds > 0)
        return busy or (frozenset({self.core}) if self.core is not None and not self.threads else frozenset())


@dataclass(frozen=True, slots=True)
class ProcessesReading:
    """The busiest processes, most kernel time first, and how many wait uninterruptibly."""

    probe: ClassVar[str] = "processes"

    busiest: tuple[ProcessUse, ...]
    seconds: float  # what the figures cover
    uninterruptible: tuple[str, ...] = ()  # names of processes in state D in both looks
    seen: int = 0

    @property
    def uninterruptible_count(self) -> int:
        """How many processes waited uninterruptibly at both looks."""
        return len(self.uninterruptible)

    def named(self, *names: str) -> tuple[ProcessUse, ...]:
        """Return the busy processes of these names (comm)."""
        return tuple(process for process in self.busiest if process.name in names)
