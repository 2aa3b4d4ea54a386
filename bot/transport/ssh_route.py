"""The SSH servers on the way to a node, each with asyncssh's options for it.

Format: ssh_config(5). asyncssh reads the client config; settings that would trust unknown hosts are refused here.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncssh

from bot.domain.errors import MissingFile
from bot.domain.node import Node, known_hosts_name
from bot.domain.safe_text import one_line
from bot.transport.ssh_options import Keyring, checked_private_key, readable

# Group exchange costs the client half a second of CPU; the others cost milliseconds.
KEX_ALGORITHMS = "-diffie-hellman-group-exchange-*"
# First where the node has them too: in Python they cost a fifth of the CPU that asyncssh's own first choice costs.
CIPHERS = "^aes256-gcm@openssh.com,aes128-gcm@openssh.com"
MOST_HOPS = 8  # ends a circle of jump hosts


@dataclass(frozen=True, slots=True)
class Hop:
    """An SSH server on the way; the last is the node.

    Shape: `where` is its name in messages; `host_key_name` its name in known_hosts; `dialled` is false if the config
    has a ProxyCommand for it; `login_limit` is its ConnectTimeout.
    """

    where: str
    host: str
    port: int
    user: str
    options: Mapping[str, Any]
    known: asyncssh.SSHKnownHosts
    known_path: Path
    host_key_name: str
    dialled: bool = True
    login_limit: timedelta = timedelta.max

    @property
    def keyscan(self) -> str:
        """The command that fetches the server's host key. Compare the key before you trust it."""
        return _keyscan(self.host, self.port, self.known_path)

    @property
    def forget(self) -> str:
        """The command that removes the server's host key from known_hosts."""
        name = known_hosts_name(self.host_key_name, self.port)
        return f"ssh-keygen -R {shlex.quote(name)} -f {shlex.quote(str(self.known_path))}"


@dataclass(frozen=True, slots=True)
class _Server:
    """What asyncssh would make of a host, a port and a user, at a hundredth of the cost."""

    host: str
    port: int
    username: str
    host_key_alias: str | None = None
    connect_timeout: float | None = None
    config: Mapping[str, str] = field(default_factory=dict)


def route(node: Node, keyring: Keyring) -> tuple[Hop, ...]:
    """Return the servers on the way to the node, without using the network.

    Raises: MissingFile when a needed file is missing, unreadable or wrong, or the config would trust unknown hosts.
    """
    hop, jumps = _hop(node, keyring, node.address, node.port, node.user, jump=False)
    way = [hop]
    while jumps:
        *before, last = jumps.split(",")
        user, _, where = last.strip().rpartition("@")
        host, port = _host_and_port(where)
        hop, own = _hop(node, keyring, host, port, user or None, jump=True)
        if len(way) == MOST_HOPS:
            raise MissingFile(f"{node.ssh_config} leads over more than {MOST_HOPS} jump hosts to {node.name}.")
        way.insert(0, hop)
        # As OpenSSH: only the first of a list uses the jump hosts of its own entry, and never itself.
        jumps = ",".join(before) or (own if own not in (last, host) else "")
    return tuple(way)


def _hop(node: Node, keyring: Keyring, host: str, port: int | None, user: str | None, jump: bool) -> tuple[Hop, str]:
    """Return a server, and the jump hosts that its config names."""
    options: dict[str, Any] = {
        "host": host,
        "config": [],
        "agent_path": keyring.agent,
        "agent_forwarding": False,
        "keepalive_interval": 5,
        "keepalive_count_max": 3,
        "password_auth": False,
        "kbdint_auth": False,
        "gss_host": None,
        "x509_trusted_certs": None,
        "connect_timeout": None,  # its own clock would go on while this program stands still
    }
    if port is not None:
        options["port"] = port
    if user is not None:
        options["username"] = user
    files = [node.known_hosts or keyring.default_known_hosts]
    jumps, dialled = "", True
    plain: asyncssh.SSHClientConnectionOptions | _Server
    if node.ssh_config is None:
        options |= {"kex_algs": KEX_ALGORITHMS, "encryption_algs": CIPHERS}
        plain = _unconfigured(host, port, user)
    else:
        options["config"] = [str(readable(node.ssh_config, "OpenSSH client config"))]
        plain = configured = _configured(node.ssh_config, host, _named(options))
        jumps = configured.tunnel if isinstance(configured.tunnel, str) else ""
        dialled = not configured.proxy_command and not configured.canonicalize_hostname
        named: Any = configured.config.get("IdentityFile") or ()
        if own_keys := [Path(name).expanduser() for name in named]:
            # As OpenSSH: some of several may be missing, and keys with a passphrase come from the agent.
            there = [path for path in own_keys if path.exists()] or own_keys[:1]
            options |= {"client_keys": [str(checked_private_key(path)) for path in there], "ignore_encrypted": True}
        if configured.config.get("IdentityAgent") is not None:
            del options["agent_path"]
        if node.known_hosts is None:
            files = _known_files(node.ssh_config, host, configured) or files
    if node.key is not None and not (jump and "client_keys" in options):
        options |= keyring.key_options(node.key)
    options["known_hosts"] = keyring.known_hosts(files, _keyscan(plain.host, plain.port, files[0]))
    name = host if jump else node.name
    if "username" not in options and plain.config.get("User") is None and plain.username == str(os.getuid()):
        raise MissingFile(
            f"No user is named to log in to {name} with, and user {plain.username}, who runs this, has no name here.",
            'Write user = "NAME" under [ssh] in the inventory, or set LOGNAME.',
        )
    at = plain.host if plain.port == 22 else f"{plain.host}:{plain.port}"
    where = f"the jump host {name}" if jump else name
    hop = Hop(
        where=where if at == name else f"{where} ({at})",
        host=plain.host,
        port=plain.port,
        user=plain.username,
        options=options,
        known=options["known_hosts"],
        known_path=files[0],
        host_key_name=plain.host_key_alias or plain.host,
        dialled=dialled,
        login_limit=timedelta(seconds=plain.connect_timeout) if plain.connect_timeout else timedelta.max,
    )
    return hop, jumps


def _named(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: options[key] for key in ("port", "username") if key in options}


def _unconfigured(host: str, port: int | None, user: str | None) -> asyncssh.SSHClientConnectionOptions | _Server:
    """A server of which no config says anything; asyncssh is asked only for what is not named."""
    if user is not None:
        return _Server(host, 22 if port is None else port, user)
    named = {} if port is None else {"port": port}
    return asyncssh.SSHClientConnectionOptions(host=host, config=[], client_keys=None, known_hosts=None, **named)


def _configured(path: Path, host: str, named: Mapping[str, Any]) -> asyncssh.SSHClientConnectionOptions:
    """Read a host's config, without its keys and known hosts."""
    try:
        return asyncssh.SSHClientConnectionOptions(
            config=[str(path)], host=host, client_keys=None, agent_path=None, **named
        )
    except (ValueError, OSError, asyncssh.Error) as error:
        raise MissingFile(f"{path} cannot be used: {one_line(str(error), 160)}.") from error


def _known_files(path: Path, host: str, plain: asyncssh.SSHClientConnectionOptions) -> list[Path]:
    """The known_hosts files that the config names for a host."""
    named = plain.known_hosts if isinstance(plain.known_hosts, list) else []
    files = [Path(str(file)).expanduser() for file in named if str(file) != os.devnull]
    if plain.known_hosts is None or (named and not files):
        raise MissingFile(
            f"{path} switches host key checking off for {host} (UserKnownHostsFile {named[0] if named else 'none'}).",
            "Name a known_hosts file there; unknown hosts are not trusted.",
        )
    return files


def _host_and_port(text: str) -> tuple[str, int | None]:
    """Split `host`, `host:port`, `[address]:port` or a bare IPv6 address."""
    if text.startswith("["):
        host, _, port = text[1:].partition("]")
        port = port.removeprefix(":")
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    else:
        host, port = text, ""
    return host, int(port) if port.isascii() and port.isdigit() else None


def _keyscan(host: str, port: int, path: Path) -> str:
    number = f"-p {port} " if port != 22 else ""
    return f"ssh-keyscan {number}{shlex.quote(host)} >> {shlex.quote(str(path))}"
