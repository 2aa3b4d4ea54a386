"""A command to run on a node, and its result."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.errors import CannotRead
from bot.domain.safe_text import redacted_line

# A NUL ends an argument in C; lone surrogates stand for bytes that are not text.
_NO_SUDO = re.compile(r"\bsudo: (?:command )?not found")  # as shells say it
_UNSPEAKABLE = re.compile("[\0\ud800-\udfff]")


def is_uptime(seconds: float) -> bool:
    """True if a machine may be up for so long: a time to reckon with."""
    return 0 <= seconds < 1e10


class SampleTimes(enum.Enum):
    """When a command is run inside the sampling window."""

    ONCE = "once"
    TWICE = "twice"  # at the start of the window and again at its end
    THROUGHOUT = "throughout"  # a single run that lasts the window, like `mpstat 1 5`


@dataclass(frozen=True, slots=True)
class Command:
    """A command for a node, as an argument list that no shell will ever interpret.

    Shape: `alternatives` are tried in order, each only if all before it printed nothing. `as_root` adds
    `sudo -n timeout …` before the same arguments as a last alternative. In a THROUGHOUT command `{samples}` inside an
    argument becomes the window's length in whole seconds and `{rest}` the time of the second look. Commands of the same
    `lane` run in turn; lanes run in parallel. `sudo` lists what a shell fragment among the arguments runs as root, so
    that sudoers lines can be written from the commands. `stdin` is what the command reads on its input, byte for byte;
    it stands in no argument list. `where` are conditions of the first ways but not of the last, by a shell's builtins
    alone: where one does not hold, its way would print nothing, and is not begun. A command run as root names its
    program by its full path (see `root_command.py`). `apart`: it may leave processes behind, which are ended with it.
    `alone`: beside that it may print errors without end, so it shares nothing with others.
    Raises: ValueError for a command that cannot be part of a batch.
    """

    name: str
    argv: tuple[str, ...]
    alternatives: tuple[tuple[str, ...], ...] = ()
    looks: SampleTimes = SampleTimes.ONCE
    as_root: bool = False
    lane: str = "files"
    limit: timedelta = timedelta(seconds=8)  # commands are niced, and the node may have no CPU to spare
    output_limit_bytes: int = 256 * 1024
    sudo: tuple[tuple[str, ...], ...] = ()
    stdin: str = ""
    alone: bool = False
    apart: bool = False
    where: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        words = [word for argv in (self.argv, *self.alternatives, self.where) for word in argv]
        if any("\n" in word for word in words):
            raise ValueError(f"{self.name}: an argument holds a newline; a batch has a command on each line")
        if any(_UNSPEAKABLE.search(word) for word in words):
            raise ValueError(f"{self.name}: an argument holds characters that no shell accepts")
        if len(self.where) > len(self.alternatives) + self.as_root:
            raise ValueError(f"{self.name}: its last way is always begun")
        if not all(argv[0].startswith("/") for argv in (*self.sudo, *([self.argv] * self.as_root))):
            raise ValueError(f"{self.name}: a command run as root must name its program by its full path")


@dataclass(frozen=True, slots=True)
class Completed:
    """The result of a run; a non-zero exit is data.

    Units: `started_at_uptime` is the node's uptime in seconds when the run began, None if it is missing.
    """

    probe: str
    name: str
    look: int
    stdout: str
    stderr: str = ""
    exit_status: int | None = 0  # None: the command's end was never seen
    cut: bool = False
    started_at_uptime: float | None = None
    took: timedelta | None = None

    @property
    def failure(self) -> str | None:
        """Why the run gave no usable output, as a sentence; None when there is output to parse."""
        if self.exit_status is None:
            return "the answer never came (deadline or lost connection)"
        if self.exit_status in (124, 137) and not self.cut:
            return "the command stalled and was ended at its time limit"
        if self.stdout.strip():
            return None
        # A command with several ways prints a line for each, often the same.
        said = redacted_line("; ".join(dict.fromkeys(filter(None, map(str.strip, self.stderr.splitlines())))), 120)
        lowered = self.stderr.lower()
        if _NO_SUDO.search(lowered):
            return "sudo is not installed"
        if self.exit_status == 127 or "command not found" in lowered or "failed to run command" in lowered:
            return "the command is missing"
        if "sudo:" in lowered:
            return f"sudo refused ({said})"
        if "permission denied" in lowered or "not permitted" in lowered or "access denied" in lowered:
            return f"permission denied ({said})"
        if self.exit_status != 0:
            return f"exit status {self.exit_status}" + (f" ({said})" if said else "")
        return "the output was empty"


# What a run takes on a node that is not slow, the longest fifth of them aside (docs/figures.md). Ours.
USUAL_SECONDS = 0.005
FEWEST_RUNS = 8
# Twice as long is an ordinary machine among its work.
SLOW = 3.0


def slowness(seconds: Sequence[float]) -> float | None:
    """Return how many times as long as usual a node's answers took; None if too few of them came.

    Shape: `seconds` is how long each took, the shortest first. The longest fifth does not count: a command may hang, or
    have much to read, on a node that is not slow.
    """
    if len(seconds) < FEWEST_RUNS:
        return None
    counted = seconds[: len(seconds) * 4 // 5]
    return sum(counted) / len(counted) / USUAL_SECONDS


def slow_words(slowness: float | None) -> str:
    """Return a slow node's sentence, empty for any other.

    Example:
    >>> slow_words(8.2), slow_words(2.5), slow_words(None)
    ('answers took 8 × as long as usual', '', '')
    """
    return f"answers took {slowness:.0f} × as long as usual" if slowness is not None and slowness >= SLOW else ""


class Outputs:
    """The finished runs of a probe's commands, by command name and look."""

    __slots__ = ("_runs",)

    def __init__(self, *runs: Completed) -> None:
        self._runs = {(run.name, run.look): run for run in runs}

    def get(self, name: str, look: int = 0) -> Completed | None:
        """Return the run, or None when it did not end."""
        return self._runs.get((name, look))

    def text(self, name: str, look: int = 0) -> str:
        """Return what the command printed.

        Raises: CannotRead when it did not run, failed with nothing printed, or was cut at its output limit.
        """
        run = self._runs.get((name, look))
        if run is None:
            raise CannotRead(f"{name}: the answer never came (deadline or lost connection)")
        if run.failure is not None:
            raise CannotRead(f"{name}: {run.failure}")
        if run.cut:
            raise CannotRead(f"{name}: the output was cut short")
        return run.stdout

    def text_or_none(self, name: str, look: int = 0) -> str | None:
        """Return what the command printed, or None where `text` would raise."""
        try:
            return self.text(name, look)
        except CannotRead:
            return None

    def seconds_between(self, name: str) -> float | None:
        """Return the seconds between a command's two looks by the node's clock, None when either is unknown."""
        first, second = self.get(name, 0), self.get(name, 1)
        if first is None or second is None or first.started_at_uptime is None or second.started_at_uptime is None:
            return None
        return round(max(0.0, second.started_at_uptime - first.started_at_uptime), 2)  # as fine as /proc/uptime is
