"""A simulated node: state in memory, a clock, and answers to commands that read it."""

from __future__ import annotations

import asyncio
import functools
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from bot.demo.machine import kernel_log, mpstat, network, nic_counters, proc_files, processes, systemd
from bot.demo.machine.command import Answer, CommandContext, Tool
from bot.demo.machine.files import Files
from bot.demo.machine.fragments import FRAGMENTS
from bot.demo.machine.probe_examples import EXAMPLES
from bot.demo.machine.recorder import Recorder, may_be_recorder
from bot.demo.machine.state import Moment, State
from bot.domain.fence import BOOT_ID, MACHINE_ID, UPTIME, fenced, refusal_text

# An action is a shell command behind its fence; a reboot's asks for the boot once more.
_ONE_BOOT = re.compile(r'test "\$\(cat /proc/sys/kernel/random/boot_id\)" = (\S+) && exec (?:sudo -n systemctl reboot)')
_PLAIN = re.compile(r"sudo -n (?:systemctl [a-z]+[A-Za-z0-9@:._ \\-]*|sysctl -w vm\.drop_caches=3)")


class Machine:
    """A simulated node. `elapsed` returns the seconds since `began_at`, when the uptime was the state's."""

    def __init__(self, state: State, began_at: datetime, elapsed: Callable[[], float]) -> None:
        self.began_at = began_at
        self.elapsed = elapsed
        self.recorder = Recorder()
        self._booted = 0.0  # the value of `elapsed` when the state's uptime held
        self.become(state)

    def become(self, state: State, booted: bool = False) -> None:
        """Change to another state. With `booted` the uptime starts again."""
        if booted:
            self._booted = self.elapsed()
            self.recorder.forget()
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
        return self.state.uptime + self.elapsed() - self._booted

    def read_file(self, path: str) -> str:
        """Return a file's first line, empty if there is no such file."""
        return (self._files.read(path, self.now()) or "").partition("\n")[0]

    async def run(self, argv: Sequence[str]) -> Answer:
        """Run a command. It takes as long as the real command would; an unknown command ends with status 127."""
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
        argv = (argv[0].removeprefix("/usr/bin/"), *argv[1:])
        if argv[0] in ("systemctl", "sysctl") and (changed := await self.change(argv, root)) is not None:
            return changed
        if not _may_act(argv[-1]):
            return await self._look(argv, root)
        if (found := fenced(argv[-1])) is not None:
            fence, line = found
            files = {path: self._files.read(path, self.now()) or "" for path in (MACHINE_ID, BOOT_ID, UPTIME)}
            if (why := fence.refusal(files)) is not None:
                return Answer.error(refusal_text(why), why.value)
            return await self.run(("sh", "-c", line))
        if argv[0] == "sh" and (told := self.recorder.answer(argv[-1], self.state, self.now())) is not None:
            return told
        if (boot := _ONE_BOOT.fullmatch(argv[-1])) is not None or _PLAIN.fullmatch(argv[-1]):
            if boot is not None and boot.group(1) != (self._files.read(BOOT_ID, self.now()) or "").strip():
                return Answer(status=1)
            return await self.run(shlex.split(argv[-1].rpartition("exec ")[2]))
        return await self._look(argv, root)

    async def _look(self, argv: Sequence[str], root: bool) -> Answer:
        if (example := EXAMPLES.answer(argv)) is not None:
            return example
        context = CommandContext(self.state, self._files, self.now, root)
        tool = _fragment(tuple(argv)) if argv[0] in ("sh", "awk") else TOOLS.get(argv[0])
        if tool is None and argv[0] == "sh":  # it has a shell, and not what the script calls
            word = next(iter(argv[-1].split()), "")
            return Answer.error(f"sh: 1: {word}: not found", 127)
        if tool is None:
            return Answer.error(f"timeout: failed to run command '{argv[0]}': No such file or directory", 127)
        answer = tool(context, argv)
        return answer if isinstance(answer, Answer) else await answer

    async def change(self, argv: Sequence[str], root: bool) -> Answer | None:
        """Run a command that changes the node; None if it changes nothing. This class changes nothing."""
        return None


@functools.lru_cache(maxsize=512)
def _may_act(line: str) -> bool:
    """True for a line with a fence, or with words of an action or of the recorder; every node is sent the same ones."""
    is_fenced = fenced(line) is not None or _ONE_BOOT.fullmatch(line) is not None or _PLAIN.fullmatch(line) is not None
    return is_fenced or may_be_recorder(line)


@functools.lru_cache(maxsize=512)
def _fragment(argv: tuple[str, ...]) -> Tool | None:
    """What answers a script of ours; every node is sent the same ones."""
    text = " ".join(argv)
    return next((answer for marker, answer in FRAGMENTS if marker in text), None)


async def _mpstat(context: CommandContext, argv: Sequence[str]) -> Answer:
    json, seconds = mpstat.parse_count(argv)
    error = mpstat.error(context.state, json)
    if error is not None:
        return error
    if "-V" in argv:
        return Answer.text(f"sysstat version {context.state.system.sysstat}\n(C) Sebastien Godard\n")
    report = mpstat.Report(context.state, context.now(), json)
    for _ in range(seconds):
        await asyncio.sleep(1)
        report.add_second()
    if not seconds:
        report.add_second()
    return Answer.text(report.text())


def _tail(context: CommandContext, argv: Sequence[str]) -> Answer:
    paths = [word for word in argv[1:] if word.startswith("/")]
    printed, complaints = context.files.tail(paths, context.now())
    if "-v" not in argv and len(paths) == 1:
        printed = printed.partition("\n")[2]
    return Answer(printed.encode(), complaints.encode(), 1 if complaints else 0)


def _cat(context: CommandContext, argv: Sequence[str]) -> Answer:
    printed, complaints = "", ""
    for path in argv[1:]:
        content = context.files.read(path, context.now())
        printed += content or ""
        complaints += f"cat: {path}: No such file or directory\n" if content is None else ""
    return Answer(printed.encode(), complaints.encode(), 1 if complaints else 0)


def _ls(context: CommandContext, argv: Sequence[str]) -> Answer:
    paths = [word for word in argv[1:] if not word.startswith("-")] or ["/"]
    names = context.files.below(paths[0])
    if not names:
        return Answer.error(f"ls: cannot access '{paths[0]}': No such file or directory", 2)
    return Answer.text("".join(f"{name}\n" for name in names if not name.startswith(".")))


def _uname(context: CommandContext, argv: Sequence[str]) -> Answer:
    system, name = context.state.system, context.state.name
    if "-a" in argv:
        return Answer.text(f"Linux {name} {system.kernel} {system.build} x86_64 x86_64 x86_64 GNU/Linux\n")
    known = {"-r": system.kernel, "-n": name, "-v": system.build, "-m": "x86_64", "-s": "Linux"}
    return Answer.text(" ".join(known.get(word, "Linux") for word in argv[1:] or ["-s"]) + "\n")


def _uptime(context: CommandContext, argv: Sequence[str]) -> Answer:
    now = context.now()
    days, rest = divmod(int(now.uptime), 86400)
    load = (context.files.read("/proc/loadavg", now) or "0 0 0").split()[:3]
    if "-s" in argv:
        return Answer.text(f"{now.booted_at:%Y-%m-%d %H:%M:%S}\n")
    up = f"{days} days, {rest // 3600:2}:{rest % 3600 // 60:02}" if days else f"{rest // 3600:2}:{rest % 3600 // 60:02}"
    return Answer.text(f" {now.at:%H:%M:%S} up {up},  1 user,  load average: {', '.join(load)}\n")


def _date(context: CommandContext, argv: Sequence[str]) -> Answer:
    now = context.now().at
    shape = next((word[1:] for word in argv[1:] if word.startswith("+")), "%a %b %e %H:%M:%S UTC %Y")
    return Answer.text(f"{int(now.timestamp())}\n" if shape == "%s" else now.strftime(shape.replace("%e", "%d")) + "\n")


def _dmesg(context: CommandContext, argv: Sequence[str]) -> Answer:
    if not (context.root or context.state.reads_journal):
        return Answer.error("dmesg: read kernel buffer failed: Operation not permitted", 1)
    return Answer.text(kernel_log.dmesg(context.state, context.now()))


TOOLS: Mapping[str, Tool] = {
    "tail": _tail,
    "cat": _cat,
    "ls": _ls,
    "uname": _uname,
    "uptime": _uptime,
    "date": _date,
    "mpstat": _mpstat,
    "dmesg": _dmesg,
    "hostname": lambda context, argv: Answer.text(f"{context.state.name}\n"),
    "nproc": lambda context, argv: Answer.text(f"{context.state.load.cores}\n"),
    "whoami": lambda context, argv: Answer.text("root\n" if context.root else "demo\n"),
    "true": lambda context, argv: Answer(),
    "echo": lambda context, argv: Answer.text(" ".join(argv[1:]) + "\n"),
    "ethtool": lambda context, argv: nic_counters.ethtool(context.state, context.now(), argv),
    "systemctl": lambda context, argv: systemd.systemctl(context.state, context.now(), argv),
}
