r"""The POSIX-sh script of a capture on the node, with the session, the lifeline and the niceness of a batch.

It first sends facts, then waits for a word: the bot decides whether the node can bear the load. Then perf's samples
become text on the node, niced and run as the login, and are sent as gzip while they are made.

On the wire: lines `%p NONCE WORD REST`, and after the line `data` a gzip stream, which marks its own end.
"""

from __future__ import annotations

import shlex
from datetime import timedelta

from bot.domain.batch_shell import filled_in, preamble
from bot.domain.capture import (
    JOURNAL_SECONDS,
    PERF,
    READS_JOURNAL,
    READS_SYMBOLS,
    SYMBOLS_SECONDS,
    CaptureRequest,
    record_way,
)
from bot.domain.root_command import root_line

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
        "RECORD_CYCLES": shlex.join(record_way("cycles", hertz, seconds, perf)),
        "RECORD_CLOCK": shlex.join(record_way("cpu-clock", hertz, seconds, perf)),
        "TEXT_SECONDS": str(seconds + TEXT_SECONDS_MORE),
        "LIMIT": str(RECORD_LIMIT_BYTES),
    }
    return preamble(nonce, lifetime) + filled_in(_FACTS + _CLOCKS + _RECORD, words)
