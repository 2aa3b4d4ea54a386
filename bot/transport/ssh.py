"""Nodes over SSH: a connection per check, host keys always verified, a time limit for every stage."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from datetime import timedelta

import asyncssh

from bot.domain.batch import Batch, launch_command
from bot.domain.command import Completed
from bot.domain.contracts import Fresh
from bot.domain.errors import HostKeyRejected, ShellStalled
from bot.domain.node import Node
from bot.transport.conversation import Conversation, lifetime
from bot.transport.ssh_login import Login, broken
from bot.transport.ssh_options import Keyring
from bot.transport.ssh_route import route
from bot.transport.timeouts import Heartbeat

# A node that cannot be logged in to, over however many hops, is given up sooner than one that answers slowly.
LOGIN_SECONDS = 20.0


class SshTransport:
    """Runs batches over SSH. `nonce` makes a new secret for each batch's frames."""

    def __init__(self, keyring: Keyring, nonce: Fresh) -> None:
        self._keyring = keyring
        self._nonce = nonce
        self._shown: dict[str, str] = {}
        self._heartbeat = Heartbeat()

    def host_key(self, node: Node) -> str:
        """Return the fingerprint of the host key that the node showed last; empty before any connection."""
        return self._shown.get(node.name, "")

    async def read(
        self, node: Node, batch: Batch, deadline: timedelta, host_key: str | None = None
    ) -> AsyncGenerator[Completed, None]:
        """Connect, run the batch and disconnect; see `contracts.ActingTransport`.

        When the deadline passes or the caller stops listening, the connection is aborted at once. The batch then
        ends every process of its session on the node.
        """
        hops = route(node, self._keyring)
        login, finished = Login(), False
        with self._heartbeat.limit(deadline.total_seconds()) as limit:
            try:
                with limit.part(LOGIN_SECONDS) as to_log_in:
                    await login.over(hops, to_log_in, node.connect_timeout)
                key = login.connection.get_server_host_key()
                shown = self._shown[node.name] = key.get_fingerprint() if key is not None else ""
                if host_key is not None and shown != host_key:  # trusted too, but not the approved machine
                    raise HostKeyRejected(
                        f"{hops[-1].where} shows the host key {shown or 'of nobody'}, not the approved "
                        f"{host_key or 'key'}: nothing was sent to it.",
                        "Do several machines answer at its address, or was that given to another?",
                    )
                conversation = Conversation(batch, self._nonce(), limit, hops[-1].where)
                script = batch.script(conversation.nonce, lifetime(limit.seconds_left))
                with limit.part(batch.silence.total_seconds()) as patience:
                    async with patience.kept(hops[-1].where):
                        process = await login.connection.create_process(
                            launch_command(script), encoding=None, stderr=asyncssh.STDOUT, send_eof=False
                        )
                with contextlib.suppress(OSError):  # it ended already; its last output can still be read
                    process.stdin.write(script.encode())
                async for completed in conversation.finished_runs(process.stdout.read, process.stdin.write):
                    yield completed
                finished = conversation.finished
            except TimeoutError as error:
                raise ShellStalled(
                    f"{hops[-1].where} accepted the login and then opened no session in time."
                ) from error
            except (asyncssh.Error, OSError) as error:
                raise broken(hops[-1].where, error, limit) from error
            finally:
                await login.hang_up(gently=finished)
