"""This very machine as a node: the same batch, run by a shell of our own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Callable
from datetime import timedelta

from bot.domain.batch import Batch, launch_command
from bot.domain.command import Completed
from bot.domain.errors import ConnectionLost
from bot.domain.node import Node
from bot.transport.conversation import finished_runs


class LocalTransport:
    """Runs batches on this machine. `nonce` makes a fresh secret for each batch's frames."""

    def __init__(self, nonce: Callable[[], str]) -> None:
        self._nonce = nonce

    async def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        """Run the batch here; see the transport's contract."""
        ends_at = asyncio.get_running_loop().time() + deadline.total_seconds()
        nonce = self._nonce()
        script = batch.script(nonce)
        try:
            shell = await asyncio.create_subprocess_exec(
                "/bin/sh",
                "-c",
                launch_command(script),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,  # what a batch ends with its lifeline is its session
            )
        except OSError as error:
            raise ConnectionLost(f"No shell could be started here: {error}.") from error
        assert shell.stdin is not None
        assert shell.stdout is not None
        try:
            shell.stdin.write(script.encode())
            async for completed in finished_runs(shell.stdout.read, batch, nonce, ends_at):
                yield completed
        except TimeoutError:
            return  # what did not answer in time is missing, and so unread
        finally:
            shell.stdin.close()
            await _ended(shell)


async def _ended(shell: asyncio.subprocess.Process) -> None:
    """Give the lifeline a moment to end the session, then end the shell's own group."""
    try:
        async with asyncio.timeout(2):
            await shell.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        await shell.wait()
