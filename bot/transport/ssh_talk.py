"""Talks with nodes over SSH: a script of ours whose output is read as it comes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta

import asyncssh

from bot.domain.batch import launch_command
from bot.domain.errors import ConnectionLost, ShellStalled
from bot.domain.node import Node
from bot.domain.safe_text import one_line
from bot.transport.conversation import CHUNK_BYTES
from bot.transport.ssh_login import Login
from bot.transport.ssh_options import Keyring
from bot.transport.ssh_route import route


class SshTalk:
    """One script that runs on a node, until `ends_at` on the loop's clock. `where` names the node."""

    def __init__(self, process: asyncssh.SSHClientProcess[bytes], ends_at: float, where: str) -> None:
        self._process = process
        self._ends_at = ends_at
        self._where = where
        self.over = False

    async def read(self) -> bytes:
        """Return what came; see `Talk.read`."""
        try:
            async with asyncio.timeout_at(self._ends_at):
                chunk: bytes = await self._process.stdout.read(CHUNK_BYTES)
        except TimeoutError as error:
            raise ShellStalled(f"{self._where} accepted the login and then did not answer in time.") from error
        except (asyncssh.Error, OSError) as error:
            raise _broken(self._where, error) from error
        self.over = not chunk
        return chunk

    def say(self, words: bytes) -> None:
        """Send something to the script; see `Talk.say`."""
        with contextlib.suppress(OSError):  # it ended already
            self._process.stdin.write(words)


class SshTalks:
    """Opens talks over SSH, as `SshTransport` runs batches: host keys verified, a limit for every stage."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    @contextlib.asynccontextmanager
    async def talk(self, node: Node, script: str, deadline: timedelta) -> AsyncIterator[SshTalk]:
        """Connect and start the script; see `TalkingTransport.talk`.

        A talk that is left before its end is aborted: the script's lifeline then ends every process of its session.
        """
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + deadline.total_seconds()
        hops = route(node, self._keyring)
        login, talk = Login(), None
        try:
            await login.over(hops, ends_at, node.connect_timeout)
            talk = SshTalk(await _started(login, script, ends_at, hops[-1].where), ends_at, hops[-1].where)
            talk.say(script.encode())
            yield talk
        finally:
            await login.hang_up(gently=talk is not None and talk.over)


async def _started(login: Login, script: str, ends_at: float, where: str) -> asyncssh.SSHClientProcess[bytes]:
    try:
        async with asyncio.timeout_at(ends_at):
            return await login.connection.create_process(
                launch_command(script), encoding=None, stderr=asyncssh.DEVNULL, send_eof=False
            )
    except TimeoutError as error:
        raise ShellStalled(f"{where} accepted the login and then opened no session in time.") from error
    except (asyncssh.Error, OSError) as error:
        raise _broken(where, error) from error


def _broken(where: str, error: Exception) -> ConnectionLost:
    reason = one_line(str(getattr(error, "reason", "") or error), 160).rstrip(".")
    return ConnectionLost(f"The connection to {where} broke: {reason}.")
