"""What stops or is disabled together with a unit, and what starts the unit again, by systemd's own rules.

Defined in: systemd.unit(5), org.freedesktop.systemd1(5). RequiredBy, RequisiteOf, BoundBy and ConsistsOf are in every
supported systemd; PropagatesStopTo since 249, and older versions do not stop units by it. systemd lists loaded units:
those that run, or that a running unit refers to. `systemctl disable` also disables units named by Also= in the unit's
file or drop-ins, and by Also= in those; it does not stop them. No property shows this. It also removes the link of a
unit whose file lies elsewhere (`systemctl link`), and then no `enable` finds the unit again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from bot.domain.action import Args
from bot.domain.command import Command, Outputs
from bot.domain.errors import CannotRead, ProtectedUnit, WouldStopProtected
from bot.domain.protected import is_protected
from bot.domain.safe_text import listed, one_line

STOPS = ("RequiredBy", "RequisiteOf", "BoundBy", "ConsistsOf", "PropagatesStopTo")
PROPERTIES = ("Id", "Names", *STOPS, "TriggeredBy")
MOST = 20  # a card cannot show more units
MOST_CHARS = 600
ALL_TOLD = "-- all told --"  # the last line of a complete answer
_NAME = re.compile(r"[A-Za-z0-9:_.\\@-]{1,255}\Z")
_NAMED = 5  # protected units in a refusal
_LEVELS, _SEEN_CHARS = 8, 6000  # as deep and as far as the node looks; then it says no more
_EACH_LEVEL = " ".join(map(str, range(_LEVELS)))
_ALSO, _LINKED = "Also", "Linked"  # mark what is disabled with the unit, and what would be gone then
_OF_LINKS = "/etc/systemd/system/"
# systemd's output is only split at blanks: `set -f`, and every word is in quotes or after `--`.
_SCRIPT = (
    'set -f; seen=" $1 "; next=$1; '
    f"for level in {_EACH_LEVEL}; do "
    f'said=$(systemctl show --no-pager -p {",".join(PROPERTIES)} -- $next) || exit; printf "%s\\n\\n" "$said"; next=; '
    f'for name in $(printf "%s\\n" "$said" | grep -E "^({"|".join(STOPS)})=" | cut -d = -f 2-); do '
    'case $seen in *" $name "*) ;; *) seen="$seen$name "; next="$next $name" ;; esac; done; '
    f'[ -n "$next" ] || break; [ ${{#seen}} -lt {_SEEN_CHARS} ] || exit; done; [ -z "$next" ] || exit; '
)
# A line that ends with a backslash continues on the next. The section need not be checked: only [Install] has Also=.
_INSTALL = (
    'seen=" $1 "; next=$1; '
    f"for level in {_EACH_LEVEL}; do units=$next; next=; for unit in $units; do "
    'said=$(systemctl show --no-pager -p Id,Names,LoadState -- "$unit") || exit; '
    f'[ "$unit" = "$1" ] || printf "{_ALSO}=yes\\n%s\\n\\n" "$said"; '
    f'at={_OF_LINKS}$unit; [ ! -L "$at" ] || case $(readlink -f -- "$at") in */systemd/system/"$unit") ;; '
    f'*) printf "{_LINKED}=yes\\n%s\\n\\n" "$said" ;; esac; '
    "case $said in *LoadState=not-found*) continue ;; esac; "
    'text=$(systemctl cat --no-pager -- "$unit" 2>/dev/null) || exit; '
    r"""for name in $(printf "%s\n" "$text" | sed -e :a -e '/\\$/{N;s/\\\n/ /;ta' -e '}' | """
    f"grep -E '^[[:blank:]]*{_ALSO}[[:blank:]]*=' | cut -d = -f 2-); do "
    r"case $name in *[!A-Za-z0-9:_.@\\-]*) exit ;; esac; "
    'case $seen in *" $name "*) ;; *) seen="$seen$name "; next="$next $name" ;; esac; done; done; '
    f'[ -n "$next" ] || break; [ ${{#seen}} -lt {_SEEN_CHARS} ] || exit; done; [ -z "$next" ] || exit; '
)
_END = f'echo "{ALL_TOLD}"'


@dataclass(frozen=True, slots=True)
class Dependents:
    """Reads what else an action stops and disables when it stops a unit; `masks`: it masks the unit instead of
    disabling it, so that nothing can start it.
    """

    masks: bool = False

    def looks(self, args: Args) -> tuple[Command, ...]:
        """Return the command, which walks the dependencies on the node; it needs no root."""
        script = _SCRIPT + ("" if self.masks else _INSTALL) + _END
        argv = ("sh", "-c", script, "sh", args["unit"])
        return (Command("dependents", argv, lane="systemd", output_limit_bytes=64 * 1024),)

    def affects(self, args: Args, outputs: Outputs) -> str:
        """Describe what stops or is disabled with the unit, and what starts it again; empty if nothing does.

        Example: "with ecs.service stops b.service; b.timer starts ecs.service again".
        Raises: WouldStopProtected; ProtectedUnit where no undo could bring back what is disabled; CannotRead when
        systemd does not say, or it is more than can be shown.
        """
        unit, shown = args["unit"], _blocks(args["unit"], outputs.text("dependents"))
        if linked := [block for block in shown if _LINKED in block]:
            raise ProtectedUnit(
                f"{_first_names(linked)} would lose its link in {_OF_LINKS}, and no undo brings that back.",
                "Disable it by hand; systemctl enable, with the path of its file, brings it back.",
            )
        stops = [block for block in shown if _ALSO not in block]
        disabled = [block for block in shown if _ALSO in block and block.get("LoadState") != "not-found"]
        own, *others = stops
        if named := _protected_among(others):
            raise WouldStopProtected(
                f"With {unit} would stop {named}: without it the node, or the way to it, is gone.",
                "Stop it by hand, or take the dependency out of its unit file.",
            )
        if named := _protected_among(disabled):
            raise WouldStopProtected(
                f"With {unit} would be disabled {named}: after the next boot the node, or the way to it, is gone.",
                f"Stop it by hand, or take Also= out of the file of {unit}: systemctl cat {unit}",
            )
        words = []
        if others:
            words.append(f"with {unit} stop{'' if len(others) > 1 else 's'} {_first_names(others)}")
            words += [f"what requires {unit} cannot start until it is unmasked"] * self.masks
        if disabled:
            words.append(f"with {unit} {'are' if len(disabled) > 1 else 'is'} disabled {_first_names(disabled)}")
        if triggers := own.get("TriggeredBy", "").split():
            cannot = "can no longer start it" if self.masks else f"can start {unit} again"
            words.append(f"{', '.join(sorted(map(checked_unit_name, triggers)))} {cannot}")
        said = "; ".join(words)
        if len(others) + len(disabled) > MOST or len(said) > MOST_CHARS:
            raise CannotRead(f"more stops with {unit} than can be shown: {one_line(said, 200)}")
        return said


def _first_names(blocks: list[Mapping[str, str]]) -> str:
    return ", ".join(sorted(names_of(block)[0] for block in blocks))


def _protected_among(blocks: list[Mapping[str, str]]) -> str:
    """The protected units among these, for a refusal; empty if there are none."""
    found = sorted(names[0] for names in map(names_of, blocks) if is_protected(names))
    return listed(found, _NAMED) if found else ""


def _blocks(unit: str, text: str) -> list[Mapping[str, str]]:
    """Return the properties of the unit, of each unit that stops with it, and of each that is disabled with it.

    Raises: CannotRead when any of them is missing.
    """
    shown = blocks_of(text, f"systemd does not say what stops with {unit}")
    also = [block for block in shown if _ALSO in block or _LINKED in block]
    blocks = [block for block in shown if block not in also]
    known = {name for block in blocks for name in names_of(block)}
    named = {name for block in blocks for key in STOPS for name in block.get(key, "").split()}
    if missing := sorted(({unit} | named) - known):
        raise CannotRead(f"systemd does not say what {one_line(missing[0], 100)} is, which stops with {unit}")
    (own,) = [block for block in blocks if unit in names_of(block)][:1]
    return [own, *(block for block in blocks if unit not in names_of(block)), *also]


def blocks_of(text: str, because: str) -> list[Mapping[str, str]]:
    """Return the properties of each unit, in order.

    Raises: CannotRead, with `because`, when the answer is incomplete or a unit has no name.
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

    Raises: CannotRead for an invalid unit name.
    """
    names = dict.fromkeys((block.get("Id", ""), *block.get("Names", "").split()))
    return tuple(checked_unit_name(name) for name in names)


def checked_unit_name(name: str) -> str:
    """Return a unit's name after a check.

    Raises: CannotRead for an invalid name.
    """
    if not _NAME.match(name):
        raise CannotRead(f"systemd names an invalid unit: {one_line(name, 60)!r}")
    return name
