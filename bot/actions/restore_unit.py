"""Restore a unit's state from before it was stopped: undoes `disable_unit` and `mask_unit`."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass

from bot.actions import unit_state
from bot.actions.conflicts import Conflicts
from bot.domain.action import Action, Args, Facts, Proof, Step, by_sudo
from bot.domain.command import Command, Outputs

NAME = "restore_unit"
_CONFLICTS = Conflicts()
VERBS = ("enable", "unmask", "start")


def as_inverse(undo: Callable[[Args, Facts], tuple[str, ...]]) -> Callable[[Args, Facts], tuple[Step, ...]]:
    """Return a function that makes a step from an action's undo commands."""

    def inverse(args: Args, before: Facts) -> tuple[Step, ...]:
        lines = undo(args, before)
        verbs = " ".join(line.split()[3] for line in lines)
        return (Step(NAME, {"unit": args["unit"], "verbs": verbs}, lines),) if lines else ()

    return inverse


def commands_back(args: Args, before: Facts, verb: str) -> tuple[str, ...]:
    """Return the undo commands: `verb`, if not empty, and a start if the unit ran or was about to."""
    ran = before.get("ActiveState") in ("active", "activating", "reloading")
    verbs = [verb] * bool(verb) + ["start"] * ran
    return tuple(f"sudo -n systemctl {word} -- {shlex.quote(args['unit'])}" for word in verbs)


def rights(args: Args) -> tuple[tuple[str, ...], ...]:
    """Return the argument lists run as root; without verbs, those of all verbs."""
    verbs = args["verbs"].split() if "verbs" in args else VERBS
    return tuple(("systemctl", verb, "--", args["unit"]) for verb in verbs)


def facts(args: Args, outputs: Outputs) -> Facts:
    """Return the unit's state without its restarts: a unit that crashed before may crash again, and still be restored.

    Raises: CannotRead when systemd does not tell its state.
    """
    properties = unit_state.facts(args, outputs)
    return {name: value for name, value in properties.items() if name not in ("NRestarts", "SubState")}


def judge(args: Args, before: Facts, now: Facts) -> Proof:
    """Judge whether the unit has the state that the verbs lead to."""
    return Proof.PROVEN if unit_state.is_back(args["verbs"].split(), now) else Proof.NOT_YET


@dataclass(frozen=True, slots=True)
class StartedAgain:
    """Reads what else a start among the verbs starts and stops; the other verbs start and stop nothing.

    For a masked unit systemd knows which units conflict with it, but not its own conflicts.
    """

    def looks(self, args: Args) -> tuple[Command, ...]:
        """Return the command, if the unit is started."""
        return _CONFLICTS.looks(args) if _starts(args) else ()

    def affects(self, args: Args, outputs: Outputs) -> str:
        """Describe what starts with the unit and what stops for it. Raises: as in `Conflicts`."""
        return _CONFLICTS.affects(args, outputs) if _starts(args) else ""


def _starts(args: Args) -> bool:
    return "start" in args["verbs"].split()


ACTION = Action(
    name=NAME,
    title="Bring back {unit}",
    verb="bring back",
    impact="{unit} is brought back ({verbs})",
    targets=("unit",),
    commands=by_sudo(rights),
    looks=unit_state.looks,
    facts=facts,
    judge=judge,
    patience=lambda before: unit_state.SHORTEST,
    rights=rights,
    around=StartedAgain(),
    remedy=None,
)
