"""Nodes over SSH: one connection a diagnosis, host keys always checked, every stage bounded in time.

The protocol's failures are sorted into classes by how far the connection came: TCP, banner and keys, login, batch.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Callable
from datetime import timedelta

import asyncssh
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_random

from bot.domain.batch import Batch, launch_command
from bot.domain.command import Completed
from bot.domain.errors import (
    BannerStalled,
    ConnectionLost,
    ConnectionRefused,
    ConnectTimedOut,
    HostKeyRejected,
    LoginRefused,
    NameUnknown,
    Unreachable,
)
from bot.domain.node import Node
from bot.domain.safe_text import one_line
from bot.transport.conversation import finished_runs
from bot.transport.ssh_options import Keyring

LOGIN_LIMIT = timedelta(seconds=8)  # from TCP connected to logged in
CLOSE_LIMIT_SECONDS = 1.0


class _Dropped(ConnectionLost):
    """The node hung up before its login: an overloaded sshd drops connections at random, so one retry is worth it."""


class _Stages(asyncssh.SSHClient):
    """Remembers how far a connection came, so that a time-out can be told apart."""

    def __init__(self, connected: Callable[[], None]) -> None:
        self._connected = connected
        self.tcp = False
        self.keys_exchanged = False

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        self.tcp = True
        self._connected()

    def begin_auth(self, username: str) -> None:
        self.keys_exchanged = True


class SshTransport:
    """Reads batches over SSH. `nonce` makes a fresh secret for each batch's frames."""

    def __init__(self, keyring: Keyring, nonce: Callable[[], str]) -> None:
        self._keyring = keyring
        self._nonce = nonce

    async def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        """Connect, run the batch and hang up; see the transport's contract.

        When the deadline passes or the caller stops listening, the connection is dropped at once: the batch's
        lifeline then ends every process of its session on the node.
        """
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + deadline.total_seconds()
        connection = await self._connect(node, ends_at)
        finished = False
        try:
            nonce = self._nonce()
            script = batch.script(nonce)
            async with asyncio.timeout_at(ends_at):
                process = await connection.create_process(
                    launch_command(script), encoding=None, stderr=asyncssh.DEVNULL, send_eof=False
                )
            process.stdin.write(script.encode())
            async for completed in finished_runs(process.stdout.read, batch, nonce, ends_at):
                yield completed
            finished = True
        except TimeoutError:
            return  # what did not answer in time is missing, and so unread
        except (asyncssh.Error, OSError) as error:
            raise ConnectionLost(f"The connection to {node.name} broke: {_words(error)}.") from error
        finally:
            await _hang_up(connection, gently=finished)

    async def _connect(self, node: Node, ends_at: float) -> asyncssh.SSHClientConnection:
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(_Dropped),
            stop=stop_after_attempt(3),
            wait=wait_random(0.1, 0.6),
            reraise=True,
        )
        async for attempt in retrying:
            with attempt:
                return await self._connect_once(node, ends_at)
        raise AssertionError("a retry loop either returns or raises")

    async def _connect_once(self, node: Node, ends_at: float) -> asyncssh.SSHClientConnection:
        loop = asyncio.get_running_loop()
        options = self._keyring.options(node)
        bound: asyncio.Timeout | None = None

        def connected() -> None:
            if bound is not None and not bound.expired():
                bound.reschedule(min(ends_at, loop.time() + LOGIN_LIMIT.total_seconds()))

        stages = _Stages(connected)
        where = f"{node.name} ({node.address}" + (f":{node.port})" if node.port else ")")
        try:
            async with asyncio.timeout_at(min(ends_at, loop.time() + node.connect_timeout.total_seconds())) as bound:
                return await asyncssh.connect(**options, client_factory=lambda: stages)
        except TimeoutError as error:
            raise _timed_out(stages, where) from error
        except socket.gaierror as error:
            raise NameUnknown(
                f"The address of {where} does not resolve: {error.strerror}.", "Correct `address` in the inventory."
            ) from error
        except asyncssh.HostKeyNotVerifiable as error:
            raise HostKeyRejected(
                f"The host key of {where} is not the one on file: {_words(error)}.",
                f"If the node was rebuilt, remove its old line and take the new key: {self._keyring.keyscan(node)}",
            ) from error
        except asyncssh.PermissionDenied as error:
            raise LoginRefused(
                f"{where} refused the login as {options.get('username', 'this user')}: {_words(error)}.",
                "Check `user` and `key` in the inventory, and authorized_keys on the node.",
            ) from error
        except ConnectionRefusedError as error:
            raise ConnectionRefused(f"{where} refused the connection.", "Is sshd running, and on that port?") from error
        except (asyncssh.Error, OSError) as error:
            if isinstance(error, OSError) and not stages.tcp:
                raise ConnectTimedOut(f"{where} cannot be reached: {_words(error)}.") from error
            kind = ConnectionLost if stages.keys_exchanged else _Dropped
            raise kind(f"{where} hung up before the login: {_words(error)}.", "Look at sshd's log there.") from error
        except ValueError as error:  # asyncssh's words for options it cannot use
            raise LoginRefused(f"No connection to {where} can be set up: {_words(error)}.") from error


def _timed_out(stages: _Stages, where: str) -> Unreachable:
    if not stages.tcp:
        return ConnectTimedOut(f"{where} did not answer in time.", "Is it up, and is the way to it open?")
    if not stages.keys_exchanged:
        return BannerStalled(
            f"{where} accepted the connection and then said nothing.",
            "Its kernel answers and its sshd does not: it is starved, stopped or out of memory. Use its console.",
        )
    return LoginRefused(f"{where} did not finish the login in time.", "Its login is stuck: PAM, NFS homes, or load.")


async def _hang_up(connection: asyncssh.SSHClientConnection, gently: bool) -> None:
    if not gently:
        connection.abort()
        return
    connection.close()
    with contextlib.suppress(TimeoutError, asyncssh.Error, OSError):
        async with asyncio.timeout(CLOSE_LIMIT_SECONDS):
            await connection.wait_closed()


def _words(error: BaseException) -> str:
    text = getattr(error, "reason", "") or getattr(error, "strerror", "") or str(error) or type(error).__name__
    return one_line(str(text), 160).rstrip(".")
