"""A capture: perf records the whole node for some seconds, and its text is sent back while it is made.

Nothing is written to a disk: perf writes into a pipe that the login reads, so that root makes no file and none is left
behind. Names of kernel functions come from a copy of /proc/kallsyms in a file without a name.

Source: perf-record(1), perf-script(1). sudo compares a command's arguments as one joined text, so a login that may run
a line may also split it into other words. The order of the words below makes every other split fail before anything
is recorded.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.batch_shell import filled_in, preamble
from bot.domain.root_command import in_folders, root_argv, root_line

HERTZ = (49, 99)  # not a divisor of 100, so that samples do not run in step with timers
SECONDS = (5, 10, 30, 60)
EVENTS = ("cycles", "cpu-clock")  # cpu-clock if the machine has no performance counters
PERF = "/usr/bin/perf"
GRACE_SECONDS = 5.0  # perf writes most of its data at its end; if killed a second later, a slow node loses it
SYMBOLS_SECONDS = 8.0
JOURNAL_SECONDS = 5.0
READS_SYMBOLS = ("cat", "/proc/kallsyms")
JOURNAL_LINES = 200
# Shows how far the kernel log's clock is from perf's: each entry has both times.
READS_JOURNAL = (
    *("journalctl", "-k", "-b", "-q", "--no-pager", "-o", "export", "-n", str(JOURNAL_LINES)),
    "SYSLOG_FACILITY=0",
)


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
            raise ValueError(f"a capture takes {alternatives_words(HERTZ)} samples a second, and not {self.hertz}")
        if self.seconds not in SECONDS:
            raise ValueError(f"a capture lasts {alternatives_words(SECONDS)} seconds, and not {self.seconds}")


def record_argv(event: str, hertz: int, perf: str = PERF) -> tuple[str, ...]:
    """Return the perf command that records every core into a pipe.

    The output comes last and the event before it: perf refuses an event with anything after it, so that no other split
    of this text writes into a file. `-F` would read a rate out of any text, so it is not used.

    Example:
    >>> " ".join(record_argv("cycles", 49))
    '/usr/bin/perf record -a -g -N -B -k mono -e cycles/freq=49/ --output=-'
    """
    return (*(perf, "record", "-a", "-g", "-N", "-B", "-k", "mono", "-e"), f"{event}/freq={hertz}/", "--output=-")


def root_record_argv(event: str, hertz: int, seconds: int, perf: str = PERF) -> tuple[str, ...]:
    """Return the argument list that records as root for that many seconds."""
    return root_argv(record_argv(event, hertz, perf), seconds, GRACE_SECONDS)


def capture_rights(perf: str = PERF) -> tuple[tuple[str, ...], ...]:
    """Return every argument list that captures run as root, each after `sudo -n`."""
    records = [
        root_record_argv(event, hertz, seconds, perf) for event in EVENTS for hertz in HERTZ for seconds in SECONDS
    ]
    reads = [root_argv(argv, SYMBOLS_SECONDS) for argv in in_folders(READS_SYMBOLS)]
    reads += [root_argv(argv, JOURNAL_SECONDS) for argv in in_folders(READS_JOURNAL)]
    return tuple(way[2:] for way in (*records, *reads))


def alternatives_words(numbers: tuple[int, ...]) -> str:
    """Return the numbers that are allowed, as people say them: `1, 6, 12 or 24`."""
    *others, last = numbers
    return f"{', '.join(map(str, others))} or {last}"


MARK = "%p"
RECORD_LIMIT_BYTES = 512 * 1024 * 1024  # of perf's binary data, before it becomes text
TEXT_SECONDS_MORE = 45  # after the recording: the time perf needs to turn the last samples into text
PLACE = "zombie-symbols"

_FACTS = r"""
say() { printf '%s %s %s\n' '@P@' "$N" "$*"; }
first() { read -r line <"$1" && say "$2" "$line"; }
say kernel "$(uname -r)"
say uid "$(id -u)"
say cores "$(grep -c '^processor' /proc/cpuinfo)"
first /proc/loadavg load
first /proc/sys/kernel/random/boot_id boot
first /proc/sys/kernel/perf_event_paranoid paranoid
first /proc/sys/kernel/kptr_restrict kptr
say memory $(awk '/^(MemTotal|MemAvailable):/ { print $2 }' /proc/meminfo)
say stall $(awk -F'[= ]' '/^full/ { print $3 }' /proc/pressure/memory)
say system "$(sed -n 's/^ID=//p' /etc/os-release | tr -d '"')"
for place in /tmp /var/tmp /dev/shm; do
  [ -w $place ] && say room $place $(df -Pk $place | awk 'END { print $4 }')
done
if [ -x @PERF@ ]; then
  told=$({ timeout -k 1 5 @PERF@ version 2>&1; echo "ended $?"; } | tail -c 2000)
  case $told in
    *'ended 124'|*'ended 137') say perf 'perf version not told within 5 s';;
    *) say perf "$(printf '%s\n' "$told" | grep -v '^ended ' | head -n 1)";;
  esac
else say perf; fi
pmu=no
for unit in cpu cpu_core armv8_pmuv3 armv8_pmuv3_0; do [ -e /sys/bus/event_source/devices/$unit ] && pmu=yes; done
say pmu $pmu
say ready
read -r word event place <&9
[ "$word" = go ] || exit 0
"""

# Pairs of a kernel line's own stamp and the time when the journal received it: printk stamps with the CPU's local
# clock, the journal with CLOCK_MONOTONIC. This export form encodes a message with a line feed, so no message can fake a
# stamp. A login that sees only its own journal gets no lines and no error.
_CLOCKS = r"""
stamps() { grep -aE '^_(_|SOURCE_)MONOTONIC_TIMESTAMP='; }
export_journal() { timeout -k 1 5 @JOURNAL@ | stamps || @ROOT_JOURNAL@ | stamps; }
say pairs $(export_journal | awk -F= '
  $1 == "__MONOTONIC_TIMESTAMP" { mono = $2 }
  $1 == "_SOURCE_MONOTONIC_TIMESTAMP" { print $2 ":" mono }')
read -r before _ </proc/uptime; wall=$(date +%s.%N); read -r after _ </proc/uptime
say clock "$wall" "$before" "$after"
"""

# The file for kernel symbols is unlinked before anything is written to it, so that nothing is ever left behind.
_RECORD = r"""
from=/proc/kallsyms
read -r address _ </proc/kallsyms
case $address in *[!0]*) ;; *)
  if [ -n "$place" ] && file=$(mktemp "$place/@PLACE@.XXXXXX"); then
    exec 8<>"$file"; rm -f "$file"
    { @ROOT_SYMBOLS@; } >&8 9<&- && from=/proc/self/fd/8
  fi;;
esac
say symbols "$from"
say data
as_root() { if [ "$(id -u)" = 0 ]; then shift 2; "$@"; else "$@"; fi; }
record() {
  case $event in
    cycles) as_root @RECORD_CYCLES@;;
    *) as_root @RECORD_CLOCK@;;
  esac
}
text() {
  timeout -k 1 @TEXT_SECONDS@ @PERF@ script -i - --kallsyms=$from --no-inline --max-stack=96 --ns \
    -F comm,pid,tid,cpu,time,event,ip,sym,dso
}
ended() { printf '%s %s\n' "$1" $? >&5; times >&5; }
capture() {
  said=$({ { { { record 2>&4; ended record; } | head -c @LIMIT@ | { text 2>&4; ended text; } | gzip -1 >&3
  } 4>&1 | { errors=$(tail -c 2000 | base64 -w 0); printf 'errors %s\n' "$errors" >&5; }; } 5>&1; } 3>&6)
  echo
  printf '%s\n' "$said" | while read -r line; do say "$line"; done
}
exec 6>&1
capture 9<&- & LANES=$!
life & W=$!
exec 9<&-
wait $LANES
kill $W; wait $W
say end
"""


def capture_script(request: CaptureRequest, nonce: str, lifetime: timedelta, perf: str = PERF) -> str:
    """Return the script; everything from outside is quoted. After `lifetime` it ends in any case."""
    hertz, seconds = request.hertz, request.seconds
    words = {
        "P": MARK,
        "PERF": shlex.quote(perf),
        "PLACE": PLACE,
        "JOURNAL": shlex.join(READS_JOURNAL),
        "ROOT_JOURNAL": root_line(READS_JOURNAL, JOURNAL_SECONDS),
        "ROOT_SYMBOLS": root_line(READS_SYMBOLS, SYMBOLS_SECONDS),
        "RECORD_CYCLES": shlex.join(root_record_argv("cycles", hertz, seconds, perf)),
        "RECORD_CLOCK": shlex.join(root_record_argv("cpu-clock", hertz, seconds, perf)),
        "TEXT_SECONDS": str(seconds + TEXT_SECONDS_MORE),
        "LIMIT": str(RECORD_LIMIT_BYTES),
    }
    return preamble(nonce, lifetime) + filled_in(_FACTS + _CLOCKS + _RECORD, words)
