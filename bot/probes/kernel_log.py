"""The important lines of the kernel's log of this boot: resets, lockups, stalls, kills, full tables, bad hardware.

Defined in: journalctl(1), dmesg(1); the wordings in `playbooks/tables/kernel-log.toml`. A node thins out its log by
`formats/kernel_filter.py`; what no row knows counts by the kernel's own level (`formats/kernel_errors.py`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar

from bot.domain.command import Command, Outputs
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.root_command import in_folders, root_line
from bot.probes.formats.kernel_errors import with_unclassified_errors, without_level
from bot.probes.formats.kernel_filter import BEFORE, BEFORE_SECONDS, BEGUN, FILTER, GRAVE, LEVELS_END, WHOLE
from bot.probes.formats.kernel_line import KernelEvent, KernelLine, kernel_line
from bot.probes.formats.kernel_speakers import complaints_by_speaker
from bot.probes.formats.kernel_story import combine_lines
from bot.probes.formats.kernel_table import COMPLAINTS, table
from bot.probes.formats.log_burst import LogBurst, log_burst


@dataclass(frozen=True, slots=True)
class KernelLogReading:
    """The important lines of this boot, oldest first; `lines_seen` counts all lines, and is never zero."""

    probe: ClassVar[str] = "kernel_log"

    origin: str  # "journal" or "dmesg"
    lines_seen: int
    events: tuple[KernelEvent, ...] = ()
    kinds: tuple[str, ...] = field(default=())  # every kind seen, for conditions
    left_out: int = 0  # important lines left out: of each sort only the newest are read
    bursts: tuple[LogBurst, ...] = ()  # periods with more output than a serial line can print, oldest first
    begins: timedelta = timedelta(0)  # after boot; of an old recording it is not known
    errors_begin: timedelta = timedelta(0)  # what the kernel itself calls errors
    rings_begin: Mapping[str, timedelta] = field(default_factory=dict)  # of those that lost lines

    def of(self, *kinds: str) -> tuple[KernelEvent, ...]:
        """Return the events of these kinds, oldest first.

        Raises: ValueError for a kind that nothing tells: whoever asks for it would never find it.
        """
        if unknown := set(kinds).difference(table().kinds):
            raise ValueError(f"no row of the kernel log tells {', '.join(sorted(unknown))}")
        return tuple([event for event in self.events if event.kind in kinds])

    def known_since(self, *kinds: str, errors: bool = False) -> timedelta:
        """Return since when, after boot, a line of these kinds would be among the events.

        Shape: with `errors` the kernel itself calls those lines errors, which are asked for once more.
        """
        return max(self.errors_begin if errors else self.begins, self.lost_until(*kinds))

    def lost_until(self, *kinds: str) -> timedelta:
        """Return until when, after boot, lines that may tell these kinds were left out; zero where none was."""
        if not self.rings_begin:
            return timedelta(0)
        return max(self.rings_begin.get(ring, timedelta(0)) for ring in table().rings_of(kinds))

    @property
    def nic_resets(self) -> int:
        """How many device resets the log has."""
        return len(self.of("nic-reset", "nic-reset-failed"))

    @property
    def last_nic_reset_seconds(self) -> float | None:
        """Seconds after boot of the last device reset; None without a reset that has a time."""
        resets = self.of("nic-reset", "nic-reset-failed")
        times = [reset.since_boot.total_seconds() for reset in resets if reset.since_boot is not None]
        return max(times, default=None)

    @property
    def last_kernel_bug_seconds(self) -> float:
        """Seconds after boot of the last oops, BUG or WARNING; far ahead without a time, long before without any."""
        return max(self._seconds_of_last("kernel-bug"), self._seconds_of_last("kernel-warning"))

    @property
    def last_begun_seconds(self) -> float:
        """Seconds after boot of the last dump whose beginning is lost; without any as above."""
        return self._seconds_of_last("begun")

    @property
    def devices_not_started(self) -> int:
        """How many devices a driver could not start in this boot, and of which nothing was said since."""
        return len({event.device for event in self.of("unstarted")})

    @property
    def last_workqueue_stall_seconds(self) -> float:
        """Seconds after boot of the last stuck pool of kernel workers; without any as above."""
        return self._seconds_of_last("workqueue-stall")

    @property
    def netdev_held_minutes(self) -> float:
        """How long the newest run of lines has reported an interface as removed but held; 0 if there is none.

        The kernel repeats the line every ten seconds: a minute without it ends a run.
        """
        times = [event.since_boot.total_seconds() for event in self.of("netdev-held") if event.since_boot]
        first = len(times) - 1
        while first > 0 and times[first] - times[first - 1] <= _ROW_SECONDS:
            first -= 1
        return (times[-1] - times[first]) / 60 if times else 0.0

    @property
    def last_netdev_held_seconds(self) -> float:
        """Seconds after boot of the last line about a held interface; without any as above."""
        return self._seconds_of_last("netdev-held")

    @property
    def last_efa_silent_seconds(self) -> float:
        """Seconds after boot of the last command that an EFA device did not answer; without any as above."""
        return self._seconds_of_last("efa-silent")

    @property
    def last_device_lost_seconds(self) -> float:
        """Seconds after boot of the last device given up or fatal record of the firmware; without any as above."""
        return max(self._seconds_of_last("device-lost"), self._seconds_of_last("hardware-grave"))

    @property
    def last_complaint_seconds(self) -> float:
        """Seconds after boot of the last failure of a speaker in trouble (`kernel_speakers.py`); without any as above.

        A failure is told by its words, or by the level that the kernel gives a line.
        """
        last = (said[-1].since_boot for said in complaints_by_speaker(self.events).values())
        return max((at.total_seconds() for at in last if at is not None), default=-_FAR)

    @property
    def last_grave_seconds(self) -> float:
        """Seconds after boot of the last line of unknown words that the kernel calls critical; without any as above."""
        return self._seconds_of_last("grave")

    def lines_of(self, field: str) -> tuple[str, ...]:
        """Return the lines that a field is counted from, oldest first."""
        if field == "last_complaint_seconds":
            told = {event for said in complaints_by_speaker(self.events).values() for event in said}
            return tuple(event.text for event in self.events if event in told)
        return tuple(event.text for event in self.of(*_COUNTED.get(field, ())))

    def _seconds_of_last(self, kind: str) -> float:
        times = (event.since_boot for event in self.of(kind))
        return max((_FAR if at is None else at.total_seconds() for at in times), default=-_FAR)

    @property
    def nic_resets_untimed(self) -> int:
        """How many device resets have no time: they may be recent."""
        resets = self.of("nic-reset", "nic-reset-failed")
        return sum(1 for reset in resets if reset.since_boot is None)

    @property
    def lockups(self) -> int:
        """How many soft or hard lockups and RCU stalls the log has."""
        return len(self.of("soft-lockup", "hard-lockup", "rcu-stall"))

    @property
    def hung_tasks(self) -> int:
        """How many hung tasks the log has."""
        return len(self.of("hung-task"))


_RESETS = ("nic-reset", "nic-reset-failed")
_COUNTED: dict[str, tuple[str, ...]] = {
    "nic_resets": _RESETS,
    "last_nic_reset_seconds": _RESETS,
    "nic_resets_untimed": _RESETS,
    "last_kernel_bug_seconds": ("kernel-bug", "kernel-warning"),
    "last_begun_seconds": ("begun",),
    "devices_not_started": ("unstarted",),
    "last_workqueue_stall_seconds": ("workqueue-stall",),
    "netdev_held_minutes": ("netdev-held",),
    "last_netdev_held_seconds": ("netdev-held",),
    "last_efa_silent_seconds": ("efa-silent",),
    "last_device_lost_seconds": ("device-lost", "hardware-grave"),
    "last_grave_seconds": ("grave",),
    "lockups": ("soft-lockup", "hard-lockup", "rcu-stall"),
    "hung_tasks": ("hung-task",),
}
LAST_LINES, LAST_BYTES = 400, 48 * 1024  # of the log's end, kept unfiltered
_LONGEST_LINE = 4096  # characters, four times what the kernel writes (PRINTKRB_RECORD_MAX): matching takes its square
_ROW_SECONDS = 60.0
_FAR = 1e12  # seconds: longer than any node is up
_LIMIT = timedelta(seconds=8)
_DUMP_LASTS = timedelta(minutes=1)  # all tasks, over a serial line
# journalctl takes 5 µs a line; a reset of a large device writes four thousand lines. Facility 0 is the kernel's own:
# lines that programs write to /dev/kmsg never have it, whatever their name. `dmesg -k` filters the same way.
_READ_JOURNAL = ("journalctl", "-k", "-b", "-q", "--no-pager", "-o", "short-monotonic")
_JOURNAL = (*_READ_JOURNAL, "-n", "20000", "SYSLOG_FACILITY=0")
# The journal prints no level, but answers by it from its index: 6 ms of CPU for two hundred lines of 20,000. dmesg
# prints levels (util-linux since 2.20); busybox's does not.
_SINCE = tuple(f"--{word}=-{at // 3600}h" for word, at in zip(("until", "since"), BEFORE_SECONDS, strict=True))
_ERRORS = tuple(
    (*_READ_JOURNAL, "-p", level, *when, "-n", "1000", "SYSLOG_FACILITY=0")
    for level, when in (("err", ()), ("crit", ()), ("err", _SINCE))
)
_DMESG = ("dmesg", "-k")
_DMESG_ERRORS = ("dmesg", "-k", "-x", "-l", "emerg,alert,crit,err")
_QUICK_SECONDS, _LEVELS_SECONDS = 4, 3  # together less than the command's limit
# Where no journal is, asking it four times, and again as root, costs as much as a third of a check.
_HAS_JOURNAL = (
    "j=; for d in /run/log/journal /var/log/journal; do [ -d $d ] && "
    '{ [ -r $d ] || j=y; for f in $d/*; do [ -d "$f" ] && j=y; done; }; done; [ -n "$j" ]'
)
_END = re.compile(
    r"-- (journal|dmesg): ([0-9]{1,12}) lines, ([0-9]{1,12}) left out((?:, (?:[a-z-]+ )?from [0-9]{1,10} s)*) --"
)
_BEGINS = re.compile(r", (?:([a-z-]+) )?from ([0-9]+) s")


def _filter_script(program: str, origin: str, said: str, errors: str) -> tuple[str, ...]:
    # Without levels, of an old sudoers row or of busybox, the log is read all the same. So it is where they would take
    # its time: of a log that came slowly they are not asked, and they are waited for a few seconds. What asks may be
    # sudo, which nobody but root can end: it is let go, and ends by its own limit.
    levels = f"{{ {{ {errors}; echo '{LEVELS_END}'; }} 2>/dev/null & }} | timeout {_LEVELS_SECONDS} cat"
    is_quick = f"[ $((${{b%.*}} - ${{a%.*}})) -lt {_QUICK_SECONDS} ]"
    log = f"read a _ </proc/uptime; {{ {said} && echo '{WHOLE}' && read b _ </proc/uptime && {is_quick} && {levels}; }}"
    # For a log without a line the filter is not begun: gawk compiles it as long as it reads thousands of lines. It is a
    # word of its own, so that a script of several ways holds it once.
    thinned = f'printf "%s\\n" "$l" | awk -v o={origin} "$1" - /proc/self/fd/4'
    return ("sh", "-c", f"{log} | if IFS= read -r l; then {thinned}; fi 4<&0", "sh", program)


def _journal_script(program: str, as_root: bool) -> tuple[str, ...]:
    listings = (_JOURNAL, *_ERRORS)
    whole, errors, grave, before = (_sudo_line(argv) if as_root else shlex.join(argv) for argv in listings)
    return _filter_script(program, "journal", whole, f"{errors}; echo '{GRAVE}'; {grave}; echo '{BEFORE}'; {before}")


def _sudo_line(argv: tuple[str, ...]) -> str:
    return root_line(argv, _LIMIT.total_seconds())


def parse(outputs: Outputs) -> KernelLogReading:
    """Read the lines that the node's filter kept.

    Unread when: nothing was printed: a kernel's log is never empty, and a login that may not read it gets no lines.
    """
    sent = [line[:_LONGEST_LINE] for line in outputs.text("log").rstrip("\n").split("\n")]
    end = _END.fullmatch(sent[-1])
    if end is None:
        raise CannotRead("kernel_log: the log is cut short")
    origin, seen, left_out, reach = end.groups()
    if not int(seen):
        raise CannotRead("kernel_log: the log is empty, which never happens: it could not be read")
    begun = [line.removeprefix(BEGUN) for line in sent if line.startswith(BEGUN)]
    sent = [line for line in sent if not line.startswith(BEGUN)]
    by_line = {line: burst for line in sent[:-1] if (burst := log_burst(line)) is not None}
    leveled = [without_level(line) for line in sent[:-1] if line not in by_line]
    read = [(level, kernel_line(text, origin == "journal")) for level, text in leveled]
    lines = [line for _, line in read if line is not None]
    begins = {name: timedelta(seconds=int(at)) for name, at in _BEGINS.findall(reach)}
    first, errors_first = (begins.pop(name, timedelta(0)) for name in ("", "errors"))
    events = with_unclassified_errors(
        [(level, line) for level, line in read if level and line is not None],
        combine_lines(
            lines, max(first, *(begins.get(ring, timedelta(0)) for ring in table().rings_of(["stack-memcg-walk"])))
        ),
    )
    firsts = (kernel_line(line, origin == "journal") for line in begun)
    dumps = [
        KernelEvent("begun", line.raw, line.since_boot)
        for line in firsts
        if line and not _belongs_to_known(line, events)
    ]
    # Beside ours, which they neither replace nor explain.
    if added := [*dumps, *(event for line in lines for event in table().site_events(line))]:
        events = tuple(sorted((*events, *added), key=lambda event: event.since_boot or timedelta(0)))
    kinds = tuple(dict.fromkeys(event.kind for event in events))
    bursts = tuple(sorted(by_line.values(), key=lambda burst: burst.since_boot))
    return KernelLogReading(origin, int(seen), events, kinds, int(left_out), bursts, first, errors_first, begins)


def _belongs_to_known(begun: KernelLine, events: Iterable[KernelEvent]) -> bool:
    """True where the log tells shortly before or after what a dump belongs to."""
    at = begun.since_boot
    known = (event.since_boot for event in events if event.kind not in COMPLAINTS)
    return any(at is None or each is None or abs(each - at) <= _DUMP_LASTS for each in known)


def _newest_lines_script(said: str) -> tuple[str, ...]:
    # Without a line that was cut: it may begin in a secret whose name is gone. An empty one stands above the others.
    return ("sh", "-c", f"{{ echo; {said} | tail -n {LAST_LINES}; }} | tail -c {LAST_BYTES} | tail -n +2")


# Not part of the probe: the unfiltered end of the log, saved before a reboot destroys it. It needs the same rights.
TAIL = Command(
    "tail",
    _newest_lines_script(shlex.join(_JOURNAL)),
    alternatives=(
        _newest_lines_script(_sudo_line(_JOURNAL)),
        _newest_lines_script("{ dmesg -k 2>/dev/null || dmesg; }"),
        _newest_lines_script(_sudo_line(_DMESG)),
    ),
    lane="journal",
    limit=_LIMIT,
    sudo=(*in_folders(_JOURNAL), *in_folders(_DMESG)),
)


def probe(program: str) -> Probe:
    """Return the probe whose node thins its log out with this program."""
    return Probe(
        name="kernel_log",
        title="kernel log of this boot",
        commands=(
            Command(
                "log",
                _journal_script(program, as_root=False),
                alternatives=(
                    _journal_script(program, as_root=True),
                    _filter_script(program, "dmesg", "{ dmesg -k 2>/dev/null || dmesg; }", shlex.join(_DMESG_ERRORS)),
                    _filter_script(program, "dmesg", _sudo_line(_DMESG), _sudo_line(_DMESG_ERRORS)),
                ),
                lane="journal",
                limit=_LIMIT,
                where=(_HAS_JOURNAL, _HAS_JOURNAL),
                apart=True,  # what asks for levels may be left behind
                sudo=tuple(way for argv in (_JOURNAL, *_ERRORS, _DMESG, _DMESG_ERRORS) for way in in_folders(argv)),
            ),
        ),
        parse=parse,
        reading=KernelLogReading,
    )


PROBE = probe(FILTER)
