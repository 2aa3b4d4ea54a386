"""Keep a unit from starting by any way at all, for one that has no [Install] section or is enabled again by others."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from bot.domain.action import Action
from bot.domain.probe import Snapshot


def commands(args: Mapping[str, str], snapshot: Snapshot) -> tuple[str, ...]:
    """Return the one command; running it twice changes nothing more.

    Example:
    >>> from datetime import datetime, timedelta, timezone
    >>> commands({"unit": "x.service"}, Snapshot("n", datetime.now(timezone.utc), timedelta(seconds=5)))
    ('sudo -n systemctl mask --now -- x.service',)
    """
    return (shlex.join(("sudo", "-n", "systemctl", "mask", "--now", "--", args["unit"])),)


ACTION = Action("mask_unit", "Mask {unit}", commands)
