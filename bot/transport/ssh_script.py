"""Talks with nodes over SSH: a script of ours whose output is read as it comes."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta

import asyncssh

from bot.domain.batch import launch_command
from bot.domain.errors import ShellStalled
from bot.domain.node import Node
from bot.transport.conversation import CHUNK_BYTES
from bot.transport.ssh_login import Login, broken
from bot.transport.ssh_options import Keyring
from bot.transport.ssh_route import route
from bot.transport.timeouts import Heartbeat, TimeLimit


class SshScriptSession:
    """A script that runs on a node, until the limit is over. `where` names the node."""

    def __init__(self, process: asyncssh.SSHClientProcess[bytes], limit: TimeLimit, where: str) -> None:
        self._process = process
        self._limit = limit
        self._where = where
        self.over = False

    async def read(self) -> bytes:
        """Return what came; see `ScriptSession.read`."""
        try:
            async with self._limit.kept(self._where):
                chunk: bytes = await self._process.stdout.read(CHUNK_BYTES)
        except TimeoutError as error:
            raise ShellStalled(f"{self._where} accepted the login and then did not answer in time.") from error
        except (asyncssh.Error, OSError) as error:
            raise broken(self._where, error, self._limit) from error
        self.over = not chunk
        return chunk

    def say(self, words: bytes) -> None:
        """Send something to the script; see `ScriptSession.say`."""
        with contextlib.suppress(OSError):  # it ended already
            self._process.stdin.write(words)


class SshScriptTransport:
    """Runs scripts over SSH, as `SshTransport` runs batches: host keys verified, a limit for every stage."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._heartbeat = Heartbeat()

    @contextlib.asynccontextmanager
    async def start_script(self, node: Node, script: str, deadline: timedelta) -> AsyncIterator[SshScriptSession]:
        """Connect and start the script; see `ScriptTransport.run_script`.

        A session that is left before its end is aborted: the script's lifeline then ends every process of its session.
        """
        hops = route(node, self._keyring)
        login, session = Login(), None
        with self._heartbeat.limit(deadline.total_seconds()) as limit:
            try:
                await login.over(hops, limit, node.connect_timeout)
                session = SshScriptSession(
                    await _start_script(login, script, limit, hops[-1].where), limit, hops[-1].where
                )
                session.say(script.encode())
                yield session
            finally:
                await login.hang_up(gently=session is not None and session.over)


async def _start_script(login: Login, script: str, limit: TimeLimit, where: str) -> asyncssh.SSHClientProcess[bytes]:
    try:
        async with limit.kept(where):
            return await login.connection.create_process(
                launch_command(script), encoding=None, stderr=asyncssh.DEVNULL, send_eof=False
            )
    except TimeoutError as error:
        raise ShellStalled(f"{where} accepted the login and then opened no session in time.") from error
    except (asyncssh.Error, OSError) as error:
        raise broken(where, error, limit) from error
