"""What stops together with a unit, and what starts it again, as systemd itself would do it.

Defined in: systemd.unit(5), org.freedesktop.systemd1(5). RequiredBy, RequisiteOf, BoundBy and ConsistsOf are in every
systemd that we meet; PropagatesStopTo since 249, and who has it not stops nothing by it. systemd names units that are
loaded, which those are that run, or that something which runs refers to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from bot.domain.action import Args
from bot.domain.command import Command, Outputs
from bot.domain.errors import CannotRead, WouldStopProtected
from bot.domain.protected import is_protected
from bot.domain.safe_text import one_line

STOPS = ("RequiredBy", "RequisiteOf", "BoundBy", "ConsistsOf", "PropagatesStopTo")
PROPERTIES = ("Id", "Names", *STOPS, "TriggeredBy")
MOST = 20  # what stops with more is nothing that a card can show
MOST_CHARS = 600
ALL_TOLD = "-- all told --"  # the last line of a look that came to its end
_NAME = re.compile(r"[A-Za-z0-9:_.\\@-]{1,255}\Z")
_NAMED = 5  # protected units in a refusal
_LEVELS, _SEEN_CHARS = 8, 6000  # as deep and as far as the node looks; then it says no more
# What systemd prints is split at blanks and nothing more: `set -f`, and every word stands in quotes or behind `--`.
_SCRIPT = (
    'set -f; seen=" $1 "; next=$1; '
    f"for level in {' '.join(map(str, range(_LEVELS)))}; do "
    f'said=$(systemctl show --no-pager -p {",".join(PROPERTIES)} -- $next) || exit; printf "%s\\n\\n" "$said"; next=; '
    f'for name in $(printf "%s\\n" "$said" | grep -E "^({"|".join(STOPS)})=" | cut -d = -f 2-); do '
    'case $seen in *" $name "*) ;; *) seen="$seen$name "; next="$next $name" ;; esac; done; '
    f'[ -n "$next" ] || {{ echo "{ALL_TOLD}"; exit; }}; [ ${{#seen}} -lt {_SEEN_CHARS} ] || exit; done'
)


@dataclass(frozen=True, slots=True)
class Dependents:
    """Reads what an action that stops a unit stops beside it; `masks`: the unit cannot be started any more."""

    masks: bool = False

    def looks(self, args: Args) -> tuple[Command, ...]:
        """Return the one look, level by level on the node itself; it needs no root."""
        argv = ("sh", "-c", _SCRIPT, "sh", args["unit"])
        return (Command("dependents", argv, lane="systemd", output_limit_bytes=64 * 1024),)

    def affects(self, args: Args, outputs: Outputs) -> str:
        """Return in words what stops with the unit and what starts it again; nothing where nothing does.

        Example: "with ecs.service stops b.service; b.timer starts ecs.service again".
        Raises: WouldStopProtected; CannotRead when systemd does not say, or it is more than can be shown.
        """
        unit, told = args["unit"], _blocks(args["unit"], outputs.text("dependents"))
        own, *others = told
        if found := sorted(names[0] for names in map(names_of, others) if is_protected(names)):
            named = ", ".join(found[:_NAMED]) + (f" and {len(found) - _NAMED} more" if len(found) > _NAMED else "")
            raise WouldStopProtected(
                f"With {unit} would stop {named}: without it the node, or the way to it, is gone.",
                "Stop it by hand, or take the dependency out of its unit file.",
            )
        words = []
        if others:
            words.append(f"with {unit} {_stop(others)} {', '.join(sorted(names_of(other)[0] for other in others))}")
            words += [f"what requires {unit} cannot start until it is unmasked"] * self.masks
        if triggers := own.get("TriggeredBy", "").split():
            cannot = "can no longer start it" if self.masks else f"can start {unit} again"
            words.append(f"{', '.join(sorted(map(checked, triggers)))} {cannot}")
        said = "; ".join(words)
        if len(others) > MOST or len(said) > MOST_CHARS:
            raise CannotRead(f"more stops with {unit} than can be shown: {one_line(said, 200)}")
        return said


def _stop(others: list[Mapping[str, str]]) -> str:
    return "stop" if len(others) > 1 else "stops"


def _blocks(unit: str, text: str) -> list[Mapping[str, str]]:
    """Return the properties of the unit, and of each that stops with it.

    Raises: CannotRead where one of them is missing.
    """
    blocks = blocks_of(text, f"systemd does not say what stops with {unit}")
    known = {name for block in blocks for name in names_of(block)}
    named = {name for block in blocks for key in STOPS for name in block.get(key, "").split()}
    if missing := sorted(({unit} | named) - known):
        raise CannotRead(f"systemd does not say what {one_line(missing[0], 100)} is, which stops with {unit}")
    (own,) = [block for block in blocks if unit in names_of(block)][:1]
    return [own, *(block for block in blocks if unit not in names_of(block))]


def blocks_of(text: str, because: str) -> list[Mapping[str, str]]:
    """Return the properties of each unit, in order.

    Raises: CannotRead, with `because`, where the look did not come to its end or a unit is not named.
    """
    lines = text.rstrip("\n").split("\n")
    if lines[-1] != ALL_TOLD:
        raise CannotRead(f"{because}, or it is more than can be shown")
    blocks: list[Mapping[str, str]] = [
        dict(line.split("=", 1) for line in block.split("\n") if "=" in line)
        for block in "\n".join(lines[:-1]).split("\n\n")
        if block.strip()
    ]
    if not all(block.get("Id") for block in blocks):
        raise CannotRead(because)
    return blocks


def names_of(block: Mapping[str, str]) -> tuple[str, ...]:
    """Return a unit's names, its own first.

    Raises: CannotRead for what can be no unit's name.
    """
    names = dict.fromkeys((block.get("Id", ""), *block.get("Names", "").split()))
    return tuple(checked(name) for name in names)


def checked(name: str) -> str:
    """Return the name of a unit.

    Raises: CannotRead for what can be none.
    """
    if not _NAME.match(name):
        raise CannotRead(f"systemd names a unit that can be none: {one_line(name, 60)!r}")
    return name
