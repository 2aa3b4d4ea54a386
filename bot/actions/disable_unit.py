"""Stop a unit now and keep it from starting at the next boot."""

from __future__ import annotations

import shlex

from bot.actions import restore_unit, unit_state
from bot.domain.action import Action, Args, Facts, RemedyRules
from bot.domain.probe import Snapshot


def commands(args: Args, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the one command; running it twice changes nothing more.

    Example:
    >>> from datetime import datetime, timedelta, timezone
    >>> commands({"unit": "ecs.service"}, Snapshot("n", datetime.now(timezone.utc), timedelta(seconds=5)))
    ('sudo -n systemctl disable --now -- ecs.service',)
    """
    return (shlex.join(("sudo", "-n", *rights(args)[0])),)


def rights(args: Args) -> tuple[tuple[str, ...], ...]:
    """Return what is run as root."""
    return (("systemctl", "disable", "--now", "--", args["unit"]),)


def undo(args: Args, before: Facts) -> tuple[str, ...]:
    """Return the commands that bring back what was recorded.

    Example:
    >>> undo({"unit": "ecs.service"}, {"ActiveState": "activating", "UnitFileState": "enabled"})
    ('sudo -n systemctl enable -- ecs.service', 'sudo -n systemctl start -- ecs.service')
    """
    unit = shlex.quote(args["unit"])
    back = ["enable"] if before.get("UnitFileState") in ("enabled", "enabled-runtime") else []
    back += ["start"] if before.get("ActiveState") in ("active", "activating", "reloading") else []
    return tuple(f"sudo -n systemctl {verb} -- {unit}" for verb in back)


ACTION = Action(
    name="disable_unit",
    title="Disable {unit}",
    verb="disable",
    impact="{unit} stops now and does not start at the next boot",
    targets=("unit",),
    commands=commands,
    looks=unit_state.looks,
    facts=unit_state.facts,
    judge=unit_state.off,
    patience=unit_state.patience,
    undo=undo,
    rights=rights,
    inverse=restore_unit.as_inverse(undo),
    stops_a_unit=True,
    remedy=RemedyRules(before_reboot="a reboot starts again what is not disabled"),
)
