r"""When the lanes of a batch run, as shell code.

Lanes that watch throughout begin at once and run beside all others. The others take turns in the given order, so that
the node bears the processes of few commands at a time: a lane begins when the one before it has ended. One that shows
no progress is waited for only briefly, once. When second looks are due they go before first looks that still wait, all
that may begin in one run. A second look comes at least half a window after its lane's first, which a slow node may have
answered late.

Main waits for lines in a pipe that it holds open for both ways (descriptor 8): `q` when a command begins, with its
look, its question, whom to kill when it does not end, and its limit; `over` when a look's last has ended, and `end`
when its answers are sent, perhaps cut at all that it may print; `tick` from a clock, and `due`. POSIX sh cannot make
such a pipe; Linux opens one anew by its name in /proc (pipe(7), proc(5)). While there is progress, and while the window
lasts, main tells the bot every few seconds that the node is at work: whoever is told nothing gives it up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.batch_shell import LANE_MARK, filled_in

# Looks that run beside one another, apart from lanes that watch. Without a window the answer should be there soon.
AT_ONCE_IN_A_WINDOW = 1
AT_ONCE_OTHERWISE = 3

# Ticks without progress after which whoever waits is let past.
PATIENT_TICKS = 2
# Seconds between two signs that the node is at work.
SIGN_SECONDS = 3.0

_BEGIN = (
    f"""
: | {{
if {{ :; }} 8<>/proc/self/fd/0; then exec 8<>/proc/self/fd/0 </dev/null
else echo "{LANE_MARK}! $N missing /proc/self/fd"; exit 1; fi
sign() {{ echo "{LANE_MARK}~ $N"; }}
"""
    r"""
look() {
  from=$1 after=$2 id=$3 most=0; shift 2
  eval "all_$id='$*'"
  for part; do eval "most=\$((most + most_$part))"; done
  lane "$@" | { trap '' TERM; exec head -c "$most"; } | emit "$id" "$most" &
  LANES="$LANES $!"
}
life & W=$!
exec 9<&-
LANES=
"""
)
_CLOCK = r"""
pause() { sleep "$1" & p=$!; wait $p; }
clock() {
  exec >&8
  trap 'kill -KILL $p; exit' TERM
  n=$1
  while [ $n -gt 0 ]; do n=$((n - 1)); pause "$2"; echo tick; done
  [ "$3" = 0 ] || pause "$3"; echo due
  while :; do pause "$2"; echo tick; done
}
"""
# A run of looks is named by its first. `alive` is how many runs have not ended, `run` which of them take up a turn, and
# `from_LANE` the uptime, in hundredths of a second, from which on the lane's second look may begin: its first has ended
# long enough before. Second looks that may begin share a run. A run that ended inside a question goes on after it;
# where other questions may have used up the bytes, with it. A lane that no longer runs though its look has not ended
# left something behind, which holds its output open.
_TURNS = r"""
moment() { stamp; now=$((${up%.*} * 100 + 1${up#*.} - 100)); }
alive=@BEGUN@ run=' ' busy=0 due= quiet=0 moved= news= sign_at=0 asked=' '
moment
while :; do
  while [ $busy -lt @MOST@ ]; do
    next= rest=
    [ -z "$due" ] || for lane in $later; do
      eval "from=\$from_$lane"
      if [ -n "$from" ] && [ $now -ge $from ]; then next="$next ${lane}p1"; else rest="$rest $lane"; fi
    done
    if [ -n "$next" ]; then later=$rest
    elif [ $# -gt 0 ]; then next=${1}p0; shift
    else break; fi
    look '' '' $next
    run="$run$id " busy=$((busy + 1)) alive=$((alive + 1)) quiet=0
  done
  [ "$alive$later" != 0 ] || break
  if [ $now -ge $sign_at ] && { [ -z "$due" ] || [ -n "$news" ]; }; then sign; sign_at=$((now + @SIGN@)) news=; fi
  read -r said id at pid limit <&8
  moment
  case $said in
    q) moved=1 news=1
      case $asked in *" $id "*) ;; *) asked="$asked$id ";; esac
      eval "at_$id=$at pid_$id=$pid end_$id=$((now + ${limit:-0} * 100 + 100))";;
    over) eval "at_$id=";;
    due) due=1;;
    end) moved=1 news=1 full=$at
      eval "at=\$at_$id again=\$again_$id all=\$all_$id at_$id= pid_$id="
      if [ -n "$at" ]; then
        after=124; [ -z "$full" ] || { [ "$at" = "$again" ] && after=141 || after=; }
        eval "again_$id=$at"; look "$at" "$after" $all
      else
        alive=$((alive - 1))
        case $id in *p0) eval "from_${id%p0}=$((now + @GAP@))";; esac
        case $run in *" $id "*) run="${run%% $id *} ${run#* $id }" busy=$((busy - 1));; esac
      fi;;
    tick)
      for id in $asked; do
        eval "pid=\$pid_$id limit=\$end_$id"
        [ -z "$pid" ] || { [ $now -lt $limit ] && runs "$pid"; } || { eval "pid_$id="; fell "$pid"; }
      done
      quiet=$((quiet + 1))
      [ -z "$moved" ] || quiet=0
      moved=
      [ $quiet -lt @PATIENT@ ] || { run=' ' busy=0; };;
  esac
done
"""
# What a command left behind is in main's own group.
_END = r"""
kill $T
wait $LANES
kill $W; wait $W
echo "%z. $N"
[ -z "$OWN" ] || kill -KILL 0
}
"""


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane, by the name of its looks' shell functions: `l2` has `l2p0` and perhaps `l2p1`."""

    name: str
    watches: bool = False  # it lasts the window
    looks_twice: bool = False


def lanes_script(lanes: Sequence[Lane], rest_seconds: float, turn_seconds: float, look_seconds: float) -> str:
    """Return the shell code that runs the lanes, which begin in the given order, and waits for their end.

    Units: in a window, a lane begins at the end of the one before it, for which it waits some ticks of `turn_seconds`
    without progress. The last second look is due after `rest_seconds`, the first one earlier by `look_seconds` for each
    of the others.
    """
    at_once = [lane for lane in lanes if lane.watches]
    in_turn = [lane.name for lane in lanes if not lane.watches]
    twice = [lane.name for lane in lanes if lane.looks_twice]
    has_window = bool(at_once or twice)
    due = rest_seconds - look_seconds * (len(twice) - 1 if twice else 0) if has_window else 0.0
    ticks = int(due / turn_seconds)
    words = {
        "BEGUN": str(len(at_once)),
        "MOST": str(AT_ONCE_IN_A_WINDOW if has_window else AT_ONCE_OTHERWISE),
        "GAP": f"{50 * rest_seconds:.0f}",
        "PATIENT": str(PATIENT_TICKS),
        "SIGN": f"{100 * SIGN_SECONDS:.0f}",
    }
    begun = "".join(f"look '' '' {lane.name}p0\n" for lane in at_once)
    return (
        f"{_CLOCK}{_BEGIN}{begun}clock {ticks} {turn_seconds:g} {max(0.0, due - ticks * turn_seconds):.3g} & T=$!\n"
        f"set -- {' '.join(in_turn)}\nlater='{' '.join(twice)}'{filled_in(_TURNS, words)}{_END}"
    )
