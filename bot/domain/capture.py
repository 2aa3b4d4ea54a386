"""A capture: perf records the whole node for some seconds, and its text travels home while it is made.

Nothing of it is ever written to a disk: perf writes into a pipe that the login reads, so that no file is made as root
and none is left behind. Names of kernel functions come from a copy of /proc/kallsyms in a file that has no name.

Source: perf-record(1), perf-script(1). sudo compares a command's arguments as one text, so that whoever may run a line
may also cut it into other words: the order of the words below lets every other cut fail before anything is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain.root_command import in_folders, root_argv

HERTZ = (49, 99)  # not a whole part of a second's hundredths, so that it does not beat with timers
SECONDS = (5, 10, 30, 60)
EVENTS = ("cycles", "cpu-clock")  # the second where the machine has no performance counters
PERF = "/usr/bin/perf"
GRACE_SECONDS = 5.0  # perf writes most of what it has at its end; killed after a second, a slow node loses it
SYMBOLS_SECONDS = 8.0
JOURNAL_SECONDS = 5.0
READS_SYMBOLS = ("cat", "/proc/kallsyms")
# What tells how far the kernel log's clock is from perf's: both stand in each entry.
READS_JOURNAL = (*("journalctl", "-k", "-b", "-q", "--no-pager", "-o", "export", "-n", "200"), "SYSLOG_FACILITY=0")
SECURE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """How to capture: so often a second, for so long.

    Shape: `hertz` and `seconds` are among `HERTZ` and `SECONDS`, for which a node can give a right.
    Raises: ValueError for others, naming these.
    """

    hertz: int = 49
    seconds: int = 10

    def __post_init__(self) -> None:
        if self.hertz not in HERTZ:
            raise ValueError(f"a capture takes {_or(HERTZ)} samples a second, and not {self.hertz}")
        if self.seconds not in SECONDS:
            raise ValueError(f"a capture lasts {_or(SECONDS)} seconds, and not {self.seconds}")


def record_argv(event: str, hertz: int, perf: str = PERF) -> tuple[str, ...]:
    """Return the arguments of perf that record every core into a pipe.

    The output stands last and the event before it: perf refuses an event with anything behind it, so that no other cut
    of this text writes into a file. `-F` would take its rate out of any text and is not used.

    Example:
    >>> " ".join(record_argv("cycles", 49))
    '/usr/bin/perf record -a -g -N -B -k mono -e cycles/freq=49/ --output=-'
    """
    return (*(perf, "record", "-a", "-g", "-N", "-B", "-k", "mono", "-e"), f"{event}/freq={hertz}/", "--output=-")


def record_way(event: str, hertz: int, seconds: int, perf: str = PERF) -> tuple[str, ...]:
    """Return what records as root for so many seconds."""
    return root_argv(record_argv(event, hertz, perf), seconds, GRACE_SECONDS)


def capture_rights(perf: str = PERF) -> tuple[tuple[str, ...], ...]:
    """Return every argument list that captures run as root, each after `sudo -n`."""
    records = [record_way(event, hertz, seconds, perf) for event in EVENTS for hertz in HERTZ for seconds in SECONDS]
    reads = [root_argv(argv, SYMBOLS_SECONDS) for argv in in_folders(READS_SYMBOLS)]
    reads += [root_argv(argv, JOURNAL_SECONDS) for argv in in_folders(READS_JOURNAL)]
    return tuple(way[2:] for way in (*records, *reads))


def _or(numbers: tuple[int, ...]) -> str:
    *others, last = numbers
    return f"{', '.join(map(str, others))} or {last}"
