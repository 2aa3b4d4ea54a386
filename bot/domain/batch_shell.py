r"""The shell part of a batch: its script before the questions, in POSIX sh (IEEE 1003.1-2017).

The processes of the script's session, from the top:
main, which begins the lanes and waits; `life`, which ends everything; and for each lane a runner (which runs its
commands in turn) and an `emit` (the runner's output as lines of the wire). A command has `timeout` above it, which
makes a process group of its own, `head` behind its output and `tail` behind its errors.

Descriptors: 3 a runner's output, 4 a command's errors, 5 its exit status (apart from its errors, where what it left
behind may still write), 8 the ends of looks (`batch_lanes.py`), 9 the lifeline (our end of stdin).
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

NEEDED_TOOLS = ("base64", "awk", "cat", "head", "tail", "timeout", "sleep")
STDERR_LIMIT_BYTES = 2000
LANE_MARK = "%z"
# Several processes write lines into the same pipe; writes below 4 kB never mix.
WIRE_LINE_CHARS = 3000

PREAMBLE = (
    # The first newline ends whatever a login's start-up files left unfinished.
    r"""
echo
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin; LC_ALL=C; LANG=C; LANGUAGE=C
S_COLORS=never; SYSTEMD_COLORS=0; SYSTEMD_PAGER=cat; PAGER=cat; TERM=dumb
export PATH LC_ALL LANG LANGUAGE S_COLORS SYSTEMD_COLORS SYSTEMD_PAGER PAGER TERM
unset ENV BASH_ENV
N=@NONCE@
exec 9<&0 </dev/null 2>/dev/null
for tool in @TOOLS@; do command -v "$tool" >/dev/null || { echo "@MARK@! $N missing $tool"; exit 1; }; done
cd /; ulimit -c 0
renice -n 19 -p $$ >/dev/null; command -v ionice >/dev/null && ionice -c 3 -p $$ >/dev/null
read -r line </proc/$$/stat; set -- ${line##*) }
[ "$3 $4" = "$$ $$" ] && OWN=1 || OWN=
"""
    # Processes that a command leaves behind are killed with it: they would hold the pipes open and block the lane.
    r"""
limited() {
  timeout -k 1 "$@" 2>&4 3>&- 4>&- 5>&- 8>&- 9<&- &
  wait $!; s=$?
  kill -KILL -$!
  printf '%s' "$s" >&5
}
stamp() { read -r up _ </proc/uptime; }
begin() { stamp; printf '\n%s %s %s\n' "$N" "$1" "$up" >&3; }
run() {
  i=$1 t=$2 c=$3; shift 3
  begin "$i"
  s=$({ { limited "$t" "$@" | head -c "$c" >&3; printf '\n%s e\n' "$N" >&3; } 4>&1 | tail -c @STDERR@ >&3; } 5>&1)
  stamp; printf '\n%s %s\n%s .\n' "$s" "$up" "$N" >&3
}
try() {
  i=$1 t=$2 c=$3; shift 3
  begin "$i"
  s=$({ { limited "$t" "$@" | head -c "$c" | grep -a '' >&3 || printf '\nnothing' >&5
    printf '\n%s e\n' "$N" >&3; } 4>&1 | tail -c @STDERR@ >&3; } 5>&1)
  stamp; printf '\n%s %s\n%s .\n' "$s" "$up" "$N" >&3
  case $s in *nothing) return 1;; esac
}
"""
    # It outlives its runner when time is up, so that what was read until then still arrives.
    r"""
emit() {
  trap '' TERM
  lines=$(base64 -w @WIDTH@)
  IFS='
'
  for line in $lines; do printf '%s %s %s\n' '@MARK@' "$1" "$line"; done
}
"""
    # Each `timeout` has a process group of its own; only the session is common to all. `cat | awk` finds candidates
    # cheaply among thousands. Each is checked again before it is killed, as a process may choose any name for itself.
    r"""
sweep() {
  for round in 1 2 3 4 5 6 7 8; do
    found=
    for pid in $(cat /proc/[0-9]*/stat | awk -v s=$$ '{ p = $1; sub(/^.*\) /, "") }
        $1 != "Z" && $4 == s && $3 != s { print p }'); do
      read -r line </proc/$pid/stat || continue
      set -- ${line##*) }
      [ "$4" = $$ ] && kill -KILL "$pid" && found=1
    done
    [ -n "$found" ] || break
  done
}
"""
    # main is stopped first, so that it begins nothing more meanwhile.
    r"""
end_main() {
  read -r line </proc/self/stat; self=${line%% *}; set -- ${line##*) }; main=$2
  kill -STOP $main
  kill -KILL $(cat /proc/[0-9]*/stat | awk -v p=$main -v self=$self '{ pid = $1; sub(/^.*\) /, "") }
    $2 == p && pid != self { print pid }') $main $$
}
"""
    # Ends with the batch (TERM from main). Otherwise the lifeline was cut, or time is up (124): then runners and
    # commands are killed, and `emit` gets two more seconds if the bot may still listen. In a shared session only main
    # and its children are killed; commands then end at their own limits.
    r"""
life() {
  exec >/dev/null
  timeout @LIFETIME@ head -c 1 <&9 & h=$!
  trap 'kill -KILL -$h || kill $h; exit' TERM
  wait $h; ended=$?
  trap '' TERM
  [ -n "$OWN" ] || { end_main; exit; }
  kill -TERM 0
  sweep
  [ $ended = 124 ] && timeout 2 head -c 1 <&9
  kill -KILL 0
}
"""
)

NOTHING_ASKED = '\necho "%z. $N"\n'


def preamble(nonce: str, lifetime: timedelta) -> str:
    """Return the start of a script for that nonce; after `lifetime` the script ends."""
    words = {
        "TOOLS": " ".join(NEEDED_TOOLS),
        "NONCE": shlex.quote(nonce),
        "STDERR": str(STDERR_LIMIT_BYTES),
        "WIDTH": str(WIRE_LINE_CHARS),
        "LIFETIME": f"{lifetime.total_seconds():.1f}",
        "MARK": LANE_MARK,
    }
    return filled_in(PREAMBLE, words)


def filled_in(text: str, words: Mapping[str, str]) -> str:
    """Return a part of a script with its `@WORD@` placeholders filled in."""
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


_LONG = 400  # characters: a shorter word costs less than its name is worth


def named_words(every: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return a variable's name for each long word that several argument lists share, so that it is sent once.

    >>> named_words([("awk", "x" * 400), ("timeout", "4", "awk", "x" * 400), ("y" * 400,)]) == {"x" * 400: "W0"}
    True
    """
    times = Counter(word for argv in every for word in argv if len(word) >= _LONG)
    return {word: f"W{number}" for number, word in enumerate(word for word, count in times.items() if count > 1)}


def quoted(argv: Sequence[str], named: Mapping[str, str]) -> str:
    """Return a shell's words for an argument list; those that have a name are called by it.

    >>> print(quoted(("awk", "a b", "x y z"), {"x y z": "W0"}))
    awk 'a b' "$W0"
    """
    return " ".join(f'"${named[word]}"' if word in named else shlex.quote(word) for word in argv)
