"""Reboot a node, but only the boot that was looked at: the command carries its own fence."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bot.domain.action import Action
from bot.domain.errors import CannotRead
from bot.domain.probe import Snapshot, Unread
from bot.domain.readings.host import HostReading

_BOOT_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


def commands(args: Mapping[str, str], snapshot: Snapshot) -> tuple[str, ...]:
    """Return the one command. However often or late it arrives, it can end only the boot whose id it names.

    Raises: CannotRead when the boot's id was not read.
    """
    host = snapshot.get(HostReading)
    if isinstance(host, Unread) or not _BOOT_ID.match(host.boot_id):
        raise CannotRead("the boot id was not read, and a reboot is never sent without it")
    return (f'test "$(cat /proc/sys/kernel/random/boot_id)" = {host.boot_id} && exec sudo -n systemctl reboot',)


ACTION = Action("reboot", "Reboot node", commands)
