r"""The shell part of a batch: its script before the questions, in POSIX sh (IEEE 1003.1-2017).

The processes of the script's session, from the top:
main, which begins the lanes and waits; `life`, which ends everything; and for each lane a runner (which runs its
commands in turn) and an `emit` (the runner's output as lines of the wire). A shell of its own runs all commands of a
look, because most are done sooner than the processes that would limit each: `timeout` stands above it, which makes a
process group, and `head` behind its output. Main kills a command that outlasts its limit, the shell with it; the runner
then has another shell go on with the next one. Commands that watch, and an operator's own, have `timeout`, `head` and
`tail` (behind their errors) for themselves.

Descriptors: 3 a runner's output, 4 a command's errors, 5 what was begun and how it ended (apart from errors, where
what a command left behind may still write), 6 a command's input, or in a look's shell its output, 7 and 8 progress
(`batch_lanes.py`; ksh hands no descriptor on that a command line does not name), 9 the lifeline (our end of stdin).
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
unset ENV BASH_ENV
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
    # Processes that a command leaves behind are killed with it: they would hold the pipes open and block the lane.
    r"""
limited() {
  timeout -k 1 "$@" <&6 2>&4 3>&- 4>&- 5>&- 6<&- 8>&- 9<&- &
  wait $!; s=$?
  kill -KILL -$!
  printf '%s' "$s" >&5
}
stamp() { read -r up _ </proc/uptime; }
begin() { echo q >&8; stamp; printf '\n%s %s %s\n' "$N" "$1" "$up" >&3; }
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
    # What a command reads comes as base64, in which there is nothing that a shell would read otherwise.
    r"""
fed() { printf '%s' "$1" | base64 -d | { shift; "$@" 6<&0; }; }
"""
    # part, limit, most bytes, questions, their words. A shell that ended before its last question is followed by one
    # that goes on after the question it ended at; where another question had used up the bytes, with that question.
    # `head` outlives its runner, for it holds answers.
    r"""
group() {
  part=$1 t=$2 c=$3 asks=$4; shift 4
  from= after=
  while :; do
    said=$({ {
      N=$N V=$V timeout -k 1 "$t" /bin/sh -c "$GROUP$asks" sh "$part" "$from" "$after" "$@" 3>&- 7>&8 9<&- &
      wait $!; s=$?
      kill -KILL -$!
      printf '%s' "$s" >&5
    } | { trap '' TERM; exec head -c "$c" >&3; }; } 5>&1)
    s=${said##*"$NL"} last=${said%"$NL"*}
    first=${last%%"$NL"*} last=${last##*"$NL"}
    case $last in q*) ;; *) return;; esac
    from=$last after=
    [ "$s$last" = "141$first" ] || [ "$s" != 141 ] || continue
    [ "$s" = 141 ] || s=124
    stamp; printf '\n%s e\n\n%s %s\n%s .\n' "$N" "$s" "$up" "$N" >&3
    after=1
  done
}
"""
    # It outlives its runner when time is up, so that what was read until then still arrives.
    r"""
emit() {
  trap '' TERM HUP
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
    # Ends with the batch (TERM from main). Otherwise the lifeline was cut (1), the bot sent a line because it heard
    # nothing for too long (0), or time is up (124): then runners and commands are killed, and `emit` gets two more
    # seconds if the bot may still listen. What cannot be killed may hold the pipe to a `head` open: HUP ends that one,
    # all but its last 4 kB sent. In a shared session only main and its children are killed; commands then end at their
    # own limits.
    r"""
life() {
  exec >/dev/null
  timeout @LIFETIME@ /bin/sh -c 'read -r line' <&9 & h=$!
  trap 'kill -KILL -$h || kill $h; exit' TERM
  wait $h; ended=$?
  trap '' TERM HUP
  [ -n "$OWN" ] || { end_main; exit; }
  kill -TERM 0
  sweep
  [ $ended = 1 ] || { sleep 0.5; kill -HUP 0; timeout 2 head -c 1 <&9; }
  kill -KILL 0
}
"""
)

# The start of the shell that runs a look's questions; no process can read the nonce in its environment or arguments but
# those of its login. What it says in descriptor 5: the number of each question that it begins, and `done`.
GROUP = r"""
n=$N; unset N; N=$n
NL='
'
part=$1 from=$2 after=$3; shift 3
read -r line </proc/$$/stat; line=${line##*) }; line=${line#* }; parent=${line%% *}; line=${line#* }
[ "${line%% *}" = "$parent" ] && whole=-$parent || whole=$$
exec 6>&1 8>&-
# The shell holds a command's errors: more than this of them ends it, like a command that outlasts its limit.
v=$V; unset V
case $v in unlimited) ulimit -S -v @SHELL_KIB@;; *) [ "$v" -le @SHELL_KIB@ ] || ulimit -S -v @SHELL_KIB@;; esac
stamp() { read -r up _ </proc/uptime; }
skip() { [ -n "$from" ] || return 1; [ "$1" = "$from" ] || return 0; from=; [ -n "$after" ]; }
begin() {
  asked=$1
  limit=${2%.*}; [ "$limit" = "$2" ] || limit=$((limit + 1))
  echo "$1" >&5; echo "q $part $whole $limit" >&7
  stamp; printf '\n%s %s %s\n' "$N" "$1" "$up" || exit 141
}
finish() { stamp; printf '\n%s e\n%.@STDERR@s\n%s %s\n%s .\n' "$N" "$errors" "$1" "$up" "$N" || exit 141; }
call() {
  ulimit -S -v "$v"
  case "$1 $2" in
    'sh -c') code=$3; shift 3; [ $# = 0 ] || shift; eval "$code";;
    *) exec "$@";;
  esac
}
run() {
  begin "$1" "$2"; shift 3
  errors=$(call "$@" 2>&1 >&6 5>&- 6>&- 7>&-); finish $?
}
try() {
  begin "$1" "$2"; shift 3
  errors=$({
    { (call "$@" 2>&4 4>&- 5>&- 6>&- 7>&-); printf '\n%s' $? >&4; } | grep -a '' >&6 || printf '\nnothing' >&4
  } 4>&1)
  case $errors in
    *"$NL"nothing) errors=${errors%"$NL"*}; set -- "${errors##*"$NL"}${NL}nothing"; false;;
    *) set -- "${errors##*"$NL"}";;
  esac
  set -- "$?" "$1"; errors=${errors%"$NL"*}; finish "$2"; return "$1"
}
"""

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
    return filled_in(PREAMBLE, words) + f"GROUP={shlex.quote(filled_in(GROUP, words))}\n"


def filled_in(text: str, words: Mapping[str, str]) -> str:
    """Return a part of a script with its `@WORD@` placeholders filled in."""
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


_LONG = 80  # characters: a shorter word costs less than its name is worth


def named_words(every: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return a variable's name for each long word, so that it is sent once and quoted once.

    >>> named_words([("awk", "x" * 80), ("timeout", "4", "awk", "x" * 80), ("y" * 79,)]) == {"x" * 80: "W0"}
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
