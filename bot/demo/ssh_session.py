"""An SSH session on a simulated node: a batch, or a single command that a person typed."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from typing import TypeAlias

import asyncssh

from bot.demo.batch_answers import LAUNCH, BatchAnswers, read_request
from bot.demo.capture_answers import CaptureAnswers, read_capture
from bot.demo.faults import FLOOD_BYTES, Fault, Faulty
from bot.demo.machine.command import Answer, CommandRunner
from bot.demo.machine.machine import Machine
from bot.demo.segment_answers import read_segments, send_segments
from bot.domain.batch_shell import LANE_MARK

Channel: TypeAlias = asyncssh.SSHServerChannel[bytes]

SCRIPT_LIMIT_BYTES = 1024 * 1024
WORDS_LIMIT_BYTES = 4096  # what may be said to a script that runs
ANSWERS_BEFORE_CLOSING = 1  # lanes' worth


class ExecSession(asyncssh.SSHServerSession[bytes]):
    """Accepts an exec request. Shells, terminals, subsystems and forwarding are refused."""

    def __init__(self, machine: CommandRunner, fault: Fault | None) -> None:
        self._machine = Faulty(machine, fault)
        self._fault = fault
        self._channel: Channel | None = None
        self._command = ""
        self._script_bytes = 0
        self._input = bytearray()
        self._more = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._answers = 0

    # --- callbacks of the connection

    def connection_made(self, chan: Channel) -> None:
        self._channel = chan

    def pty_requested(self, term_type: str, term_size: object, term_modes: object) -> bool:
        return False

    def shell_requested(self) -> bool:
        return False

    def subsystem_requested(self, subsystem: str) -> bool:
        return False

    def exec_requested(self, command: str) -> bool:
        self._command = command
        return True

    def session_started(self) -> None:
        if self._fault is Fault.NO_ANSWER:
            return
        launch = LAUNCH.match(self._command)
        if launch is None:
            self._begin()
        else:
            self._script_bytes = int(launch.group(1))
            if not 0 < self._script_bytes <= SCRIPT_LIMIT_BYTES:
                self._end(2)

    def data_received(self, data: bytes, datatype: object) -> None:
        if not self._script_bytes or len(self._input) + len(data) > self._script_bytes + WORDS_LIMIT_BYTES:
            return
        self._input += data
        self._more.set()
        if self._task is None and len(self._input) >= self._script_bytes:
            self._begin()

    def eof_received(self) -> bool:
        if not self._script_bytes:
            return True  # `ssh NODE COMMAND </dev/null` still gets its answer
        self._cancel()  # the batch's lifeline: everything in this session ends now
        if self._channel is not None:
            self._channel.exit_with_signal("KILL")
        return False

    def connection_lost(self, exc: BaseException | None) -> None:
        self._cancel()
        self._may_write.set()
        self._channel = None

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    # --- what the session does

    def _begin(self) -> None:
        work = self._batch() if self._script_bytes else self._single()
        self._task = asyncio.get_running_loop().create_task(work)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _end(self, status: int) -> None:
        if self._channel is not None:
            with contextlib.suppress(OSError):
                self._channel.exit(status)

    async def _batch(self) -> None:
        script = bytes(self._input[: self._script_bytes]).decode()
        if await self._captured(script):
            self._end(0)
            return
        try:
            request = read_request(script)
        except ValueError:
            await self._send(b"", b"sh: this node runs batches, captures and single commands\n")
            self._end(2)
            return
        if self._fault is Fault.CHATTER:
            for _ in range(FLOOD_BYTES // 50_000):
                await self._send(b"Welcome to the node. \n" * (50_000 // 22))
        await BatchAnswers(request, self._machine, self._send_frames).run()
        self._end(0)

    async def _captured(self, script: str) -> bool:
        """Answer a capture, or a reader of its segments; False where the script is neither."""
        machine = self._machine.machine
        with contextlib.suppress(ValueError):
            segments = read_segments(script)
            if isinstance(machine, Machine):
                await send_segments(segments, machine, self._send_frames)
                return True
        try:
            asked = read_capture(script)
        except ValueError:
            return False
        if not isinstance(machine, Machine):
            return False
        await CaptureAnswers(asked, machine, self._send_frames, self._heard).run()
        return True

    async def _heard(self) -> str:
        """Return the line that is said after the script."""
        while b"\n" not in (said := bytes(self._input[self._script_bytes :])):
            self._more.clear()
            await self._more.wait()
        return said.partition(b"\n")[0].decode(errors="replace")

    async def _single(self) -> None:
        answer = await run_line(self._machine, self._command)
        await self._send(answer.stdout, answer.stderr)
        self._end(answer.status)

    async def _send_frames(self, frames: bytes) -> None:
        self._answers += frames.count(f"{LANE_MARK} ".encode()) > 0
        if self._fault is Fault.CLOSES_IN_THE_MIDDLE and self._answers > ANSWERS_BEFORE_CLOSING:
            if self._channel is not None:
                self._channel.get_extra_info("connection").abort()
            return
        await self._send(frames)

    async def _send(self, stdout: bytes, stderr: bytes = b"") -> None:
        await self._may_write.wait()
        if self._channel is not None and not self._channel.is_closing():
            if stdout:
                self._channel.write(stdout)
            if stderr:
                self._channel.write_stderr(stderr)
        await asyncio.sleep(0)  # lets the connection call pause_writing


async def run_line(machine: CommandRunner, line: str) -> Answer:
    """Run a command line with words and quotes, without other shell features."""
    try:
        argv = shlex.split(line)
    except ValueError:
        return Answer.error("sh: unterminated quoted string", 2)
    if not argv:
        return Answer()
    if any(word in ("|", ";", "&", "&&", "||", ">", "<") for word in argv):
        return Answer.error("sh: this simulated node runs one plain command at a time", 2)
    return await machine.run(argv)
