"""What starts together with a unit, and what systemd stops because it conflicts with the unit.

Defined in: systemd.unit(5): what a unit requires and wants is started with it; `Conflicts=`, in either direction, stops
running units. org.freedesktop.systemd1(5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.actions.dependents import ALL_TOLD, MOST, MOST_CHARS, blocks_of, checked_unit_name, names_of
from bot.domain.action import Args
from bot.domain.command import Command, Outputs
from bot.domain.errors import CannotRead, WouldStopProtected
from bot.domain.protected import is_protected
from bot.domain.safe_text import one_line

STARTS = ("Requires", "BindsTo", "Wants", "Upholds")  # Upholds since systemd 249
AGAINST = ("Conflicts", "ConflictedBy")
_STATE = ("Id", "Names", "LoadState", "ActiveState")
_RUNNING = ("active", "reloading", "refreshing", "activating", "deactivating", "maintenance")
_AT_REST = ("inactive", "failed")
_LEVELS, _SEEN_CHARS = 8, 6000  # limits of the walk on the node; beyond them it gives no answer
# Only units that do not run are followed, because a start does nothing to the others; `shutdown.target` conflicts with
# every unit. systemd's output is only split at blanks: `set -f`, and every word is in quotes or after `--`.
_SCRIPT = (
    'set -f; seen=" $1 "; next=$1; against=; '
    f"for level in {' '.join(map(str, range(_LEVELS)))}; do "
    f"said=$(systemctl show --no-pager -p {','.join((*_STATE, *STARTS, *AGAINST))} -- $next) || exit; "
    'printf "%s\\n\\n" "$said"; next=; '
    f'rests=$(printf "%s\\n" "$said" | awk -v RS= "!/(^|\\n)ActiveState=({"|".join(_RUNNING)})(\\n|\\$)/"); '
    f'against="$against "$(printf "%s\\n" "$rests" | grep -E "^({"|".join(AGAINST)})=" | cut -d = -f 2-); '
    f'for name in $(printf "%s\\n" "$rests" | grep -E "^({"|".join(STARTS)})=" | cut -d = -f 2-); do '
    'case $seen in *" $name "*) ;; *) seen="$seen$name "; next="$next $name" ;; esac; done; '
    '[ -n "$next" ] || break; [ ${#seen} -lt '
    f'{_SEEN_CHARS} ] || exit; done; [ -z "$next" ] || exit; for name in $against; do '
    'case $seen in *" $name "*) ;; *) seen="$seen$name "; next="$next $name" ;; esac; done; '
    f'[ -z "$next" ] || systemctl show --no-pager -p {",".join(_STATE)} -- $next || exit; echo; echo "{ALL_TOLD}"'
)


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Reads what else a start of a unit starts and stops."""

    def looks(self, args: Args) -> tuple[Command, ...]:
        """Return the command, which walks the dependencies on the node; it needs no root."""
        argv = ("sh", "-c", _SCRIPT, "sh", args["unit"])
        return (Command("conflicts", argv, lane="systemd", output_limit_bytes=64 * 1024),)

    def affects(self, args: Args, outputs: Outputs) -> str:
        """Describe what starts with the unit and what stops for it; empty if nothing does.

        Example: "with kubelet.service starts containerd.service; for it stops firewalld.service".
        Raises: WouldStopProtected; CannotRead when systemd does not say, or it is more than can be shown.
        """
        unit = args["unit"]
        starts, stops = _would_start_and_stop(unit, outputs.text("conflicts"))
        if found := sorted(names[0] for names in stops if is_protected(names)):
            raise WouldStopProtected(
                f"For {unit} systemd would stop {', '.join(found[:MOST])}: without it the node, or the way to it, is "
                "gone.",
                "Start it by hand, or take the conflict out of its unit file.",
            )
        words = [f"with {unit} {_verb_for_count('start', starts)} {', '.join(sorted(starts))}"] if starts else []
        others = sorted(names[0] for names in stops)
        words += [f"for {unit} {_verb_for_count('stop', others)} {', '.join(others)}"] if others else []
        said = "; ".join(words)
        if len(starts) + len(stops) > MOST or len(said) > MOST_CHARS:
            raise CannotRead(f"a start of {unit} starts and stops more units than can be shown: {one_line(said, 200)}")
        return said


def _would_start_and_stop(unit: str, text: str) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the names of the units that start with it, and all names of each unit that stops for it."""
    because = f"systemd does not say what starts with {unit}, and what stops for it"
    known = {name: block for block in blocks_of(text, because) for name in names_of(block)}
    if unit not in known:
        raise CannotRead(because)
    started, against = [unit], list[str]()
    for name in started:
        block = _unit_block(known, name)
        if block.get("LoadState") in ("not-found", "masked") or block.get("ActiveState") in _RUNNING:
            continue
        started += [each for key in STARTS for each in block.get(key, "").split() if each not in started]
        against += [each for key in AGAINST for each in block.get(key, "").split()]
    rests = [name for name in started[1:] if _would_start(known[name])]
    running = [
        names_of(_unit_block(known, name))
        for name in dict.fromkeys(against)
        if _is_running(_unit_block(known, name), name)
    ]
    return sorted({names_of(known[name])[0] for name in rests} - set(names_of(known[unit]))), running


def _unit_block(known: Mapping[str, Mapping[str, str]], name: str) -> Mapping[str, str]:
    if checked_unit_name(name) not in known:
        raise CannotRead(f"systemd does not say how {name} is")
    return known[name]


def _would_start(block: Mapping[str, str]) -> bool:
    return block.get("LoadState") == "loaded" and block.get("ActiveState") not in _RUNNING


def _is_running(block: Mapping[str, str], name: str) -> bool:
    state = block.get("ActiveState", "")
    if state not in (*_RUNNING, *_AT_REST):
        raise CannotRead(f"systemd does not say whether {name} runs")
    return state in _RUNNING


def _verb_for_count(verb: str, of: list[str]) -> str:
    return verb if len(of) > 1 else f"{verb}s"
