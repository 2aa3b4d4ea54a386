r"""When the lanes of a batch run, as shell code.

Lanes that watch throughout begin at once and run beside all others. The others take turns, so that the node bears the
processes of few commands at a time: a lane begins when the one before it has ended. One that hangs is waited for only
briefly, once. When second looks are due they go before first looks that still wait; each comes after its lane's first.

Main waits for lines in a pipe that it holds open for both ways (descriptor 8): a look's name when it has ended, `tick`
from a clock, and `due`. POSIX sh cannot make such a pipe; Linux opens one anew by its name in /proc (pipe(7), proc(5)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.batch_shell import LANE_MARK

# Looks that run beside one another, apart from lanes that watch. Without a window the answer should be there soon.
AT_ONCE_IN_A_WINDOW = 1
AT_ONCE_OTHERWISE = 3

_BEGIN = (
    f"""
: | {{
if {{ :; }} 8<>/proc/self/fd/0; then exec 8<>/proc/self/fd/0 </dev/null
else echo "{LANE_MARK}! $N missing /proc/self/fd"; exit 1; fi
"""
    r"""
watch() { "$1" 3>&1 | emit "$1" & LANES="$LANES $!"; }
look() { "$1" 3>&1 | { emit "$1"; echo "$1" >&8; } & LANES="$LANES $!"; }
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
  pause "$3"; echo due
  while :; do pause "$2"; echo tick; done
}
"""
# `run` is how many looks run. A tick while others wait counts as an end: whoever runs for so long may hang.
_TURNS = r"""
run=0 ended=' '
while [ $# -gt 0 ] || [ -n "$later" ]; do
  next= rest=
  case $ended in
    *' due '*) for lane in $later; do
      case "$next $ended" in ' '*" ${lane}p0 "*) next=${lane}p1;; *) rest="$rest $lane";; esac
    done;;
  esac
  if [ $run -lt @MOST@ ] && [ -n "$next" ]; then later=$rest
  elif [ $run -lt @MOST@ ] && [ $# -gt 0 ]; then next=${1}p0; shift; @PAUSE@
  else
    next=$next$*
    read -r said <&8
    ended="$ended$said "
    case $said in
      due) ;;
      tick) [ -z "$next" ] || run=$((run - 1));;
      *) run=$((run - 1));;
    esac
    continue
  fi
  run=$((run + 1))
  look "$next"
done
"""
_END = r"""
wait $LANES
kill $W; wait $W
echo "%z. $N"
}
"""


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane, by the name of its looks' shell functions: `l2` has `l2p0` and perhaps `l2p1`."""

    name: str
    watches: bool = False  # it lasts the window
    looks_twice: bool = False


def lanes_script(lanes: Sequence[Lane], rest_seconds: float, turn_seconds: float, stagger_seconds: float) -> str:
    """Return the shell code that runs the lanes, which begin in the given order, and waits for their end.

    Units: in a window, a lane begins `stagger_seconds` after the end of the one before it, because the kernel needs a
    moment to free what has ended; it waits for that end `turn_seconds` at most. The last second look is due after
    `rest_seconds`, the first one earlier by `stagger_seconds` for each of the others.
    """
    at_once = [lane for lane in lanes if lane.watches]
    in_turn = [lane.name for lane in lanes if not lane.watches]
    twice = [lane.name for lane in lanes if lane.looks_twice]
    has_window = bool(at_once or twice)
    most = AT_ONCE_IN_A_WINDOW if has_window else AT_ONCE_OTHERWISE
    script = _BEGIN + "".join(f"{'look' if lane.looks_twice else 'watch'} {lane.name}p0\n" for lane in at_once)
    if not twice and len(in_turn) <= most:
        return script + "".join(f"look {name}p0\n" for name in in_turn) + _END
    due = rest_seconds - stagger_seconds * (len(twice) - 1 if twice else 0)
    ticks = int(due / turn_seconds)
    turns = _TURNS.replace("@MOST@", str(most)).replace("@PAUSE@", f"sleep {stagger_seconds:g}" if has_window else ":")
    return (
        f"{_CLOCK}{script}clock {ticks} {turn_seconds:g} {max(0.0, due - ticks * turn_seconds):.3g} & T=$!\n"
        f"set -- {' '.join(in_turn)}\nlater='{' '.join(twice)}'{turns}kill $T{_END}"
    )
