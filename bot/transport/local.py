"""This machine as a node: the same batch, in a local shell."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

from bot.domain.batch import Batch, launch_command
from bot.domain.command import Completed
from bot.domain.contracts import Fresh
from bot.domain.errors import ConnectionLost
from bot.domain.node import Node
from bot.transport.conversation import Conversation, lifetime
from bot.transport.timeouts import Heartbeat

LIFELINE_SECONDS = 1.0


class LocalTransport:
    """Runs batches on this machine. `nonce` makes a new secret for each batch's frames."""

    def __init__(self, nonce: Fresh) -> None:
        self._nonce = nonce
        self._heartbeat = Heartbeat()

    async def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        """Run the batch here; see `contracts.Transport`."""
        with self._heartbeat.limit(deadline.total_seconds()) as limit:
            conversation = Conversation(batch, self._nonce(), limit, "This machine")
            script = batch.script(conversation.nonce, lifetime(deadline.total_seconds()))
            try:
                shell = await asyncio.create_subprocess_exec(
                    "/bin/sh",
                    "-c",
                    launch_command(script),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.DEVNULL,
                    start_new_session=True,  # the batch ends its whole session
                )
            except OSError as error:
                raise ConnectionLost(f"No shell could be started here: {error}.") from error
            assert shell.stdin is not None
            assert shell.stdout is not None
            finished = False
            try:
                shell.stdin.write(script.encode())
                async for completed in conversation.finished_runs(shell.stdout.read, shell.stdin.write):
                    yield completed
                finished = conversation.finished
            finally:
                shell.stdin.close()
                if not finished:
                    await _end_session(shell.pid)
                while await shell.stdout.read(1024 * 1024):  # its end is only seen once all it said was taken
                    pass
                await shell.wait()
                # There is no public way to discard the rest of its output.
                shell._transport.close()  # type: ignore[attr-defined]
                await asyncio.sleep(0)  # lets the loop close the pipes


async def _end_session(session: int) -> None:
    """Wait for the script to end its session, then kill what is left."""
    loop = asyncio.get_running_loop()
    until = loop.time() + LIFELINE_SECONDS
    while (left := _alive_pids(session)) and loop.time() < until:  # noqa: ASYNC110 - not our children: nothing reports their end
        await asyncio.sleep(0.02)
    for pid in left:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # a child of sudo ends at its own time limit
            os.kill(pid, signal.SIGKILL)


def _alive_pids(session: int) -> list[int]:
    """Return the running processes of a session (/proc/PID/stat: proc(5))."""
    alive = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):  # it ended meanwhile
            state, _, _, its_session, *_ = stat.read_bytes().rpartition(b")")[2].split()
            if int(its_session) == session and state not in b"ZX":
                alive.append(int(stat.parent.name))
    return alive
