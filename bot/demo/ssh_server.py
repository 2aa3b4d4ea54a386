"""SSH servers of simulated nodes: loopback only, keys of their own, one login key, commands and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TypeAlias

import asyncssh

from bot.demo.answer import Answering
from bot.demo.faults import Fault
from bot.demo.ssh_session import ExecSession

ADDRESS = "127.0.0.1"
USER = "demo"
SERVER_VERSION = "OpenSSH_8.9p1-simulated"

_Door: TypeAlias = asyncssh.SSHAcceptor | asyncio.Server | socket.socket


class _Login(asyncssh.SSHServer):
    """Lets one user in, by one key."""

    def __init__(self, node: NodeServer) -> None:
        self._node = node

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._node.opened(conn)

    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return self._node.lets_in(username, key)

    def session_requested(self) -> ExecSession:
        return ExecSession(self._node.machine, self._node.fault)


class NodeServer:
    """One simulated node's SSH server; its port is the kernel's choice and stays the same through faults."""

    def __init__(self, machine: Answering, login_key: asyncssh.SSHKey, fault: Fault | None = None) -> None:
        self.machine = machine
        self.login_key = login_key
        self.fault = fault
        self.host_key = asyncssh.generate_private_key("ssh-ed25519")
        self.port = 0
        self._before: Fault | None = None  # the fault while it was up
        self._door: _Door | None = None
        self._connections: dict[int, asyncssh.SSHServerConnection] = {}

    async def start(self) -> None:
        """Open the door that the fault leaves: a server, a silent one, or none."""
        door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind((ADDRESS, self.port))
        self.port = door.getsockname()[1]
        if self.fault is Fault.REFUSES:
            self._door = door  # bound, so that nobody else gets the port, and not listening
        elif self.fault is Fault.SILENT:
            door.listen(128)  # the kernel accepts for us; nobody ever speaks
            self._door = door
        elif self.fault is Fault.SILENT_AFTER_BANNER:
            self._door = await asyncio.start_server(_only_banner, sock=door)
        else:
            changed = self.fault is Fault.OTHER_HOST_KEY
            key = asyncssh.generate_private_key("ssh-ed25519") if changed else self.host_key
            self._door = await asyncssh.listen(
                sock=door,
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
        """Close the door and every connection."""
        door, self._door = self._door, None
        if door is not None:
            door.close()
        connections = list(self._connections.values())
        for connection in connections:
            connection.abort()
        for connection in connections:
            with contextlib.suppress(OSError, asyncssh.Error):
                await connection.wait_closed()
        self._connections.clear()

    async def powered(self, on: bool) -> None:
        """Shut the door as a machine that goes down does, or open it again after its boot; the port stays taken."""
        if not on:
            self._before = self.fault
            await self.switch(Fault.REFUSES)
            return
        again = self._before
        await self.switch(Fault.OTHER_HOST_KEY if again is Fault.OTHER_KEY_AFTER_BOOT else again)

    async def switch(self, fault: Fault | None) -> None:
        """Come back on the same port with another fault, or with none."""
        await self.stop()
        self.fault = fault
        await self.start()

    def known_hosts_line(self) -> str:
        """Return this node's line of a known_hosts file."""
        return f"[{ADDRESS}]:{self.port} {self.host_key.export_public_key().decode().strip()}\n"

    # --- what its connections ask and tell

    def lets_in(self, username: str, key: asyncssh.SSHKey) -> bool:
        """True for the one user with the one key."""
        ours = username == USER and key.public_data == self.login_key.public_data
        return ours and self.fault is not Fault.NO_LOGIN

    def opened(self, connection: asyncssh.SSHServerConnection) -> None:
        """Take note of a connection, so that the end of the node ends it."""
        self._connections = {
            key: open_connection
            for key, open_connection in self._connections.items()
            if not open_connection.is_closed()
        }
        self._connections[id(connection)] = connection


async def _only_banner(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(f"SSH-2.0-{SERVER_VERSION}\r\n".encode())
    with contextlib.suppress(OSError):
        while await reader.read(4096):
            pass
    writer.close()
