"""A simulated node: in-memory state that moves with a clock, and an answer to every command that looks at it."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from bot.demo.answer import Answer
from bot.demo.machine import kernel_log, mpstat, network, nic_counters, proc_files, processes, systemd
from bot.demo.machine.files import Files
from bot.demo.machine.fragments import FRAGMENTS
from bot.demo.machine.here import Here, Tool
from bot.demo.machine.state import Moment, State

_BOOT_ID = "/proc/sys/kernel/random/boot_id"
# What acts comes as one line for a shell: a plain command, or one behind the fence that names the boot it is for.
_FENCE = re.compile(r'test "\$\(cat /proc/sys/kernel/random/boot_id\)" = (\S+) && exec (?:sudo -n systemctl reboot)')
_PLAIN = re.compile(r"sudo -n (?:systemctl [a-z]+[A-Za-z0-9@:._ \\-]*|sysctl -w vm\.drop_caches=3)")


class Machine:
    """One simulated node. `elapsed` tells the seconds since `began_at`, when its uptime was what its state says."""

    def __init__(self, state: State, began_at: datetime, elapsed: Callable[[], float]) -> None:
        self.began_at = began_at
        self.elapsed = elapsed
        self._booted = 0.0  # what `elapsed` was when its uptime was what its state says
        self.become(state)

    def become(self, state: State, booted: bool = False) -> None:
        """Be in another state from now on; `booted`: its uptime begins anew."""
        if booted:
            self._booted = self.elapsed()
        self.state = state
        self._files = Files(
            {**proc_files.files(state), **network.files(state), **processes.files(state), **state.files}
        )

    def now(self) -> Moment:
        """Return the node's time."""
        elapsed = self.elapsed()
        return Moment(self.state.uptime + elapsed - self._booted, self.began_at + timedelta(seconds=elapsed))

    def uptime(self) -> float:
        """Return the seconds since boot."""
        return self.now().uptime

    async def run(self, argv: Sequence[str]) -> Answer:
        """Run one command, for as long as the real one would take; unknown ones end with status 127."""
        root = False
        if argv[:2] == ("sudo", "-n") or list(argv[:2]) == ["sudo", "-n"]:
            if not self.state.sudo:
                return Answer.error("sudo: a password is required", 1)
            root, argv = True, argv[2:]
            if argv[:1] == ["-l"] or argv[:1] == ("-l",):
                return Answer.text(f"/usr/bin/{' '.join(argv[1:])}\n")
        if argv and argv[0] == "timeout":
            argv = argv[4:]  # -k 1 SECONDS; the limit itself is the batch's
        if not argv:
            return Answer.error("sudo: no command", 1)
        if argv[0] in ("systemctl", "sysctl") and (changed := await self.change(argv, root)) is not None:
            return changed
        if (fence := _FENCE.fullmatch(argv[-1])) is not None or _PLAIN.fullmatch(argv[-1]):
            if fence is not None and fence.group(1) != (self._files.read(_BOOT_ID, self.now()) or "").strip():
                return Answer(status=1)
            return await self.run(shlex.split(argv[-1].rpartition("exec ")[2]))
        here = Here(self.state, self._files, self.now, root)
        tool = self._fragment(argv) if argv[0] in ("sh", "awk") else TOOLS.get(argv[0])
        if tool is None:
            return Answer.error(f"timeout: failed to run command '{argv[0]}': No such file or directory", 127)
        answer = tool(here, argv)
        return answer if isinstance(answer, Answer) else await answer

    async def change(self, argv: Sequence[str], root: bool) -> Answer | None:
        """Do what a `systemctl` that changes something says; None where it changes nothing, as here."""
        return None

    def _fragment(self, argv: Sequence[str]) -> Tool | None:
        text = " ".join(argv)
        return next((answer for marker, answer in FRAGMENTS if marker in text), None)


async def _mpstat(here: Here, argv: Sequence[str]) -> Answer:
    json, seconds = mpstat.parse_count(argv)
    refusal = mpstat.refuses(here.state, json)
    if refusal is not None:
        return refusal
    if "-V" in argv:
        return Answer.text(f"sysstat version {here.state.system.sysstat}\n(C) Sebastien Godard\n")
    began = here.now()
    await asyncio.sleep(seconds)
    return Answer.text(mpstat.render(here.state, began, max(1, seconds), json))


def _tail(here: Here, argv: Sequence[str]) -> Answer:
    paths = [word for word in argv[1:] if word.startswith("/")]
    printed, complaints = here.files.tail(paths, here.now())
    if "-v" not in argv and len(paths) == 1:
        printed = printed.partition("\n")[2]
    return Answer(printed.encode(), complaints.encode(), 1 if complaints else 0)


def _cat(here: Here, argv: Sequence[str]) -> Answer:
    printed, complaints = "", ""
    for path in argv[1:]:
        content = here.files.read(path, here.now())
        printed += content or ""
        complaints += f"cat: {path}: No such file or directory\n" if content is None else ""
    return Answer(printed.encode(), complaints.encode(), 1 if complaints else 0)


def _ls(here: Here, argv: Sequence[str]) -> Answer:
    paths = [word for word in argv[1:] if not word.startswith("-")] or ["/"]
    names = here.files.below(paths[0])
    if not names:
        return Answer.error(f"ls: cannot access '{paths[0]}': No such file or directory", 2)
    return Answer.text("".join(f"{name}\n" for name in names if not name.startswith(".")))


def _uname(here: Here, argv: Sequence[str]) -> Answer:
    system, name = here.state.system, here.state.name
    if "-a" in argv:
        return Answer.text(f"Linux {name} {system.kernel} {system.build} x86_64 x86_64 x86_64 GNU/Linux\n")
    known = {"-r": system.kernel, "-n": name, "-v": system.build, "-m": "x86_64", "-s": "Linux"}
    return Answer.text(" ".join(known.get(word, "Linux") for word in argv[1:] or ["-s"]) + "\n")


def _uptime(here: Here, argv: Sequence[str]) -> Answer:
    now = here.now()
    days, rest = divmod(int(now.uptime), 86400)
    load = (here.files.read("/proc/loadavg", now) or "0 0 0").split()[:3]
    if "-s" in argv:
        return Answer.text(f"{now.booted_at:%Y-%m-%d %H:%M:%S}\n")
    up = f"{days} days, {rest // 3600:2}:{rest % 3600 // 60:02}" if days else f"{rest // 3600:2}:{rest % 3600 // 60:02}"
    return Answer.text(f" {now.at:%H:%M:%S} up {up},  1 user,  load average: {', '.join(load)}\n")


def _date(here: Here, argv: Sequence[str]) -> Answer:
    now = here.now().at
    shape = next((word[1:] for word in argv[1:] if word.startswith("+")), "%a %b %e %H:%M:%S UTC %Y")
    return Answer.text(f"{int(now.timestamp())}\n" if shape == "%s" else now.strftime(shape.replace("%e", "%d")) + "\n")


def _dmesg(here: Here, argv: Sequence[str]) -> Answer:
    if not (here.root or here.state.reads_journal):
        return Answer.error("dmesg: read kernel buffer failed: Operation not permitted", 1)
    return Answer.text(kernel_log.dmesg(here.state, here.now()))


TOOLS: Mapping[str, Tool] = {
    "tail": _tail,
    "cat": _cat,
    "ls": _ls,
    "uname": _uname,
    "uptime": _uptime,
    "date": _date,
    "mpstat": _mpstat,
    "dmesg": _dmesg,
    "hostname": lambda here, argv: Answer.text(f"{here.state.name}\n"),
    "nproc": lambda here, argv: Answer.text(f"{here.state.load.cores}\n"),
    "whoami": lambda here, argv: Answer.text("root\n" if here.root else "demo\n"),
    "true": lambda here, argv: Answer(),
    "echo": lambda here, argv: Answer.text(" ".join(argv[1:]) + "\n"),
    "ethtool": lambda here, argv: nic_counters.ethtool(here.state, here.now(), argv),
    "systemctl": lambda here, argv: systemd.systemctl(here.state, here.now(), argv),
}
