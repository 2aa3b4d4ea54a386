"""The fence around a command that changes a node: it runs only on the approved machine, in the same boot, and in time.

The fence is plain POSIX sh that the login runs without root, so the command's sudoers line does not change.

Source: /proc/sys/kernel/random/boot_id (random(4)), /etc/machine-id (machine-id(5)), /proc/uptime (proc(5)).
"""

from __future__ import annotations

import enum
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.command import Completed

BOOT_ID, MACHINE_ID, UPTIME = "/proc/sys/kernel/random/boot_id", "/etc/machine-id", "/proc/uptime"
# Counted from the node's uptime when last read: enough to write the ledger, to connect and to log in. A command that
# arrives later is not run; it is sent again after another look.
SENT_WITHIN = timedelta(seconds=15)
_SAYS = "not run: "
_WORD = r"('[^']*'|[A-Za-z0-9_@%+=:,./-]+)"


class FenceRefusal(enum.Enum):
    """Why a fence did not let its command run, by exit status."""

    MACHINE = 91
    BOOT = 92
    LATE = 93


_WHY = {FenceRefusal.MACHINE: "another machine", FenceRefusal.BOOT: "another boot", FenceRefusal.LATE: "too late"}


@dataclass(frozen=True, slots=True)
class Fence:
    """Where a command may run, and until when.

    Shape: `machine_id` is in lower case, as everywhere in the bot, whatever case the node's file has. `host_key` is the
    fingerprint that the connection of this command must show; all else is checked in the command's text.
    Units: `until` is the node's uptime, in whole seconds.
    """

    boot_id: str
    machine_id: str
    host_key: str
    until: int

    def around(self, line: str) -> str:
        """Return a shell command that runs `line` only on that machine, in that boot and in time.

        Example:
        >>> Fence("b", "m", "", 60).around("sudo -n systemctl start -- x")[:79]
        'test "$(tr A-F a-f </etc/machine-id)" = m || { echo "not run: another machine" '
        """
        return (
            f'test "$(tr A-F a-f <{MACHINE_ID})" = {shlex.quote(self.machine_id)} || {_no(FenceRefusal.MACHINE)}; '
            f'test "$(cat {BOOT_ID})" = {shlex.quote(self.boot_id)} || {_no(FenceRefusal.BOOT)}; '
            f'up=$(cat {UPTIME}); test "${{up%%.*}}" -lt {self.until:d} || {_no(FenceRefusal.LATE)}; '
            f"{line}"
        )

    def refusal(self, files: Mapping[str, str]) -> FenceRefusal | None:
        """Return why the fence stops its command on a node with these files, None if not; for simulated nodes."""
        if files.get(MACHINE_ID, "").strip().lower() != self.machine_id:
            return FenceRefusal.MACHINE
        if files.get(BOOT_ID, "").strip() != self.boot_id:
            return FenceRefusal.BOOT
        up = files.get(UPTIME, "").partition(".")[0]
        return None if up.isdecimal() and int(up) < self.until else FenceRefusal.LATE


def fenced(text: str) -> tuple[Fence, str] | None:
    """Return the fence in a shell command and the command behind it, None without a fence; for simulated nodes.

    Example:
    >>> fenced(Fence("b", "m", "", 60).around("reboot"))
    (Fence(boot_id='b', machine_id='m', host_key='', until=60), 'reboot')
    """
    found = _AROUND.fullmatch(text)
    if found is None:
        return None
    machine_id, boot_id, until, line = found.groups()
    return Fence(shlex.split(boot_id)[0], shlex.split(machine_id)[0], "", int(until)), line


def refusal_text(why: FenceRefusal) -> str:
    """Return what a fence prints on stderr when it stops its command."""
    return _SAYS + _WHY[why]


def refusal_of(ended: Completed) -> FenceRefusal | None:
    """Return why the fence stopped a command; None if the command ran or this is not known."""
    for why in FenceRefusal:
        if ended.exit_status == why.value and refusal_text(why) in ended.stderr:
            return why
    return None


def _no(why: FenceRefusal) -> str:
    return f'{{ echo "{refusal_text(why)}" >&2; exit {why.value}; }}'


_AROUND = re.compile(
    re.escape(Fence("BOOT", "MACHINE", "", 0).around("LINE"))
    .replace("=\\ MACHINE", f"=\\ {_WORD}")
    .replace("=\\ BOOT", f"=\\ {_WORD}")
    .replace("\\-lt\\ 0", "\\-lt\\ ([0-9]+)")
    .replace("LINE", "(.*)")
)
