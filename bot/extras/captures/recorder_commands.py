"""A rolling capture: a ring of perf segments on a node, recorded for hours by a unit that ends by itself.

The recorder is a transient *service*: unlike a scope, it outlives the session and the bot. Its deadline is set three
times: perf's own workload (`sleep`), the `timeout` around it, and the unit's RuntimeMaxSec if systemd has it.

Source: systemd-run(1), systemd.resource-control(5), perf-record(1). sudo compares a command's arguments as one joined
text, so a login that may run a line may also split it into other words. The order of the words makes every other split
fail, or write within the same folder and end as early: no option before another takes free text, and the folder comes
after the event, which perf refuses with anything after it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.batch_shell import filled_in, preamble
from bot.domain.duration import parse_duration
from bot.domain.root_command import FOLDERS, in_folders, root_argv, root_line
from bot.extras.profiles.perf_command import (
    EVENTS,
    MARK,
    PERF,
    PLACE,
    READS_SYMBOLS,
    SYMBOLS_SECONDS,
    alternatives_words,
)

UNIT = "zombie-capture"
FOLDER = "/var/lib/zombie-capture"  # not in /var/tmp, where anybody could have put a link in its place
HOURS = (1, 6, 12, 24)
SEGMENT_MINUTES = (1, 2)
HERTZ = 49
SEGMENTS = 12  # in the ring, which reaches back 24 minutes with segments of two minutes
SEGMENT_LIMIT_MB = 128  # a segment that outgrows this ends the recording
ROOM_KIB = 2 * 1024 * 1024  # free space needed to begin: a full ring takes 1.5 GB, and the node needs the rest
ROOT_SECONDS = 10.0
READ_SECONDS = 60.0
TEXT_SECONDS = 120  # for each segment
SYSTEMD_LEAST = 219  # CPUQuota and MemoryLimit for transient units
SYSTEMD_MODERN = 236  # MemoryMax, RuntimeMaxSec, and --collect, which makes systemd forget a failed unit
SYMPTOMS = ("nic-reset", "lockup", "core-held")
_BEFORE_TIMEOUT, _BEFORE_UNIT = 60, 120  # how many seconds later the second and third deadlines are
_ID = re.compile(r"[0-9a-z]{6,20}\Z")


@dataclass(frozen=True, slots=True)
class CapturePaths:
    """The paths of the programs and of the ring on a node."""

    perf: str = PERF
    systemd_run: str = "/usr/bin/systemd-run"
    systemctl: tuple[str, ...] = tuple(way[0] for way in in_folders(("systemctl",), FOLDERS))
    folder: str = FOLDER


HERE = CapturePaths()


@dataclass(frozen=True, slots=True)
class RollingRequest:
    """How many hours to record, the minutes of each segment, and which symptoms to look for.

    Raises: ValueError, naming the allowed values, for values that no sudoers line allows.
    """

    hours: int = 12
    segment_minutes: int = 2
    around: tuple[str, ...] = ("nic-reset", "lockup")

    def __post_init__(self) -> None:
        if self.hours not in HOURS:
            raise ValueError(f"a capture runs for {alternatives_words(HOURS)} hours, and not {self.hours}")
        if self.segment_minutes not in SEGMENT_MINUTES:
            raise ValueError(
                f"a segment lasts {alternatives_words(SEGMENT_MINUTES)} minutes, and not {self.segment_minutes}"
            )
        for name in self.around:
            if name not in SYMPTOMS:
                raise ValueError(f"a capture looks for {', '.join(SYMPTOMS)}, and not {name[:40]}")

    @property
    def lasts(self) -> timedelta:
        """How long it records."""
        return timedelta(hours=self.hours)

    @property
    def half_ring_seconds(self) -> float:
        """How far half a ring reaches back."""
        return 60 * self.segment_minutes * SEGMENTS / 2


def hours_of(text: str) -> int:
    """Return the hours of a text such as `12h`.

    Raises: ValueError, naming the allowed values.

    Example:
    >>> hours_of("12h"), hours_of("1d")
    (12, 24)
    """
    says = f"a capture runs for {alternatives_words(HOURS)} hours: write for example 12h"
    return _units_of(text, timedelta(hours=1), HOURS, says)


def minutes_of(text: str) -> int:
    """Return the minutes of a text such as `2m`.

    Raises: ValueError, naming the allowed values.
    """
    says = f"a segment lasts {alternatives_words(SEGMENT_MINUTES)} minutes: write for example 2m"
    return _units_of(text, timedelta(minutes=1), SEGMENT_MINUTES, says)


def _units_of(text: str, unit: timedelta, allowed: tuple[int, ...], says: str) -> int:
    try:
        units = parse_duration(text) / unit
    except ValueError:
        units = 0.0
    if units not in allowed:
        raise ValueError(says)
    return int(units)


def is_capture_id(text: str) -> bool:
    """True when `text` can be a capture's id."""
    return _ID.match(text) is not None


def start_argv(
    request: RollingRequest, event: str, systemd: int, places: CapturePaths = HERE, seconds: int = 0
) -> tuple[str, ...]:
    """Return the command that starts the recorder, for that version of systemd.

    Shape: `seconds` replaces the hours in tests. A property is set only if that version has it.

    Example:
    >>> " ".join(start_argv(RollingRequest(1), "cycles", 219)[:9])
    '/usr/bin/systemd-run --quiet --nice=19 -p CPUQuota=25% -p MemoryLimit=512M --unit=zombie-capture /usr/bin/timeout'
    """
    lasts = seconds or round(request.lasts.total_seconds())
    unit = [places.systemd_run, "--quiet"]
    if systemd >= SYSTEMD_MODERN:
        unit += ["--collect", "--nice=19", "-p", "CPUQuota=25%", "-p", "MemoryMax=512M"]
        unit += ["-p", f"RuntimeMaxSec={lasts + _BEFORE_UNIT}"]
    else:
        unit += ["--nice=19", "-p", "CPUQuota=25%", "-p", "MemoryLimit=512M"]
    limit = ["/usr/bin/timeout", "-k", "5", str(lasts + _BEFORE_TIMEOUT)]
    perf = [*(places.perf, "record", "-a", "-g", "-N", "-B", "-k", "mono", "-e"), f"{event}/freq={HERTZ}/"]
    ring = [f"--output={places.folder}/perf.data", f"--switch-output={request.segment_minutes}m"]
    ring += [f"--switch-max-files={SEGMENTS}", f"--max-size={SEGMENT_LIMIT_MB}M", "sleep", str(lasts)]
    return (*unit, f"--unit={UNIT}", *limit, *perf, *ring)


def make_folder_argv(places: CapturePaths = HERE) -> tuple[str, ...]:
    """Return the command that makes the ring's folder: anybody may list the segments, only root may read them."""
    return ("/usr/bin/install", "-d", "-m", "0755", places.folder)


def remove_argv(places: CapturePaths = HERE) -> tuple[str, ...]:
    """Return the command that removes the ring."""
    return ("rm", "-rf", places.folder)


def read_argv(places: CapturePaths = HERE) -> tuple[str, ...]:
    """Return the command that prints the ring as a tar archive; the reader picks what it needs."""
    return ("tar", "-cC", places.folder, ".")


def stop_commands(places: CapturePaths = HERE) -> tuple[tuple[str, ...], ...]:
    """Return the commands that stop the recorder."""
    return tuple((program, "stop", f"{UNIT}.service") for program in places.systemctl)


def reset_failed_commands(places: CapturePaths = HERE) -> tuple[tuple[str, ...], ...]:
    """Return the commands that make systemd forget a failed recorder."""
    return tuple((program, "reset-failed", f"{UNIT}.service") for program in places.systemctl)


def rolling_rights(places: CapturePaths = HERE) -> tuple[tuple[str, ...], ...]:
    """Return every argument list that rolling captures run as root, each after `sudo -n`."""
    starts = [
        start_argv(RollingRequest(hours, minutes), event, systemd, places)
        for systemd in (SYSTEMD_LEAST, SYSTEMD_MODERN)
        for event in EVENTS
        for hours in HOURS
        for minutes in SEGMENT_MINUTES
    ]
    ways = [*starts, make_folder_argv(places), *stop_commands(places), *reset_failed_commands(places)]
    ways += in_folders(remove_argv(places))
    rights = [root_argv(argv, ROOT_SECONDS) for argv in ways]
    rights += [root_argv(argv, READ_SECONDS) for argv in in_folders(read_argv(places))]
    return tuple(way[2:] for way in rights)


# Sends a ring's segments back as text, with the session and the lifeline of a batch. Each segment is copied from the
# ring into a file that is unlinked before anything is written to it, so that nothing is left behind. perf turns it into
# text, niced and run as the login; a status that is not 0 is told. The wire is that of `capture_shell.py`.
_SCRIPT = r"""
say() { printf '%s %s %s\n' '@P@' "$N" "$*"; }
place=
for folder in /var/tmp /tmp /dev/shm; do
  free=$(df -Pk $folder | awk 'END { print $4 }')
  [ -w $folder ] && [ "${free:-0}" -ge @ROOM@ ] && place=$folder && break
done
if [ -z "$place" ]; then
  say errors "$(echo 'no room for a segment in /var/tmp, /tmp or /dev/shm' | base64 -w 0)"; say end; exit 0
fi
from=/proc/kallsyms
read -r address _ </proc/kallsyms
case $address in *[!0]*) ;; *)
  file=$(mktemp "$place/@PLACE@.XXXXXX") && {
    exec 8<>"$file"; rm -f "$file"
    { @ROOT_SYMBOLS@; } >&8 9<&- && from=/proc/self/fd/8
  };;
esac
say symbols "$from"
say ready
say data
text() {
  s=0
  for name in @NAMES@; do
    file=$(mktemp "$place/@PLACE@.XXXXXX") || { echo 'no place for a segment'; return 1; }
    exec 6<>"$file"; rm -f "$file"
    { @READ@; } 2>&4 | tar -xO ./$name >&6 2>&4 &&
      timeout -k 1 @SECONDS@ @PERF@ script -i /proc/self/fd/6 --kallsyms=$from --no-inline --max-stack=96 --ns \
        @TIME@ -F comm,pid,tid,cpu,time,event,ip,sym,dso 2>&4 || s=$?
    exec 6<&-
  done
  return $s
}
capture() {
  said=$({ { { text; printf 'text %s\n' $? >&5; } | gzip -1 >&3
  } 4>&1 | { errors=$(tail -c 2000 | base64 -w 0); printf 'errors %s\n' "$errors" >&5; }; } 5>&1)
  echo
  printf '%s\n' "$said" | while read -r line; do say "$line"; done
}
capture 3>&1 9<&- & LANES=$!
life & W=$!
exec 9<&-
wait $LANES
kill $W; wait $W
say end
"""


def segments_script(
    names: Sequence[str],
    between: tuple[float, float] | None,
    nonce: str,
    lifetime: timedelta,
    places: CapturePaths = HERE,
) -> str:
    """Return the script. `between` are seconds of CLOCK_MONOTONIC; None means everything in the segments.

    Shape: `names` come from a look, which accepts only names that perf gives.
    """
    time = "" if between is None else f"--time={max(0.0, between[0]):.6f},{max(0.0, between[1]):.6f}"
    words = {
        "P": MARK,
        "PLACE": PLACE,
        "ROOM": str(2 * SEGMENT_LIMIT_MB * 1024),
        "ROOT_SYMBOLS": root_line(READS_SYMBOLS, SYMBOLS_SECONDS),
        "NAMES": shlex.join(names),
        "READ": root_line(read_argv(places), READ_SECONDS),
        "SECONDS": str(TEXT_SECONDS),
        "PERF": shlex.quote(places.perf),
        "TIME": time,
    }
    return preamble(nonce, lifetime) + filled_in(_SCRIPT, words)


def unit_free_line(places: CapturePaths = HERE) -> str:
    """Return the command that succeeds only where systemd says that no recorder runs: another one's ring stays."""
    ways = " ".join(map(shlex.quote, places.systemctl))
    return (
        f"{{ for p in {ways}; do [ -x $p ] && break; done; case $($p show -p ActiveState {UNIT}.service) in "
        "*=inactive|*=failed) ;; *) echo 'a recorder may run there already' >&2; false;; esac; }"
    )
