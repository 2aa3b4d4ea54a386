"""A capture: perf records the whole node for some seconds, and its text is sent back while it is made.

Nothing is written to a disk: perf writes into a pipe that the login reads, so that root makes no file and none is left
behind. Names of kernel functions come from a copy of /proc/kallsyms in a file without a name.

Source: perf-record(1), perf-script(1). sudo compares a command's arguments as one joined text, so a login that may run
a line may also split it into other words. The order of the words below makes every other split fail before anything
is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain.root_command import in_folders, root_argv

HERTZ = (49, 99)  # not a divisor of 100, so that samples do not run in step with timers
SECONDS = (5, 10, 30, 60)
EVENTS = ("cycles", "cpu-clock")  # cpu-clock if the machine has no performance counters
PERF = "/usr/bin/perf"
GRACE_SECONDS = 5.0  # perf writes most of its data at its end; if killed a second later, a slow node loses it
SYMBOLS_SECONDS = 8.0
JOURNAL_SECONDS = 5.0
READS_SYMBOLS = ("cat", "/proc/kallsyms")
# Shows how far the kernel log's clock is from perf's: each entry has both times.
READS_JOURNAL = (*("journalctl", "-k", "-b", "-q", "--no-pager", "-o", "export", "-n", "200"), "SYSLOG_FACILITY=0")
SECURE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """How to capture: samples per second, and for how many seconds.

    Shape: `hertz` and `seconds` are among `HERTZ` and `SECONDS`, because sudoers lists exact command lines.
    Raises: ValueError for other values; it names the allowed ones.
    """

    hertz: int = 49
    seconds: int = 10

    def __post_init__(self) -> None:
        if self.hertz not in HERTZ:
            raise ValueError(f"a capture takes {either(HERTZ)} samples a second, and not {self.hertz}")
        if self.seconds not in SECONDS:
            raise ValueError(f"a capture lasts {either(SECONDS)} seconds, and not {self.seconds}")


def record_argv(event: str, hertz: int, perf: str = PERF) -> tuple[str, ...]:
    """Return the perf command that records every core into a pipe.

    The output comes last and the event before it: perf refuses an event with anything after it, so that no other split
    of this text writes into a file. `-F` would read a rate out of any text, so it is not used.

    Example:
    >>> " ".join(record_argv("cycles", 49))
    '/usr/bin/perf record -a -g -N -B -k mono -e cycles/freq=49/ --output=-'
    """
    return (*(perf, "record", "-a", "-g", "-N", "-B", "-k", "mono", "-e"), f"{event}/freq={hertz}/", "--output=-")


def record_way(event: str, hertz: int, seconds: int, perf: str = PERF) -> tuple[str, ...]:
    """Return the argument list that records as root for that many seconds."""
    return root_argv(record_argv(event, hertz, perf), seconds, GRACE_SECONDS)


def capture_rights(perf: str = PERF) -> tuple[tuple[str, ...], ...]:
    """Return every argument list that captures run as root, each after `sudo -n`."""
    records = [record_way(event, hertz, seconds, perf) for event in EVENTS for hertz in HERTZ for seconds in SECONDS]
    reads = [root_argv(argv, SYMBOLS_SECONDS) for argv in in_folders(READS_SYMBOLS)]
    reads += [root_argv(argv, JOURNAL_SECONDS) for argv in in_folders(READS_JOURNAL)]
    return tuple(way[2:] for way in (*records, *reads))


def either(numbers: tuple[int, ...]) -> str:
    """Return the numbers that are allowed, as people say them: `1, 6, 12 or 24`."""
    *others, last = numbers
    return f"{', '.join(map(str, others))} or {last}"
