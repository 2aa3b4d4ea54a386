r"""The script that sends a ring's segments back as text: POSIX sh, with the session and the lifeline of a batch.

Each segment is copied from the ring into a file that is unlinked before anything is written to it, so that nothing
is left behind. perf turns it into text, niced and run as the login. The wire is that of `capture_shell.py`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import timedelta

from bot.domain.batch_shell import filled_in, preamble
from bot.domain.capture import READS_SYMBOLS, SYMBOLS_SECONDS
from bot.domain.capture_shell import MARK, PLACE
from bot.domain.rolling import HERE, READ_SECONDS, SEGMENT_LIMIT_MB, UNIT, Places, read_argv
from bot.domain.root_command import root_line

TEXT_SECONDS = 120  # for all segments together
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
  for name in @NAMES@; do
    file=$(mktemp "$place/@PLACE@.XXXXXX") || { echo 'no place for a segment'; return 1; }
    exec 6<>"$file"; rm -f "$file"
    { @READ@; } 2>&4 | tar -xO ./$name >&6 2>&4
    timeout -k 1 @SECONDS@ @PERF@ script -i /proc/self/fd/6 --kallsyms=$from --no-inline --max-stack=96 --ns \
      @TIME@ -F comm,pid,tid,cpu,time,event,ip,sym,dso 2>&4
    s=$?
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
    places: Places = HERE,
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


def unit_is_free(places: Places = HERE) -> str:
    """Return the command that succeeds only where systemd says that no recorder runs: another one's ring stays."""
    ways = " ".join(map(shlex.quote, places.systemctl))
    return (
        f"{{ for p in {ways}; do [ -x $p ] && break; done; case $($p show -p ActiveState {UNIT}.service) in "
        "*=inactive|*=failed) ;; *) echo 'a recorder may run there already' >&2; false;; esac; }"
    )
