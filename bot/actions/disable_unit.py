"""Stop a unit now and keep it from starting at the next boot."""

from __future__ import annotations

from bot.actions import restore_unit, unit_state
from bot.actions.dependents import Dependents
from bot.domain.action import Action, Args, Facts, RemedyRules, by_sudo

RIGHTS = (("systemctl", "disable", "--now", "--", "{unit}"),)


def undo(args: Args, before: Facts) -> tuple[str, ...]:
    """Return the commands that restore the recorded state.

    Example:
    >>> undo({"unit": "ecs.service"}, {"ActiveState": "activating", "UnitFileState": "enabled"})
    ('sudo -n systemctl enable -- ecs.service', 'sudo -n systemctl start -- ecs.service')
    """
    was_enabled = before.get("UnitFileState") in ("enabled", "enabled-runtime")
    return restore_unit.commands_back(args, before, "enable" if was_enabled else "")


ACTION = Action(
    name="disable_unit",
    title="Disable {unit}",
    verb="disable",
    impact="{unit} stops now and does not start at the next boot",
    targets=("unit",),
    commands=by_sudo(RIGHTS),
    looks=unit_state.looks,
    facts=unit_state.facts,
    judge=unit_state.off,
    patience=unit_state.patience,
    rights=RIGHTS,
    inverse=restore_unit.as_inverse(undo),
    stops_a_unit=True,
    around=Dependents(),
    remedy=RemedyRules(before_reboot="a reboot restarts every unit that is not disabled"),
)
