"""Stop a unit now and keep it from starting at the next boot."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from bot.domain.action import Action
from bot.domain.probe import Snapshot


def commands(args: Mapping[str, str], snapshot: Snapshot) -> tuple[str, ...]:
    """Return the one command; running it twice changes nothing more.

    Example:
    >>> from datetime import datetime, timedelta, timezone
    >>> commands({"unit": "ecs.service"}, Snapshot("n", datetime.now(timezone.utc), timedelta(seconds=5)))
    ('sudo -n systemctl disable --now -- ecs.service',)
    """
    return (shlex.join(("sudo", "-n", "systemctl", "disable", "--now", "--", args["unit"])),)


ACTION = Action("disable_unit", "Disable {unit}", commands)
