"""The key that an SSH server shows, before anybody trusts it; and a new key to log in with.

Formats: sshd(8) for lines of known_hosts; ssh-keygen(1) for keys and fingerprints.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import asyncssh

from bot.domain.node import known_hosts_name
from bot.domain.safe_text import redacted_line

# The kinds that a server is asked for, in this order: the first is the one that people compare on its console.
_KINDS = (
    "ssh-ed25519",
    *(f"ecdsa-sha2-nistp{bits}" for bits in (256, 384, 521)),
    "rsa-sha2-512",
    "rsa-sha2-256",
    "ssh-rsa",
)


@dataclass(frozen=True, slots=True)
class ShownHostKey:
    """A host key as its server shows it: nothing says yet that it is the right server's.

    Shape: `line` is its line in known_hosts; `fingerprint` is as `ssh-keygen -l` prints it.
    """

    line: str
    kind: str
    fingerprint: str

    @property
    def file(self) -> str:
        """Where OpenSSH keeps its public half on the node."""
        kind = next((each for each in ("ed25519", "ecdsa") if each in self.kind), "rsa")
        return f"/etc/ssh/ssh_host_{kind}_key.pub"


async def fetch_host_key(host: str, port: int, limit: timedelta) -> ShownHostKey:
    """Ask a server for its host key, without logging in.

    Raises: OSError, with why there is none.
    """
    try:
        async with asyncio.timeout(limit.total_seconds()):
            key = await asyncssh.get_server_host_key(host, port, server_host_key_algs=_KINDS)
    except TimeoutError:
        raise OSError(f"no answer within {limit.total_seconds():.0f} s") from None
    except (OSError, asyncssh.Error, UnicodeError) as no:
        raise OSError(redacted_line(str(no) or type(no).__name__, 120)) from no
    if key is None:
        raise OSError("it shows no host key")
    kind, text = key.export_public_key().decode().split()[:2]
    return ShownHostKey(f"{known_hosts_name(host, port)} {kind} {text}", kind, key.get_fingerprint())


async def fetch_host_keys(
    places: Sequence[tuple[str, int]], limit: timedelta, at_once: int
) -> list[ShownHostKey | OSError]:
    """Ask each host and port for its host key, at most so many at once; of one that shows none return why."""
    turns = asyncio.Semaphore(at_once)

    async def ask(host: str, port: int) -> ShownHostKey | OSError:
        async with turns:
            try:
                return await fetch_host_key(host, port, limit)
            except OSError as no:
                return no

    return await asyncio.gather(*(ask(*place) for place in places))


def write_new_key(path: Path, comment: str) -> str:
    """Write a new Ed25519 key for logging in, readable by its owner alone, and its public half beside it.

    Returns the public half's line. Raises: FileExistsError where something is there already.
    """
    key = asyncssh.generate_private_key("ssh-ed25519", comment)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(key.export_private_key())
    public = key.export_public_key().decode()
    path.with_name(f"{path.name}.pub").write_text(public)
    return public.strip()


def read_public_key(path: Path) -> str:
    """Return the public half of a private key, as a line of authorized_keys; nothing where it cannot be read.

    Shape: from `KEY.pub` where that is there, because a key may have a passphrase.
    """
    beside = path.with_name(f"{path.name}.pub")
    try:
        if beside.is_file():
            return beside.read_text("utf-8").strip()
        return asyncssh.read_private_key(path).export_public_key().decode().strip()
    except (OSError, UnicodeDecodeError, asyncssh.KeyImportError, asyncssh.KeyEncryptionError):
        return ""
