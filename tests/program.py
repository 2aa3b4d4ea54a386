"""The program in a process of its own, forked from one that has loaded it: loading is nine tenths of a short command.

What a test promises of the start itself, of a terminal, of signals or of another locale starts Python anew instead.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import importlib
import json
import os
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from typing import IO, Any, Self

from tests.waiting import until

ROOT = Path(__file__).parents[1]
CASE = ROOT / "tests/captures/cases/form-2--leaked-memory-cgroups.jsonl.gz"
LATE = 300.0  # seconds; a wave takes two minutes where nothing else runs on this machine
# What few commands need, and what takes longer to load than all others together.
SELDOM = ("bot.demo", "bot.lab", "bot.extras.fleet.dask", "bot.extras.mcp", "bot.inventory.ec2", "bot.transport.kube")


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the surroundings of a program whose home and state are in a folder, and nothing of the tester's own."""
    own = {"PATH": os.environ["PATH"], "HOME": str(folder), "COLUMNS": "200"}
    return {**own, "ZOMBIE_STATE_DIR": str(folder / "state"), **more}


def zombie(
    *words: str, cwd: Path = ROOT, env: Mapping[str, str] | None = None, said: str = "", within: float = LATE
) -> CompletedProcess[str]:
    """Run a command line to its end; `said` is what it reads from its standard input."""
    environ = {"PYTHONPATH": str(ROOT), **(os.environ if env is None else env)}
    with tempfile.TemporaryFile() as typed, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        typed.write(said.encode())
        typed.seek(0)
        status = _run({"words": words, "cwd": str(cwd), "env": environ}, (typed, out, err), within)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode().replace("\r\n", "\n"))
    return CompletedProcess(["zombie", *words], status, *texts)


class Started:
    """A command line, or a script in its place, that runs: as much of `subprocess.Popen` as tests ask for."""

    def __init__(self, *words: str, script: str = "", cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> None:
        environ = {"PYTHONPATH": str(ROOT), **(os.environ if env is None else env)}
        pipes = [os.pipe() for _ in range(2)]
        self.stdout, self.stderr = (os.fdopen(read, encoding="utf-8") for read, _ in pipes)
        self.returncode: int | None = None
        self._to = socket.socket(socket.AF_UNIX)
        self._to.connect(nursery().address)
        null = os.open(os.devnull, os.O_RDWR)
        _ask(
            self._to,
            {"words": words, "script": script, "cwd": str(cwd), "env": environ},
            [null, *(written for _, written in pipes)],
        )
        for number in (null, *(written for _, written in pipes)):
            os.close(number)
        self._answers = self._to.makefile("r")
        self.pid = int(self._answers.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.wait(LATE)
        for closed in (self.stdout, self.stderr, self._answers, self._to):
            closed.close()

    def wait(self, timeout: float = LATE) -> int:
        if self.returncode is None:
            self._to.settimeout(timeout)
            self.returncode = int(self._answers.readline())
        return self.returncode

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._to], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def communicate(self, timeout: float = LATE) -> tuple[str, str]:
        with ThreadPoolExecutor(1) as beside:  # neither pipe may fill up while the other is read
            said = beside.submit(self.stderr.read)
            out, err = self.stdout.read(), said.result(timeout)
        self.wait(timeout)
        return out, err

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.send_signal(signal.SIGKILL)


def zombie_in(folder: Path, *words: str) -> CompletedProcess[str]:
    """Run a command line to its end in a folder, whose settings and state it uses."""
    return zombie(*words, cwd=folder, env=environment(folder))


async def awaited(
    *words: str, cwd: Path = ROOT, env: Mapping[str, str] | None = None, said: str = "", within: float = LATE
) -> CompletedProcess[str]:
    """Return the same while the event loop serves what the command reaches."""
    return await asyncio.to_thread(zombie, *words, cwd=cwd, env=env, said=said, within=within)


def _ask(to: socket.socket, asked: dict[str, Any], files: list[int]) -> None:
    text = json.dumps(asked).encode()
    socket.send_fds(to, [f"{len(text):8}".encode()], files)
    to.sendall(text)


def _run(asked: dict[str, Any], files: tuple[IO[bytes], ...], within: float) -> int:
    with socket.socket(socket.AF_UNIX) as to:
        to.settimeout(within)
        to.connect(nursery().address)
        _ask(to, asked, [file.fileno() for file in files])
        with to.makefile("r") as answers:
            pid = int(answers.readline())
            try:
                return int(answers.readline())
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise


class Watched(asyncio.StreamReaderProtocol):
    """A pipe that is read, and says when it is closed."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        super().__init__(stream)
        self.closed = asyncio.get_running_loop().create_future()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if not self.closed.done():
            self.closed.set_result(None)


class Running:
    """A command line that runs: as much of `asyncio.subprocess.Process` as tests ask for."""

    def __init__(self, connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdout: asyncio.StreamReader | None = None
        self.stderr: asyncio.StreamReader | None = None
        self._connection = connection
        self._pipes: list[asyncio.BaseTransport] = []
        self._closed: list[asyncio.Future[None]] = []
        self._ends = asyncio.create_task(self._ended())

    @staticmethod
    async def start(*words: str, cwd: Path = ROOT, env: Mapping[str, str], out: bool = True) -> Running:
        """Start it, with stderr and, where `out`, stdout to be read here; its standard input is empty."""
        asked = {"words": words, "cwd": str(cwd), "env": {"PYTHONPATH": str(ROOT), **env}}
        address = await asyncio.to_thread(lambda: nursery().address)
        ours = [os.pipe() for _ in range(1 + out)]
        null = os.open(os.devnull, os.O_RDWR)
        theirs = [null, ours[1][1] if out else null, ours[0][1]]
        to = socket.socket(socket.AF_UNIX)
        to.connect(address)
        _ask(to, asked, theirs)
        to.setblocking(False)
        for number in {null, *(written for _, written in ours)}:
            os.close(number)
        reader, writer = await asyncio.open_unix_connection(sock=to)
        running = Running((reader, writer), int(await reader.readline()))
        running.stderr, *rest = [await running._read(read) for read, _ in ours]
        running.stdout = rest[0] if rest else None
        return running

    async def _read(self, number: int) -> asyncio.StreamReader:
        stream, loop = asyncio.StreamReader(limit=1 << 30), asyncio.get_running_loop()  # nobody need read it all
        pipe, protocol = await loop.connect_read_pipe(lambda: Watched(stream), os.fdopen(number, "rb", buffering=0))
        self._pipes.append(pipe)
        self._closed.append(protocol.closed)
        return stream

    async def _ended(self) -> int:
        reader, writer = self._connection
        self.returncode = int(await reader.readline())
        writer.close()
        if self._closed:
            await asyncio.wait(self._closed, timeout=1)  # longer is held only by what it started
        for pipe in self._pipes:
            pipe.close()
        return self.returncode

    async def wait(self) -> int:
        return await asyncio.shield(self._ends)

    async def communicate(self) -> tuple[bytes, bytes]:
        async def whole(stream: asyncio.StreamReader | None) -> bytes:
            return b"" if stream is None else await stream.read()

        out, err, _ = await asyncio.gather(whole(self.stdout), whole(self.stderr), self.wait())
        return out, err

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Nursery:
    """The process that loads the program; it ends with the one that started it, whose forks use it too."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._folder = Path(tempfile.mkdtemp(prefix="zombie-program-"))  # a TemporaryDirectory ends with each fork
        self._where = self._folder / "socket"
        environ = {name: text for name, text in os.environ.items() if not name.startswith(("ZOMBIE_", "SLACK_"))}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", f"from tests.program import serve; serve({str(self._where)!r})"],
            stdin=subprocess.PIPE,
            env={**environ, "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
        )
        atexit.register(self.end)

    @property
    def address(self) -> str:
        """Where it listens, once it has loaded the program."""
        until(self._where.exists, within=timedelta(seconds=LATE), what="the program to be loaded")
        return str(self._where)

    def end(self) -> None:
        if self._owner == os.getpid():
            self._process.communicate()  # closes its standard input, which it takes for the end
            shutil.rmtree(self._folder, ignore_errors=True)


@cache
def nursery() -> Nursery:
    return Nursery()


def serve(where: str) -> None:
    """Load the program, then run it in a fork for each that asks, until whoever started this is gone."""
    for module in pkgutil.walk_packages([str(ROOT / "bot")], "bot."):
        if not module.name.startswith(SELDOM):
            importlib.import_module(module.name)
    importlib.import_module("sqlalchemy.dialects.sqlite")
    secret_forms = importlib.import_module("bot.domain.secret_forms")
    secret_forms.compile_forms()  # a third of a second, half of what a short command takes
    judge_once()
    gc.collect()
    gc.freeze()  # so that a fork does not copy what lies there
    signal.signal(signal.SIGINT, signal.default_int_handler)
    running: dict[int, socket.socket] = {}  # who asked for each of them
    ended, ends = os.pipe()
    os.set_blocking(ends, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(ends)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{where}.new")
        listening.listen(64)
        Path(f"{where}.new").rename(where)
        while 0 not in (ready := select.select([0, ended, listening.fileno()], [], [])[0]):
            if ended in ready:
                os.read(ended, 1024)
                while running and (over := os.waitpid(-1, os.WNOHANG))[0]:
                    with suppress(BrokenPipeError), running.pop(over[0]) as connection:
                        connection.sendall(f"{os.waitstatus_to_exitcode(over[1])}\n".encode())
            if listening.fileno() in ready:
                connection, _ = listening.accept()
                pid = _fork(connection)
                running[pid] = connection
                with suppress(BrokenPipeError):
                    connection.sendall(f"{pid}\n".encode())


def judge_once() -> None:
    """Judge a recorded node: what is read or compiled once, a twelfth of a check, every fork has then."""
    from bot.app.cases import replayed, run_alone
    from bot.app.factories import library
    from bot.transport.case_file import load

    run_alone(replayed(load(CASE), library().get("node-health")))


def _fork(connection: socket.socket) -> int:
    """Run what is asked for in a fork; return its number."""
    connection.setblocking(True)
    head, files, _, _ = socket.recv_fds(connection, 8, 3)
    with connection.makefile("rb") as stream:
        asked = json.loads(stream.read(int(head)))
    if (pid := os.fork()) == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _become(asked, files)
    for file in files:
        os.close(file)
    return pid


def _become(asked: dict[str, Any], files: list[int]) -> None:
    status = 1
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
        os.closerange(3, 1024)
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["env"])
        time.tzset()
        tempfile.tempdir = None  # what it found before is of another environment
        plain = not {"LC_ALL", "LC_CTYPE", "LANG"} & set(os.environ)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape" if plain else "strict", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        beside = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path not in sys.path]
        sys.path[:0] = beside  # packages beside the program
        sys.argv = [str(ROOT / "bot/__main__.py"), *asked["words"]]
        try:
            if script := asked.get("script"):
                exec(compile(script, "<script>", "exec"), {"__name__": "__main__"})
                status = 0
            else:
                status = importlib.import_module("bot.__main__").main()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        with suppress(ValueError, OSError):
            sys.stdout.flush()
            sys.stderr.flush()
    finally:
        os._exit(status)
