"""A simulated node: state in memory, a clock, answers to commands that read it, and what changes and reboots it."""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
import shlex
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

from bot.demo.faults import Fault
from bot.demo.machine import changes, proc_files
from bot.demo.machine.answers import tool
from bot.demo.machine.command import Answer, Asked
from bot.demo.machine.recorder import Recorder, may_be_recorder
from bot.demo.machine.state import Moment, State
from bot.domain.fence import BOOT_ID, MACHINE_ID, UPTIME, parse_fenced, refusal_text

# An action is a shell command behind its fence; a reboot's asks for the boot once more.
_ONE_BOOT = re.compile(r'test "\$\(cat /proc/sys/kernel/random/boot_id\)" = (\S+) && exec (sudo -n systemctl reboot)')
_PLAIN = re.compile(r"sudo -n (?:systemctl [a-z]+[A-Za-z0-9@:._ \\-]*|sysctl -w vm\.drop_caches=3)")
GOES_DOWN_AFTER, IS_AWAY_FOR = 0.3, 3.0  # seconds
SOMEBODY_WAITS = 10.0  # seconds until somebody else's reboot: longer than it takes to show the plan
_REFUSED = Answer.error("sudo: a password is required")


class Machine:
    """A simulated node. `elapsed` returns the seconds since `began_at`, when the uptime was the state's.

    It counts what changed it. `power` starts and stops its SSH server.
    """

    def __init__(
        self, state: State, began_at: datetime, elapsed: Callable[[], float], fault: Fault | None = None
    ) -> None:
        self.began_at = began_at
        self.elapsed = elapsed
        self.recorder = Recorder()
        self.state = self._image = state
        self._booted = 0.0  # the value of `elapsed` when the state's uptime held
        self._fault = fault
        self._going_down: asyncio.Task[None] | None = None
        self.power: Callable[[bool], Awaitable[None]] | None = None
        self.reboots = 0
        self.rebooted = asyncio.Event()  # set when it is up again
        self.done: list[str] = []  # every change so far, in order

    def become(self, state: State, booted: bool = False) -> None:
        """Change to another state. With `booted` the uptime starts again."""
        if booted:
            self._booted = self.elapsed()
            self.recorder.forget()
        self.state = state

    def now(self) -> Moment:
        """Return the node's time."""
        return Moment(self.uptime(), self.began_at + timedelta(seconds=self.elapsed()))

    def uptime(self) -> float:
        """Return the seconds since boot."""
        return self.state.uptime + self.elapsed() - self._booted

    def read_file(self, path: str) -> str:
        """Return a file's first line, empty if there is no such file."""
        return (proc_files.read(path, self.state, self.now()) or "").partition("\n")[0]

    async def run(self, argv: Sequence[str]) -> Answer:
        """Run a command. It takes as long as the real command would; an unknown command ends with status 127."""
        root = False
        if list(argv[:2]) == ["sudo", "-n"]:
            if not self.state.sudo:
                return _REFUSED
            root, argv = True, argv[2:]
        if argv and argv[0] == "-l":  # a plan is being made
            if self._fault is Fault.BOOTED_BY_SOMEBODY and self._going_down is None:
                self._fault, self._going_down = None, self._reboot_later(SOMEBODY_WAITS)
            return Answer.text(f"/usr/bin/{' '.join(argv[1:])}\n")
        argv = tuple(argv[4:] if argv and argv[0] == "timeout" else argv)  # the limit is the batch's
        if not argv:
            return Answer.error("sudo: no command", 1)
        if argv[0] in ("systemctl", "sysctl") and (changed := self._change_node(argv, root)) is not None:
            return changed
        return await self._run_action_line(argv) if _may_act(argv[-1]) else await self._answer_question(argv)

    async def _run_action_line(self, argv: tuple[str, ...]) -> Answer:
        """Run a command line of an action: behind its fence, in one boot, or plain."""
        line = argv[-1]
        if (found := parse_fenced(line)) is not None:
            why = found[0].refusal({path: self.read_file(path) for path in (MACHINE_ID, BOOT_ID, UPTIME)})
            if why is not None:
                return Answer.error(refusal_text(why), why.value)
            return await self.run(("sh", "-c", found[1]))
        if (told := self.recorder.answer(line, self.state, self.now())) is not None:
            return told
        if (boot := _ONE_BOOT.fullmatch(line)) is not None:
            return await self.run(shlex.split(boot[2])) if boot[1] == self.state.boot_id else Answer(status=1)
        return await (self.run(shlex.split(line)) if _PLAIN.fullmatch(line) else self._answer_question(argv))

    async def _answer_question(self, argv: tuple[str, ...]) -> Answer:
        answers = tool(argv)
        if answers is None:
            return Answer.error(f"a demo node: {argv[0] if argv[0] != 'sh' else argv[-1]} is not recorded here", 127)
        if not self.state.sudo and "sudo -n" in argv[-1]:
            return _REFUSED
        answer = answers(Asked(argv, self.state, self.now))
        told = await answer if inspect.isawaitable(answer) else answer
        return Answer.text(told) if isinstance(told, str) else told

    def _change_node(self, argv: Sequence[str], root: bool) -> Answer | None:
        """Run a `systemctl` or `sysctl` that changes the node; None if it changes nothing."""
        verb, *names = [word for word in argv[1:] if not word.startswith("-")] or [""]
        if verb not in ("disable", "mask", "enable", "unmask", "start", "reboot", "vm.drop_caches=3"):
            return None
        if not root:
            return Answer.error(f"Failed to {verb}: Interactive authentication required.", 1)
        self.done.append(" ".join([verb, *names]) if argv[0] == "systemctl" else "drop_caches")
        if argv[0] == "sysctl":
            self.become(changes.after_dropped_caches(self.state, self.now()))
            return Answer(b"vm.drop_caches = 3\n")
        if verb == "reboot":
            if self._fault is not Fault.SWALLOWS_REBOOT and self._going_down is None:
                self._going_down = self._reboot_later(GOES_DOWN_AFTER)
            return Answer()
        try:
            self.become(changes.after_systemctl(self.state, self._image, verb, " ".join(names), self.now()))
        except LookupError:
            return Answer.error(f"Failed to {verb} unit: Unit file {' '.join(names)} does not exist.", 1)
        return Answer(b"", f"Removed /etc/systemd/system/multi-user.target.wants/{names[0]}.\n".encode())

    def _reboot_later(self, after: float) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(self._reboot(after))

    async def _reboot(self, after: float) -> None:
        await asyncio.sleep(after)
        self.reboots += 1
        await self._set_power(False)
        if self._fault is Fault.STAYS_DOWN:
            return
        await asyncio.sleep(IS_AWAY_FOR)
        pairs = zip(self._image.units, self.state.units, strict=True)
        off = [was.name for was, unit in pairs if was.enabled != unit.enabled]
        again = off[0] if off and self._fault is Fault.ENABLED_AT_BOOT else ""
        self.become(changes.after_reboot(self.state, self._image, again), booted=True)
        self._going_down = None
        await self._set_power(True)
        self.rebooted.set()

    async def _set_power(self, on: bool) -> None:
        if self.power is not None:
            await self.power(on)


@functools.lru_cache(maxsize=512)
def _may_act(line: str) -> bool:
    """True for a line with a fence, or with words of an action or of the recorder; every node is sent the same ones."""
    is_fenced = (
        parse_fenced(line) is not None or _ONE_BOOT.fullmatch(line) is not None or _PLAIN.fullmatch(line) is not None
    )
    return is_fenced or may_be_recorder(line)
