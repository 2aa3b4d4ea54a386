"""Bring a unit back to how it was before it was stopped: what takes back `disable_unit` and `mask_unit`."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from bot.actions import unit_state
from bot.domain.action import Action, Args, Facts, Proof, Step, by_sudo
from bot.domain.command import Outputs

NAME = "restore_unit"
VERBS = ("enable", "unmask", "start")


def as_inverse(undo: Callable[[Args, Facts], tuple[str, ...]]) -> Callable[[Args, Facts], tuple[Step, ...]]:
    """Return what makes one step of the commands by which an action on a unit is undone."""

    def inverse(args: Args, before: Facts) -> tuple[Step, ...]:
        lines = undo(args, before)
        verbs = " ".join(line.split()[3] for line in lines)
        return (Step(NAME, {"unit": args["unit"], "verbs": verbs}, lines),) if lines else ()

    return inverse


def commands_back(args: Args, before: Facts, verb: str) -> tuple[str, ...]:
    """Return the commands that undo: `verb`, where there is one, and a start of a unit that ran or was about to."""
    ran = before.get("ActiveState") in ("active", "activating", "reloading")
    verbs = [verb] * bool(verb) + ["start"] * ran
    return tuple(f"sudo -n systemctl {word} -- {shlex.quote(args['unit'])}" for word in verbs)


def rights(args: Args) -> tuple[tuple[str, ...], ...]:
    """Return what is run as root; every verb where none is named."""
    verbs = args["verbs"].split() if "verbs" in args else VERBS
    return tuple(("systemctl", verb, "--", args["unit"]) for verb in verbs)


def facts(args: Args, outputs: Outputs) -> Facts:
    """Return the unit's state without its restarts: one that crashed before crashes again, and is back all the same.

    Raises: CannotRead when systemd does not say how it is.
    """
    told = unit_state.facts(args, outputs)
    return {name: value for name, value in told.items() if name not in ("NRestarts", "SubState")}


def judge(args: Args, before: Facts, now: Facts) -> Proof:
    """Judge whether the unit is as each verb would have it."""
    return Proof.PROVEN if unit_state.is_back(args["verbs"].split(), now) else Proof.NOT_YET


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
    remedy=None,
)
