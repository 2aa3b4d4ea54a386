"""A process that outlives the command that started it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Process:
    """A process, by its id and its start time: a process id alone may be reused.

    Source: /proc/PID/stat, field 22, proc(5).
    """

    pid: int
    started_ticks: int

    @classmethod
    def of(cls, pid: int) -> Process:
        """Return the running process of this id.

        Raises: ProcessLookupError when there is no such process.
        """
        stat = _stat(pid)
        if stat is None:
            raise ProcessLookupError(pid)
        return cls(pid, stat[1])

    @property
    def runs(self) -> bool:
        """True while it runs. A process that ended and was not reaped yet does not run."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)  # reaps it if it is a child of this process
        stat = _stat(self.pid)
        return stat is not None and stat[1] == self.started_ticks and stat[0] not in "ZX"

    @property
    def starved_seconds(self) -> float:
        """For how long one of its threads, at most, was ready to run and got no CPU; 0 where nobody counts it.

        Source: /proc/PID/task/TID/schedstat, second field, in nanoseconds (CONFIG_SCHED_INFO).
        """
        waited = [0]
        for file in Path(f"/proc/{self.pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):  # the thread ended
                waited.append(int(file.read_bytes().split()[1]))
        return max(waited) / 1e9

    def end(self, within_seconds: float = 10.0) -> None:
        """Terminate it, and kill it if it does not end in time."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not self.runs:
                return
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
            deadline = time.monotonic() + within_seconds
            while time.monotonic() < deadline and self._still_runs():
                time.sleep(0.02)  # noqa: TID251 - nothing reports the end of a process that is not a child

    def _still_runs(self) -> bool:
        return self.runs  # a method, because type checkers take a property for constant


def _stat(pid: int) -> tuple[str, int] | None:
    """The state and the start time of a process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may contain anything
    return fields[0], int(fields[19])
