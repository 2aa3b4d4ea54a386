"""Keep a unit from starting in any way, for units without [Install] section or that something enables again."""

from __future__ import annotations

from bot.actions import restore_unit, unit_state
from bot.actions.dependents import Dependents
from bot.domain.action import Action, Args, Facts, RemedyRules, by_sudo

RIGHTS = (("systemctl", "mask", "--now", "--", "{unit}"),)


def undo(args: Args, before: Facts) -> tuple[str, ...]:
    """Return the commands that restore the recorded state.

    Example:
    >>> undo({"unit": "x.service"}, {"ActiveState": "inactive", "UnitFileState": "static", "LoadState": "loaded"})
    ('sudo -n systemctl unmask -- x.service',)
    """
    was_masked = before.get("LoadState") == "masked"
    return restore_unit.commands_back(args, before, "" if was_masked else "unmask")


ACTION = Action(
    name="mask_unit",
    title="Mask {unit}",
    verb="mask",
    impact="{unit} stops now, and nothing can start it until it is unmasked",
    targets=("unit",),
    commands=by_sudo(RIGHTS),
    looks=unit_state.looks,
    facts=unit_state.facts,
    judge=unit_state.masked,
    patience=unit_state.patience,
    rights=RIGHTS,
    inverse=restore_unit.as_inverse(undo),
    stops_a_unit=True,
    around=Dependents(masks=True),
    remedy=RemedyRules(before_reboot="a reboot restarts every unit that is not disabled"),
)
