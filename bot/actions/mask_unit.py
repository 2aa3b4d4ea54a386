"""Keep a unit from starting by any way at all, for one that has no [Install] section or is enabled again by others."""

from __future__ import annotations

import shlex

from bot.actions import restore_unit, unit_state
from bot.domain.action import Action, Args, Facts, RemedyRules
from bot.domain.probe import Snapshot


def commands(args: Args, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the one command; running it twice changes nothing more.

    Example:
    >>> from datetime import datetime, timedelta, timezone
    >>> commands({"unit": "x.service"}, Snapshot("n", datetime.now(timezone.utc), timedelta(seconds=5)))
    ('sudo -n systemctl mask --now -- x.service',)
    """
    return (shlex.join(("sudo", "-n", *rights(args)[0])),)


def rights(args: Args) -> tuple[tuple[str, ...], ...]:
    """Return what is run as root."""
    return (("systemctl", "mask", "--now", "--", args["unit"]),)


def undo(args: Args, before: Facts) -> tuple[str, ...]:
    """Return the commands that bring back what was recorded.

    Example:
    >>> undo({"unit": "x.service"}, {"ActiveState": "inactive", "UnitFileState": "static", "LoadState": "loaded"})
    ('sudo -n systemctl unmask -- x.service',)
    """
    unit = shlex.quote(args["unit"])
    back = ["unmask"] if before.get("LoadState") != "masked" else []
    back += ["start"] if before.get("ActiveState") in ("active", "activating", "reloading") else []
    return tuple(f"sudo -n systemctl {verb} -- {unit}" for verb in back)


ACTION = Action(
    name="mask_unit",
    title="Mask {unit}",
    verb="mask",
    impact="{unit} stops now, and nothing can start it until it is unmasked",
    targets=("unit",),
    commands=commands,
    looks=unit_state.looks,
    facts=unit_state.facts,
    judge=unit_state.masked,
    patience=unit_state.patience,
    undo=undo,
    rights=rights,
    inverse=restore_unit.as_inverse(undo),
    stops_a_unit=True,
    remedy=RemedyRules(before_reboot="a reboot starts again what is not disabled"),
)
