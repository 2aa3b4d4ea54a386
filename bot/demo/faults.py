"""Faults of a simulated node's connection or output, switched on by tests and by the demo's fleet."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Sequence
from dataclasses import dataclass

from bot.demo.machine.command import Answer, CommandRunner

FLOOD_BYTES = 50_000_000
# Control bytes, an escape that clears a terminal, NUL, invalid UTF-8, a right-to-left mark, half a JSON document.
GARBAGE = (
    b'\x1b[2J\x1b]0;owned\x07\x00\xff\xfe{"sysstat": {"hosts": [\r\n'
    b"%z q0 \xe2\x80\xae==> /etc/shadow <==\n\t<!channel>\n"
)


class Fault(enum.Enum):
    """A way in which a node misbehaves."""

    REFUSES = "refuses"  # nothing listens
    SILENT = "silent"  # accepts TCP, then sends nothing
    SILENT_AFTER_BANNER = "silent-after-banner"  # sshd sends its banner, then starves
    OTHER_HOST_KEY = "other-host-key"
    NO_LOGIN = "no-login"  # refuses every key
    CLOSES_IN_THE_MIDDLE = "closes-in-the-middle"  # drops the connection after the first answers
    NO_ANSWER = "no-answer"  # accepts the batch, then sends nothing
    SLOW = "slow"  # every command runs past its limit
    GARBAGE = "garbage"  # every command prints binary junk
    FLOOD = "flood"  # every command prints 50 MB
    SWALLOWS_REBOOT = "swallows-reboot"  # `systemctl reboot` succeeds, and nothing happens
    ENABLED_AT_BOOT = "enabled-at-boot"  # the disabled unit is enabled again while it boots
    STAYS_DOWN = "stays-down"  # reboots and does not come back
    OTHER_KEY_AFTER_BOOT = "other-key-after-boot"  # comes back with another host key
    BOOTED_BY_SOMEBODY = "booted-by-somebody"  # somebody else reboots it soon after a plan was made for it
    CHATTER = "chatter"  # the login's start-up files print 50 MB before the batch answers


@dataclass(frozen=True, slots=True)
class Faulty:
    """A machine with a fault in its commands' output."""

    machine: CommandRunner
    fault: Fault | None

    def uptime(self) -> float:
        """Return the seconds since boot."""
        return self.machine.uptime()

    async def run(self, argv: Sequence[str]) -> Answer:
        """Run the command, or answer with the fault."""
        if self.fault is Fault.SLOW:
            await asyncio.Event().wait()
        if self.fault is Fault.GARBAGE:
            return Answer(GARBAGE * 20, GARBAGE, 0)
        if self.fault is Fault.FLOOD:
            return Answer(b"y\n" * (FLOOD_BYTES // 2))
        return await self.machine.run(argv)
