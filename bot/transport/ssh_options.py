"""What asyncssh needs to reach a node: keys, known hosts and an OpenSSH client config, each checked before use.

Formats: sshd(8) for known_hosts, ssh_config(5) for the client config.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import asyncssh

from bot.domain.errors import MissingFile
from bot.domain.node import Node
from bot.domain.safe_text import one_line

# Group exchange costs the client half a second of CPU where the others cost milliseconds.
KEX_ALGORITHMS = "-diffie-hellman-group-exchange-*"


class Keyring:
    """Turns nodes into asyncssh options, reading each key and known_hosts file once."""

    def __init__(self, known_hosts: Path, agent: str | None = None) -> None:
        """`known_hosts` serves nodes that name none; `agent` is the socket of an SSH agent."""
        self._known_hosts = known_hosts
        self._agent = agent
        self._keys: dict[Path, Any] = {}
        self._hosts: dict[Path, Any] = {}

    def options(self, node: Node) -> dict[str, Any]:
        """Return the keyword arguments for `asyncssh.connect`.

        Raises: MissingFile when a file that the node needs is missing, unreadable, or open to others.
        """
        options: dict[str, Any] = {
            "host": node.address,
            "config": [],
            "agent_path": self._agent,
            "agent_forwarding": False,
            "keepalive_interval": 5,
            "keepalive_count_max": 3,
            "password_auth": False,
            "kbdint_auth": False,
            "x509_trusted_certs": None,
        }
        if node.port is not None:
            options["port"] = node.port
        if node.user is not None:
            options["username"] = node.user
        if node.key is not None:
            options["client_keys"] = self._key(node.key)
        if node.ssh_config is not None:
            options["config"] = [str(_readable(node.ssh_config, "OpenSSH client config"))]
            self._refuse_unchecked_hosts(node)
            if node.known_hosts is not None:
                options["known_hosts"] = self._known(node, node.known_hosts)
        else:
            options["kex_algs"] = KEX_ALGORITHMS
            options["known_hosts"] = self._known(node, node.known_hosts or self._known_hosts)
        return options

    def keyscan(self, node: Node) -> str:
        """Return the command that takes a node's host key, to be compared with the node's own before it is trusted."""
        port = f"-p {node.port} " if node.port not in (None, 22) else ""
        return f"ssh-keyscan {port}{node.address} >> {node.known_hosts or self._known_hosts}"

    def _key(self, path: Path) -> Any:
        if path not in self._keys:
            _readable(path, "private key")
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & 0o077:
                raise MissingFile(f"The private key {path} is open to others (mode {mode:o}).", f"chmod 600 {path}")
            try:
                self._keys[path] = asyncssh.load_keypairs([str(path)])
            except asyncssh.KeyEncryptionError as error:
                raise MissingFile(
                    f"The private key {path} has a passphrase.", f"Load it into an agent first: ssh-add {path}"
                ) from error
            except (asyncssh.KeyImportError, ValueError, OSError) as error:
                raise MissingFile(f"{path} is not a private key: {one_line(str(error), 80)}.") from error
        return self._keys[path]

    def _known(self, node: Node, path: Path) -> Any:
        if path not in self._hosts:
            if not path.exists():
                raise MissingFile(
                    f"There is no known_hosts file {path}, and no host is trusted unseen.",
                    f"Make it, and compare the key with the node's own: {self.keyscan(node)}",
                )
            _readable(path, "known_hosts file")
            try:
                self._hosts[path] = asyncssh.read_known_hosts(str(path))
            except (ValueError, OSError) as error:
                raise MissingFile(f"{path} is not a known_hosts file: {one_line(str(error), 80)}.") from error
        return self._hosts[path]

    def _refuse_unchecked_hosts(self, node: Node) -> None:
        """An OpenSSH config may switch host key checking off, for the node or for a jump host on its way: not here."""
        hops = [node.address]
        seen: set[str] = set()
        while hops:
            host = hops.pop()
            if host in seen:
                continue
            seen.add(host)
            try:
                options = asyncssh.SSHClientConnectionOptions(config=[str(node.ssh_config)], host=host)
            except (ValueError, OSError, asyncssh.Error) as error:
                raise MissingFile(f"{node.ssh_config} cannot be used: {one_line(str(error), 160)}.") from error
            if options.known_hosts is None and not (host == node.address and node.known_hosts is not None):
                raise MissingFile(
                    f"{node.ssh_config} switches host key checking off for {host} (UserKnownHostsFile none).",
                    "Name a known_hosts file there; no host is trusted unseen.",
                )
            if isinstance(options.tunnel, str):
                hops += [hop.rsplit("@", 1)[-1].split(":")[0] for hop in options.tunnel.split(",") if hop]


def _readable(path: Path, what: str) -> Path:
    if not path.exists():
        raise MissingFile(f"There is no {what} {path}.", "Correct the path in the inventory, or make the file.")
    if not path.is_file() or not os.access(path, os.R_OK):
        raise MissingFile(f"The {what} {path} cannot be read.", "Look at who owns it and its mode.")
    return path
