"""Reboot a node, but only in the boot that was checked, and only while nothing is at work there that it would cut off.

The command has its own fence. What must not be cut off is read again just before it (`CutOff`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.action import Action, Args, Facts, Proof, RemedyRules
from bot.domain.command import Command, Outputs, SampleTimes
from bot.domain.errors import CannotRead, WouldCutOff
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import listed
from bot.probes import unfinished
from bot.probes.formats.systemctl import shown_units
from bot.probes.host import HostReading
from bot.probes.units import works_once

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


def boot_id_command(args: Args) -> tuple[Command, ...]:
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


_NO_SYSTEMD, _END = "no /run/systemd/system", "-- end of units --"
_STARTING = (
    f"[ -d /run/systemd/system ] || {{ echo '{_NO_SYSTEMD}'; exit; }}; "
    "systemctl show --no-pager --state=activating -p Id,Type,ActiveState,SubState,NRestarts '*.service' && "
    f"echo '{_END}'"
)


@dataclass(frozen=True, slots=True)
class CutOff:
    """Reads again what a reboot would cut off or trip over; the step waits for it while its approval lives."""

    def looks(self, args: Args) -> tuple[Command, ...]:
        """Return the command of the probe, and one for oneshots at two looks; neither needs root."""
        starting = Command("starting", ("sh", "-c", _STARTING), looks=SampleTimes.TWICE, lane="systemd")
        return (*unfinished.PROBE.commands, starting)

    def affects(self, args: Args, outputs: Outputs) -> str:
        """Return an empty text: what was not read is told with the plan.

        Raises: WouldCutOff; CannotRead when the node does not say.
        """
        found = [each.says for each in unfinished.parse(outputs).found]
        first, later = (_starting(outputs.text("starting", look)) for look in (0, 1))
        found += [f"{name} is at work and ends by itself" for name in first if name in later]
        if found:
            raise WouldCutOff(f"{listed(found, 3, '; ')}.", "Let it end, or mend it, and then reboot.")
        return ""


def _starting(text: str) -> frozenset[str]:
    lines = text.splitlines()
    if lines == [_NO_SYSTEMD]:
        return frozenset()
    if lines[-1:] != [_END]:
        raise CannotRead("systemd does not say which units are starting")
    units = shown_units("\n".join(lines[:-1]), {})
    return frozenset(unit.get("Id", "") for unit in units if works_once(unit))


ACTION = Action(
    name="reboot",
    title="Reboot node",
    verb="reboot",
    impact="everything that runs on the node ends, and it is away for minutes",
    commands=commands,
    looks=boot_id_command,
    facts=facts,
    judge=judge,
    rights=(("systemctl", "reboot"),),  # the fence is not part of them
    around=CutOff(),
    settles=False,
    reboots=True,
    remedy=RemedyRules(after_stopping="otherwise the cause comes back after it"),
    limit=timedelta(seconds=20),
)
