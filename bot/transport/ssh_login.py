"""Logs in hop by hop, with a time limit for every stage, and classifies failures by the stage that failed.

Stages: name, TCP, banner, key exchange and host key (RFC 4253), login (RFC 4252).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import asyncssh
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_random

from bot.domain.errors import (
    BannerStalled,
    ConnectionLost,
    ConnectionRefused,
    ConnectTimedOut,
    HostKeyRejected,
    LoginRefused,
    MissingFile,
    NameUnknown,
    StoodStill,
    Unreachable,
    ZombieError,
)
from bot.domain.safe_text import redacted_line
from bot.transport.ssh_route import Hop
from bot.transport.tcp import connect
from bot.transport.timeouts import TimeLimit, stood_still_error

LOGIN_LIMIT = timedelta(seconds=8)  # from TCP connected to logged in
CLOSE_LIMIT_SECONDS = 1.0
ATTEMPTS = 3


class _Dropped(ConnectionLost):
    """The server closed the connection before the login. A busy sshd does so at random, so we retry."""


class _Watcher(asyncssh.SSHClient):
    """Records how far a connection came."""

    def __init__(self) -> None:
        self._connection: asyncssh.SSHClientConnection | None = None
        self.keys_exchanged = False

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        self._connection = conn

    def begin_auth(self, username: str) -> None:
        self.keys_exchanged = True

    @property
    def connected(self) -> bool:
        """Whether the connection was made."""
        return self._connection is not None

    @property
    def server_version(self) -> str:
        """The server's banner, empty before it came."""
        return "" if self._connection is None else str(self._connection.get_extra_info("server_version", ""))

    @property
    def peer(self) -> str:
        """The server's address, empty behind a jump host."""
        peer = None if self._connection is None else self._connection.get_extra_info("peername")
        return str(peer[0]) if isinstance(peer, tuple) else ""


@dataclass(slots=True)
class Login:
    """A connection to a node, and the connections to its jump hosts."""

    _through: list[asyncssh.SSHClientConnection] = field(default_factory=list)

    @property
    def connection(self) -> asyncssh.SSHClientConnection:
        """The connection to the node itself."""
        return self._through[-1]

    async def over(self, hops: tuple[Hop, ...], limit: TimeLimit, connect_timeout: timedelta) -> None:
        """Log in to the hops in order.

        Raises: Unreachable, with the class of the failed stage; MissingFile when a key cannot be used.
        """

        def may_go(error: BaseException) -> bool:
            return isinstance(error, _Dropped | StoodStill) and limit.seconds_left > 0

        for hop in hops:
            retrying = AsyncRetrying(
                retry=retry_if_exception(may_go),
                stop=stop_after_attempt(ATTEMPTS),
                wait=wait_random(0.1, 0.6),
                reraise=True,
            )
            async for attempt in retrying:
                with attempt:
                    before = self._through[-1] if self._through else None
                    self._through.append(await _log_in(hop, before, limit, connect_timeout))

    async def hang_up(self, gently: bool) -> None:
        """Close every connection; abort them unless `gently`."""
        for connection in reversed(self._through):
            if gently:
                connection.close()
            else:
                connection.abort()
        with contextlib.suppress(TimeoutError, asyncssh.Error, OSError):
            async with asyncio.timeout(CLOSE_LIMIT_SECONDS):
                for connection in reversed(self._through):
                    await connection.wait_closed()


async def _log_in(
    hop: Hop, before: asyncssh.SSHClientConnection | None, limit: TimeLimit, connect_timeout: timedelta
) -> asyncssh.SSHClientConnection:
    options: dict[str, Any] = dict(hop.options)
    watcher = _Watcher()
    with contextlib.ExitStack() as to_close:
        if before is not None:
            options |= {"tunnel": before, "proxy_command": None}
        elif hop.dialled:
            with limit.part(connect_timeout.total_seconds()) as stage:
                tcp_socket = await _connect_socket(hop, stage)
            to_close.callback(tcp_socket.close)
            options |= {"sock": tcp_socket, "tunnel": None}
        with limit.part(min(hop.login_limit, LOGIN_LIMIT).total_seconds()) as stage:
            try:
                async with stage.kept(hop.where):
                    connection = await asyncssh.connect(**options, client_factory=lambda: watcher)
            except TimeoutError as error:
                raise _stalled_error(hop, watcher) from error
            except (asyncssh.Error, OSError, ValueError) as error:
                failed = _failed_error(hop, watcher, error)
                if isinstance(failed, ConnectionLost) and stage.stood_mostly:
                    raise stood_still_error(hop.where) from error
                raise failed from error
        to_close.pop_all()  # the connection closes it now
    return connection


async def _connect_socket(hop: Hop, stage: TimeLimit) -> socket.socket:
    try:
        async with stage.kept(hop.where):
            return await connect(hop.host, hop.port)
    except TimeoutError as error:
        raise ConnectTimedOut(f"{hop.where} did not answer in time.", "Is it up, and is the way to it open?") from error
    except OSError as error:
        raise _unreached_error(hop, error) from error


def broken(where: str, error: Exception, limit: TimeLimit) -> ConnectionLost | StoodStill:
    """Return the error for a connection that broke after the login; a program that stood still is hung up on."""
    if limit.stood_mostly:
        return stood_still_error(where)
    return ConnectionLost(f"The connection to {where} broke: {_reason(error)}.")


def _unreached_error(hop: Hop, error: OSError) -> Unreachable:
    if isinstance(error, socket.gaierror):
        return NameUnknown(
            f"The address of {hop.where} does not resolve: {_reason(error)}.", "Correct `address` in the inventory."
        )
    if isinstance(error, ConnectionRefusedError):
        return ConnectionRefused(f"{hop.where} refused the connection.", "Is sshd running, and on that port?")
    return ConnectTimedOut(f"{hop.where} cannot be reached: {_reason(error)}.", "Is the way to it open?")


def _stalled_error(hop: Hop, watcher: _Watcher) -> Unreachable:
    """Return the error for a time-out at this stage."""
    starved = "Its kernel answers but its sshd does not: starved, stopped or out of memory. Use its console."
    if not watcher.connected:
        return ConnectTimedOut(f"{hop.where} did not answer in time.", "Is it up, and is the way to it open?")
    if not watcher.server_version:
        return BannerStalled(f"{hop.where} accepted the connection and then said nothing.", starved)
    if not watcher.keys_exchanged:
        return BannerStalled(f"{hop.where} showed its SSH banner and then stopped, before any login.", starved)
    return LoginRefused(
        f"{hop.where} did not finish the login in time.", "Its login is stuck: PAM, a directory service, or load."
    )


def _failed_error(hop: Hop, watcher: _Watcher, error: Exception) -> ZombieError:
    reason = _reason(error)
    if isinstance(error, asyncssh.HostKeyNotVerifiable):
        return _host_key_error(hop, watcher, reason)
    if isinstance(error, asyncssh.PermissionDenied | asyncssh.IllegalUserName) or "authentication fail" in reason:
        return LoginRefused(
            f"{hop.where} refused the login as {hop.user}: {reason}.",
            "Check `user` and `key` in the inventory, and authorized_keys on the node. If those are right, the account "
            "may be locked, as `useradd` leaves it: where sshd has `UsePAM no`, run usermod -p '*' NAME on the node.",
        )
    if isinstance(error, asyncssh.ChannelOpenError):  # the jump host's answer about the next hop
        if "refused" in reason.lower():
            return ConnectionRefused(f"{hop.where} refused the connection.", "Is sshd running, and on that port?")
        return ConnectTimedOut(f"{hop.where} cannot be reached through the jump host: {reason}.")
    if isinstance(error, asyncssh.KeyImportError | asyncssh.KeyEncryptionError | FileNotFoundError | PermissionError):
        return MissingFile(f"A key for {hop.where} cannot be used: {reason}.", "Look at IdentityFile in the config.")
    if isinstance(error, asyncssh.KeyExchangeFailed):
        if "host key" in reason.lower():
            return _host_key_error(hop, watcher, reason)
        return ConnectionLost(
            f"{hop.where} shares no SSH algorithm with us: {reason}.", "Its sshd is too old, or restricted."
        )
    if watcher.keys_exchanged:
        return ConnectionLost(f"{hop.where} hung up during the login: {reason}.", "Look at sshd's log there.")
    if not watcher.server_version and isinstance(error, asyncssh.ProtocolError | asyncssh.ProtocolNotSupported):
        return ConnectionLost(f"What answers at {hop.where} is not an SSH server: {reason}.", "Correct `port`.")
    return _Dropped(f"{hop.where} hung up before the login: {reason}.", "Look at sshd's log there: MaxStartups?")


def _host_key_error(hop: Hop, watcher: _Watcher, reason: str) -> Unreachable:
    port = None if hop.port == 22 else hop.port
    keys, authorities, revoked, *_ = hop.known.match(hop.host_key_name, watcher.peer, port)
    if not (keys or authorities or revoked):
        return HostKeyRejected(
            f"The host key of {hop.where} is unknown: {hop.known_path} has no line for it.",
            f"Take it, and compare it with the node's own before you trust it: {hop.keyscan}",
        )
    return HostKeyRejected(
        f"The host key of {hop.where} is not the one in {hop.known_path}: it was rebuilt, or it is another machine "
        f"({reason}).",
        f"If it was rebuilt, compare its new key with its console, then: {hop.forget} && {hop.keyscan}",
    )


def _reason(error: BaseException) -> str:
    text = getattr(error, "reason", "") or getattr(error, "strerror", "") or str(error) or type(error).__name__
    return redacted_line(str(text), 160).rstrip(".")
