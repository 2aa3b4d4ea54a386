"""An SSH session on a simulated node: a batch, a capture, or a single command that a person typed."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Awaitable, Callable
from typing import cast

import asyncssh

from bot.demo.batch_answers import LAUNCH, BatchAnswers, Send
from bot.demo.captures import Captures
from bot.demo.machine.command import Answer, CommandRunner
from bot.demo.machine.machine import Machine
from bot.demo.wire import read_script

SCRIPT_LIMIT_BYTES = 1024 * 1024


async def serve(
    machine: CommandRunner,
    stdin: asyncssh.SSHReader[bytes],
    stdout: asyncssh.SSHWriter[bytes],
    stderr: asyncssh.SSHWriter[bytes],
) -> None:
    """Run what was asked, and end the session. It has no shell."""
    channel = cast(asyncssh.SSHServerChannel[bytes], stdin.channel)
    command = channel.get_command()
    launch = LAUNCH.match(command or "")
    answer: Answer | None = Answer.error("sh: a demo node has no shell: name a command", 2)
    with contextlib.suppress(OSError, asyncssh.Error, asyncio.IncompleteReadError):  # whoever asked may be gone
        if launch is not None and 0 < int(launch[1]) <= SCRIPT_LIMIT_BYTES:
            answer = await _lifelong(machine, (await stdin.readexactly(int(launch[1]))).decode(), stdin, stdout)
        elif command and launch is None:
            answer = await run_line(machine, command)
        if answer is None:
            channel.exit_with_signal("KILL")
            return
        stdout.write(answer.stdout)
        stderr.write(answer.stderr)
        channel.exit(answer.status)


async def _lifelong(
    machine: CommandRunner, script: str, stdin: asyncssh.SSHReader[bytes], stdout: asyncssh.SSHWriter[bytes]
) -> Answer | None:
    """Run a script. The end of its input is its lifeline: everything ends with it, and there is no answer."""
    lines: asyncio.Queue[str] = asyncio.Queue()

    async def send(frames: bytes) -> None:
        stdout.write(frames)
        await stdout.drain()

    async def lifeline() -> None:
        async for line in stdin:
            lines.put_nowait(line.decode(errors="replace").rstrip("\n"))
        work.cancel()

    work = asyncio.ensure_future(_script(machine, script, send, lines.get))
    watching = asyncio.ensure_future(lifeline())
    try:
        return await work
    except asyncio.CancelledError:
        return None
    finally:
        watching.cancel()


async def _script(machine: CommandRunner, script: str, send: Send, heard: Callable[[], Awaitable[str]]) -> Answer:
    """Answer a capture or a batch as the shell would that runs its script."""
    if isinstance(machine, Machine) and await Captures(machine, send, heard).answer(script):
        return Answer()
    try:
        request = read_script(script)
    except ValueError:
        return Answer.error("sh: this node runs batches, captures and single commands", 2)
    await BatchAnswers(request, machine, send).run()
    return Answer()


async def run_line(machine: CommandRunner, line: str) -> Answer:
    """Run a command line with words and quotes, without other shell features."""
    try:
        argv = shlex.split(line)
    except ValueError:
        return Answer.error("sh: unterminated quoted string", 2)
    if {"|", ";", "&", "&&", "||", ">", "<"} & {*argv}:
        return Answer.error("sh: this simulated node runs one plain command at a time", 2)
    return await machine.run(argv) if argv else Answer()
