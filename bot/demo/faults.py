"""What can be wrong with the way to a simulated node, or with what it prints: switched on by tests and the fleet."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Sequence
from dataclasses import dataclass

from bot.demo.answer import Answer, Answering

FLOOD_BYTES = 50_000_000
# Control bytes, an escape that would clear a terminal, NUL, invalid UTF-8, a right-to-left mark, half a JSON document.
GARBAGE = (
    b'\x1b[2J\x1b]0;owned\x07\x00\xff\xfe{"sysstat": {"hosts": [\r\n'
    b"%z q0 \xe2\x80\xae==> /etc/shadow <==\n\t<!channel>\n"
)


class Fault(enum.Enum):
    """One way for a node to be hard to read."""

    REFUSES = "refuses"  # nothing listens
    SILENT = "silent"  # TCP is accepted, then nothing
    SILENT_AFTER_BANNER = "silent-after-banner"  # sshd is there and starved
    OTHER_HOST_KEY = "other-host-key"
    NO_LOGIN = "no-login"  # every key is refused
    CLOSES_IN_THE_MIDDLE = "closes-in-the-middle"  # the connection breaks after the first answers
    NO_ANSWER = "no-answer"  # the batch is accepted, then nothing
    SLOW = "slow"  # every command outlasts its limit
    GARBAGE = "garbage"  # every command prints bytes that no tool prints
    FLOOD = "flood"  # every command prints 50 MB
    SWALLOWS_REBOOT = "swallows-reboot"  # `systemctl reboot` is accepted, and nothing happens
    ENABLED_AT_BOOT = "enabled-at-boot"  # what was disabled is enabled again while it boots
    STAYS_DOWN = "stays-down"  # it reboots and does not come back
    OTHER_KEY_AFTER_BOOT = "other-key-after-boot"  # what comes back shows another host key
    BOOTED_BY_SOMEBODY = "booted-by-somebody"  # a while after a plan was made for it, somebody else reboots it
    CHATTER = "chatter"  # the login's own scripts print 50 MB before the batch answers


@dataclass(frozen=True, slots=True)
class Faulty:
    """A machine whose commands answer by the fault instead of the machine."""

    machine: Answering
    fault: Fault | None

    def uptime(self) -> float:
        """Return the seconds since boot, which faults leave alone."""
        return self.machine.uptime()

    async def run(self, argv: Sequence[str]) -> Answer:
        """Run the command, or what the fault makes of it."""
        if self.fault is Fault.SLOW:
            await asyncio.Event().wait()
        if self.fault is Fault.GARBAGE:
            return Answer(GARBAGE * 20, GARBAGE, 0)
        if self.fault is Fault.FLOOD:
            return Answer(b"y\n" * (FLOOD_BYTES // 2))
        return await self.machine.run(argv)
