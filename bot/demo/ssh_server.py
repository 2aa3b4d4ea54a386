"""SSH servers of simulated nodes: on loopback, each with its own host key, for one user and one key."""

from __future__ import annotations

import contextlib
import functools
import socket
import weakref
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import asyncssh

from bot.demo.faults import Fault
from bot.demo.machine.command import CommandRunner
from bot.demo.ssh_session import serve

ADDRESS = "127.0.0.1"
USER = "demo"
SERVER_VERSION = "OpenSSH_8.9p1-simulated"

_Listener: TypeAlias = asyncssh.SSHAcceptor | socket.socket


class _Login(asyncssh.SSHServer):
    """Accepts a single user with a single key."""

    def __init__(self, node: NodeServer) -> None:
        self._node = node

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._node.connections.add(conn)

    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return username == USER and key.public_data == self._node.login_key.public_data

    def session_requested(self) -> Callable[..., Awaitable[None]]:
        return functools.partial(serve, self._node.machine)


class NodeServer:
    """The SSH server of a simulated node. It keeps its port when its fault changes."""

    def __init__(self, machine: CommandRunner, login_key: asyncssh.SSHKey, fault: Fault | None = None) -> None:
        self.machine = machine
        self.login_key = login_key
        self.fault = fault
        self.host_key = asyncssh.generate_private_key("ssh-ed25519")
        self.port = 0
        self._before: Fault | None = None  # the fault it had before it went down
        self._listener: _Listener | None = None
        self.connections = weakref.WeakSet[asyncssh.SSHServerConnection]()  # closed when the server stops

    async def start(self) -> None:
        """Listen, as the fault allows: as an SSH server, as a silent server, or not at all."""
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((ADDRESS, self.port))
        self.port = listener.getsockname()[1]
        if self.fault is Fault.REFUSES:
            self._listener = listener  # bound but not listening, to keep the port
        elif self.fault is Fault.SILENT:
            listener.listen(128)  # the kernel accepts connections; nobody reads them
            self._listener = listener
        else:
            changed = self.fault is Fault.OTHER_HOST_KEY
            key = asyncssh.generate_private_key("ssh-ed25519") if changed else self.host_key
            self._listener = await asyncssh.listen(
                sock=listener,
                config=[],
                server_factory=lambda: _Login(self),
                server_host_keys=[key],
                server_version=SERVER_VERSION,
                encoding=None,
                line_editor=False,
                allow_pty=False,
                agent_forwarding=False,
                x11_forwarding=False,
                compression_algs=["none"],
                gss_host=None,
                login_timeout=30,
            )

    async def stop(self) -> None:
        """Stop listening and close every connection."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
        connections = list(self.connections)
        for connection in connections:
            connection.abort()
        for connection in connections:
            with contextlib.suppress(OSError, asyncssh.Error):
                await connection.wait_closed()
        self.connections.clear()

    async def powered(self, on: bool) -> None:
        """Refuse connections while the machine is down, and accept them again after its boot."""
        if not on:
            self._before = self.fault
            await self.switch(Fault.REFUSES)
            return
        again = self._before
        await self.switch(Fault.OTHER_HOST_KEY if again is Fault.OTHER_KEY_AFTER_BOOT else again)

    async def switch(self, fault: Fault | None) -> None:
        """Restart on the same port with another fault, or with none."""
        await self.stop()
        self.fault = fault
        await self.start()

    def known_hosts_line(self) -> str:
        """Return this node's line of a known_hosts file."""
        return f"[{ADDRESS}]:{self.port} {self.host_key.export_public_key().decode().strip()}\n"
