"""Reboot a node, but only in the boot that was checked: the command has its own fence."""

from __future__ import annotations

import re
from datetime import timedelta

from bot.domain.action import Action, Args, Facts, Proof, RemedyRules
from bot.domain.command import Command, Outputs
from bot.domain.errors import CannotRead
from bot.domain.probe import Snapshot, Unread
from bot.probes.host import HostReading

_BOOT_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
BOOT = "boot_id"


def commands(args: Args, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the command. However often or late it arrives, it can end only the boot whose id it names.

    Raises: CannotRead when the boot's id was not read.
    """
    host = snapshot.get(HostReading)
    if isinstance(host, Unread) or not _BOOT_ID.match(host.boot_id):
        raise CannotRead("the boot id was not read, and a reboot is never sent without it")
    return (f'test "$(cat /proc/sys/kernel/random/boot_id)" = {host.boot_id} && exec sudo -n systemctl reboot',)


def looks(args: Args) -> tuple[Command, ...]:
    """Return the command that reads the boot id."""
    return (Command("boot", ("cat", "/proc/sys/kernel/random/boot_id"), output_limit_bytes=4096),)


def facts(args: Args, outputs: Outputs) -> Facts:
    """Return the boot id.

    Raises: CannotRead when there is none.
    """
    boot_id = outputs.text("boot").strip().lower()
    if not _BOOT_ID.match(boot_id):
        raise CannotRead("the node does not say which boot this is")
    return {BOOT: boot_id}


def judge(args: Args, before: Facts, now: Facts) -> Proof:
    """Judge whether the node is in another boot."""
    return Proof.NOT_YET if now[BOOT] == before[BOOT] else Proof.PROVEN


ACTION = Action(
    name="reboot",
    title="Reboot node",
    verb="reboot",
    impact="everything that runs on the node ends, and it is away for minutes",
    commands=commands,
    looks=looks,
    facts=facts,
    judge=judge,
    rights=(("systemctl", "reboot"),),  # the fence is not part of them
    settles=False,
    reboots=True,
    remedy=RemedyRules(after_stopping="otherwise the cause comes back after it"),
    limit=timedelta(seconds=20),
)
