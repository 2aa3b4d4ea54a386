r"""The shell part of a batch: its script before the questions, in POSIX sh (IEEE 1003.1-2017).

The processes of the script's session, from the top:
main, which begins the looks and waits; `life`, which ends everything; and for each look its lane (a copy of main, which
runs the commands in turn), a `head` that bounds what they print, and an `emit` (the output as lines of the wire). Most
commands are done sooner than processes that would limit each: a lane runs them in itself, and main kills one that
outlasts its limit, the lane with it; then another lane goes on with the next one. Commands that may leave processes
behind have `timeout` for themselves, which makes a process group; an operator's own also have `head` and `tail` (behind
their errors).

Descriptors: 3 a lane's output, 4 a command's errors, 5 how a command ended (apart from errors, where what it left
behind may still write), 6 a command's input, 8 progress (`batch_lanes.py`), 9 the lifeline (our end of stdin).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

NEEDED_TOOLS = ("base64", "awk", "cat", "head", "tail", "timeout", "sleep")
STDERR_LIMIT_BYTES = 2000
SHELL_KIB = 256 * 1024  # of address space: a shell itself has 3 to 30 MiB
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
unset ENV BASH_ENV s
N=@NONCE@
NL='
'
exec 9<&0 </dev/null 6</dev/null 2>/dev/null
for tool in @TOOLS@; do command -v "$tool" >/dev/null || { echo "@MARK@! $N missing $tool"; exit 1; }; done
cd /; ulimit -c 0; V=$(ulimit -S -v)
renice -n 19 -p $$ >/dev/null; command -v ionice >/dev/null && ionice -c 3 -p $$ >/dev/null
read -r line </proc/$$/stat; set -- ${line##*) }
[ "$3 $4" = "$$ $$" ] && OWN=1 || OWN=
"""
    # A lane goes on after the question that the one before it ended at, with this status; without one, with the
    # question. Main hears of each question whom to kill when it does not end; of one with a limit of its own, nobody.
    r"""
stamp() { read -r up _ </proc/uptime; }
lane() {
  errors= open=
  exec 3>&1
  read -r line </proc/self/stat; self=${line%% *}
  # A lane holds a command's errors: more than this of them ends it, like a command that outlasts its limit.
  case $V in unlimited) ulimit -S -v @SHELL_KIB@;; *) [ "$V" -le @SHELL_KIB@ ] || ulimit -S -v @SHELL_KIB@;; esac
  [ -z "$after" ] || finish "$after"
  for part; do "$part"; done
  [ -n "$open" ] || echo "over $id" >&8
}
skip() { [ -n "$from" ] || return 1; [ "$1" = "$from" ] || return 0; from=; [ -n "$after" ]; }
begin() {
  echo "q $id $2" >&8
  stamp; printf '\n%s %s %s\n' "$N" "$1" "$up" >&3 || exit 141
}
# A ksh without memory leaves a function and goes on.
within() {
  [ -z "$open" ] || exit
  open=1 limit=${2%.*}; [ "$limit" = "$2" ] || limit=$((limit + 1))
  begin "$1" "$1 $self $limit"
}
finish() { stamp; printf '\n%s e\n%.@STDERR@s\n%s %s\n%s .\n' "$N" "$errors" "$1" "$up" "$N" >&3 || exit 141; open=; }
# What names its shell's process has one.
call() {
  ulimit -S -v "$V"
  case "$1 $2 $3" in
    'sh -c '*'$$'*) exec "$@";;
    'sh -c '*) code=$3; shift 3; [ $# = 0 ] || shift; eval "$code";;
    *) exec "$@";;
  esac
}
where() { eval "$1" || return; shift; "$@"; }
# With a process group of its own, in which nothing outlives it.
apart() {
  ulimit -S -v "$V"
  { timeout -k 1 "$@" 2>&5 5>&- 6<&- 9<&- & wait $!; set -- $?; kill -KILL -$!; } 5>&2 2>/dev/null
  return "$1"
}
run() { within "$1" "$2"; shift 3; ran call "$@"; }
run_apart() { within "$1" "$((${2%.*} + 3))"; t=$2; shift 3; ran apart "$t" "$@"; }
ran() { errors=$("$@" 2>&1 >&3 3>&- 8>&-); finish $?; }
# Most say in a line that there is nothing to read here, and need no process to hand it on.
passed() {
  IFS= read -r line || [ -n "$line" ] || { printf '\nnothing' >&4; return; }
  printf '%s\n' "$line"
  IFS= read -r line || [ -n "$line" ] || return
  printf '%s\n' "$line"; exec cat
}
# How it ended is said by a trap, so that a fragment which exits needs no shell of its own.
shown() {
  exec 2>&4 3>&- 4>&- 8>&-
  trap 'printf "\n%s" $? >&2' 0
  case "$1 $2 $3 $4" in
    'call sh -c '*'$$'*|'call sh -c '*exec*) ("$@");;
    'call sh -c '*|apart*) "$@";;
    *) ("$@");;
  esac
}
try() { within "$1" "$2"; shift 3; tried call "$@"; }
try_apart() { within "$1" "$((${2%.*} + 3))"; t=$2; shift 3; tried apart "$t" "$@"; }
tried() {
  errors=$({ shown "$@" | passed >&3; } 4>&1)
  case $errors in
    *"$NL"nothing) errors=${errors%"$NL"*}; set -- "${errors##*"$NL"}${NL}nothing"; false;;
    *) set -- "${errors##*"$NL"}";;
  esac
  set -- "$?" "$1"; errors=${errors%"$NL"*}; finish "$2"; return "$1"
}
"""
    # Processes that a command leaves behind are killed with it: they would hold the pipes open and block the lane.
    r"""
limited() {
  timeout -k 1 "$@" <&6 2>&4 3>&- 4>&- 5>&- 6<&- 8>&- 9<&- &
  wait $!; s=$?
  kill -KILL -$!
  printf '%s' "$s" >&5
}
run_alone() {
  t=$2 c=$3; begin "$1"; shift 3
  s=$({ { limited "$t" "$@" | head -c "$c" >&3; printf '\n%s e\n' "$N" >&3; } 4>&1 | tail -c @STDERR@ >&3; } 5>&1)
  stamp; printf '\n%s %s\n%s .\n' "$s" "$up" "$N" >&3
}
try_alone() {
  t=$2 c=$3; begin "$1"; shift 3
  s=$({ { limited "$t" "$@" | head -c "$c" | grep -a '' >&3 || printf '\nnothing' >&5
    printf '\n%s e\n' "$N" >&3; } 4>&1 | tail -c @STDERR@ >&3; } 5>&1)
  stamp; printf '\n%s %s\n%s .\n' "$s" "$up" "$N" >&3
  case $s in *nothing) return 1;; esac
}
"""
    # What a command reads comes as base64, in which there is nothing that a shell would read otherwise.
    r"""
fed() { printf '%s' "$1" | base64 -d | { shift; "$@" 6<&0; }; }
"""
    # It outlives its lane when time is up, so that what was read until then still arrives.
    r"""
emit() {
  trap '' TERM HUP
  lines=$(base64 -w @WIDTH@)
  IFS=$NL
  for line in $lines; do printf '%s %s %s\n' '@MARK@' "$1" "$line"; done
  [ ${#lines} -lt $(($2 / 3 * 4)) ] && full= || full=full
  echo "end $1 $full" >&8
}
"""
    # Each `timeout` has a process group of its own; only the session is common to all. Whatever lost its parent was
    # left by a lane that ended inside a command. `cat | awk` finds candidates cheaply among thousands. Each is checked
    # again before it is killed, as a process may choose any name for itself.
    r"""
sweep() {
  for round in 1 2 3 4 5 6 7 8; do
    found=
    for pid in $(cat /proc/[0-9]*/stat | awk -v s=$$ -v what="$1" '
        { p = $1; sub(/^.*\) /, ""); if ($1 != "Z" && $4 == s) { of[p] = $2; in_group[p] = $3 == s } }
        END { for (p in of) if (p != s && !(what == "groups" ? in_group[p] : of[p] in of)) print p }'); do
      read -r line </proc/$pid/stat || continue
      set -- "$1" ${line##*) }
      [ "$5" = $$ ] && kill -KILL "$pid" && found=1
    done
    [ -n "$found" ] || break
  done
}
"""
    # A process and all below it but one of them; it is stopped first, so that it begins nothing more meanwhile.
    r"""
fell() {
  all=" $1 "
  kill -STOP "$1"
  for pid in $(cat /proc/[0-9]*/stat | awk -v top="$1" -v spared="$2" '
      { p = $1; sub(/^.*\) /, ""); below[$2] = below[$2] " " p }
      END { id[n = 1] = top; while (i++ < n) { m = split(below[id[i]], kids, " "); below[id[i]] = ""
        for (j = 1; j <= m; j++) if (kids[j] != spared) print id[++n] = kids[j] } }'); do
    read -r line </proc/$pid/stat || continue
    set -- ${line##*) }
    case $all in *" $2 "*) all="$all$pid ";; esac
  done
  kill -KILL $all
  [ -z "$OWN" ] || sweep orphans
}
runs() { read -r line </proc/"$1"/stat && case ${line##*) } in [ZX]*) false;; esac; }
"""
    # Ends with the batch (TERM from main). Otherwise the lifeline was cut (1), the bot sent a line because it heard
    # nothing for too long (0), or time is up (124): then runners and commands are killed, and `emit` gets two more
    # seconds if the bot may still listen. What cannot be killed may hold the pipe to a `head` open: HUP ends that one,
    # all but its last 4 kB sent. In a shared session only main and what is below it is killed.
    r"""
life() {
  exec >/dev/null
  timeout @LIFETIME@ /bin/sh -c 'read -r line' <&9 & h=$!
  trap 'kill -KILL -$h || kill $h; exit' TERM
  wait $h; ended=$?
  trap '' TERM HUP
  [ -n "$OWN" ] || { read -r line </proc/self/stat; fell $$ "${line%% *}"; exit; }
  kill -TERM 0
  sweep groups
  [ $ended = 1 ] || { sleep 0.5; kill -HUP 0; timeout 2 head -c 1 <&9; }
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
        "SHELL_KIB": str(SHELL_KIB),
    }
    return filled_in(PREAMBLE, words)


def filled_in(text: str, words: Mapping[str, str]) -> str:
    """Return a part of a script with its `@WORD@` placeholders filled in."""
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


_LONG = 80  # characters: a shorter word costs less than its name is worth


def variable_names(every: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return a variable's name for each long word, so that it is sent once and quoted once.

    >>> variable_names([("awk", "x" * 80), ("timeout", "4", "awk", "x" * 80), ("y" * 79,)]) == {"x" * 80: "W0"}
    True
    """
    words = dict.fromkeys(word for argv in every for word in argv if len(word) >= _LONG)
    return {word: f"W{number}" for number, word in enumerate(words)}


def quoted(argv: Sequence[str], named: Mapping[str, str]) -> str:
    """Return a shell's words for an argument list; those that have a name are called by it.

    >>> print(quoted(("awk", "a b", "x y z"), {"x y z": "W0"}))
    awk 'a b' "$W0"
    """
    return " ".join(f'"${named[word]}"' if word in named else shlex.quote(word) for word in argv)
