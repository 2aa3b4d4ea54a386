"""A simulated node that can be changed and rebooted, with the faults of a reboot."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from bot.demo.faults import Fault
from bot.demo.machine import changes
from bot.demo.machine.command import Answer
from bot.demo.machine.machine import Machine
from bot.demo.machine.state import State

GOES_DOWN_AFTER, IS_AWAY_FOR = 0.3, 3.0  # seconds
SOMEBODY_WAITS = 10.0  # seconds until somebody else's reboot: longer than it takes to show the plan


class ActingMachine(Machine):
    """A machine that can be changed, and counts the changes. `power` starts and stops its SSH server."""

    def __init__(
        self, state: State, began_at: datetime, elapsed: Callable[[], float], fault: Fault | None = None
    ) -> None:
        super().__init__(state, began_at, elapsed)
        self._image = state
        self._fault = fault
        self._going_down: asyncio.Task[None] | None = None
        self.power: Callable[[bool], Awaitable[None]] | None = None
        self.reboots = 0
        self.rebooted = asyncio.Event()  # set when it is up again
        self.done: list[str] = []  # every change so far, in order

    async def run(self, argv: Sequence[str]) -> Answer:
        """Run a command. `sudo -l` shows that a plan is being made, which starts the fault that reboots the node."""
        if self._fault is Fault.BOOTED_BY_SOMEBODY and "-l" in argv[2:3] and self._going_down is None:
            self._going_down = asyncio.get_running_loop().create_task(self._reboot(SOMEBODY_WAITS))
            self._fault = None
        return await super().run(argv)

    async def change(self, argv: Sequence[str], root: bool) -> Answer | None:
        """Run a `systemctl` or `sysctl` that changes the node; None if it changes nothing."""
        if list(argv) == ["sysctl", "-w", "vm.drop_caches=3"]:
            return self._dropped(root)
        words = [word for word in argv[1:] if not word.startswith("-")]
        if not words or words[0] not in ("disable", "mask", "enable", "unmask", "start", "reboot"):
            return None
        verb, *names = words
        if not root:
            return Answer.error(f"Failed to {verb}: Interactive authentication required.", 1)
        self.done.append(" ".join(words))
        if verb == "reboot":
            if self._fault is not Fault.SWALLOWS_REBOOT and self._going_down is None:
                self._going_down = asyncio.get_running_loop().create_task(self._reboot())
            return Answer()
        if not names or not any(names[0] in (unit.name, *unit.aliases) for unit in self.state.units):
            return Answer.error(f"Failed to {verb} unit: Unit file {' '.join(names)} does not exist.", 1)
        self.become(self._changed(verb, names[0]))
        return Answer(b"", f"Removed /etc/systemd/system/multi-user.target.wants/{names[0]}.\n".encode())

    def _dropped(self, root: bool) -> Answer:
        if not root:
            return Answer.error('sysctl: permission denied on key "vm.drop_caches"', 1)
        self.done.append("drop_caches")
        self.become(changes.dropped(self.state, self.now()))
        return Answer(b"vm.drop_caches = 3\n")

    def _changed(self, verb: str, name: str) -> State:
        if verb == "disable":
            return changes.disabled(self.state, name, self.now())
        if verb == "mask":
            return changes.masked(self.state, name, self.now())
        if verb == "start":
            return changes.started(self.state, self._image, name, self.now())
        return changes.enabled(self.state, name)

    async def _reboot(self, after: float = GOES_DOWN_AFTER) -> None:
        await asyncio.sleep(after)
        self.reboots += 1
        await self._switch(False)
        if self._fault is Fault.STAYS_DOWN:
            return
        await asyncio.sleep(IS_AWAY_FOR)
        again = next((u.name for u in self._image.units if u.name == self._disabled()), "")
        self.become(
            changes.rebooted(self.state, self._image, again if self._fault is Fault.ENABLED_AT_BOOT else ""),
            booted=True,
        )
        self._going_down = None
        await self._switch(True)
        self.rebooted.set()

    async def _switch(self, on: bool) -> None:
        if self.power is not None:
            await self.power(on)

    def _disabled(self) -> str:
        """The unit that was disabled since the image was made."""
        now = {unit.name: unit.enabled for unit in self.state.units}
        return next((unit.name for unit in self._image.units if unit.enabled != now.get(unit.name)), "")
