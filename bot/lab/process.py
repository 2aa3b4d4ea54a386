"""A process that outlives the command that started it, known by more than its number."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Process:
    """A process by its id and the moment of its start, so that never another one is taken for it.

    Source: /proc/PID/stat, field 22, proc(5).
    """

    pid: int
    started_ticks: int

    @classmethod
    def of(cls, pid: int) -> Process:
        """Return the running process of this id.

        Raises: ProcessLookupError when there is none.
        """
        stat = _stat(pid)
        if stat is None:
            raise ProcessLookupError(pid)
        return cls(pid, stat[1])

    @property
    def runs(self) -> bool:
        """True while it runs; one that ended and waits to be reaped does not."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)  # where it is our own child
        stat = _stat(self.pid)
        return stat is not None and stat[1] == self.started_ticks and stat[0] not in "ZX"

    def end(self, within_seconds: float = 10.0) -> None:
        """Ask it to end, wait, and kill it where it does not."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not self.runs:
                return
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
            deadline = time.monotonic() + within_seconds
            while time.monotonic() < deadline and self._still_runs():
                time.sleep(0.02)  # noqa: TID251 - nobody tells of the end of a process that is not our child

    def _still_runs(self) -> bool:
        return self.runs  # a property is taken for constant by those who check types


def _stat(pid: int) -> tuple[str, int] | None:
    """The state and the start of a process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold anything
    return fields[0], int(fields[19])
