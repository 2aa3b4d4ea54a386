"""Keys and known hosts, each file checked before use and read again only when it changed.

Formats: sshd(8) for known_hosts; ssh-keygen(1) for keys and certificates.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import asyncssh

from bot.domain.errors import MissingFile
from bot.domain.safe_text import one_line

Stamp: TypeAlias = tuple[tuple[int, int, int], ...]
Loaded = TypeVar("Loaded")


class Keyring:
    """The files that logins need, for as long as the program runs."""

    def __init__(self, known_hosts: Path, agent: str | None = None) -> None:
        """`known_hosts` serves nodes that name none; `agent` is the socket of an SSH agent."""
        self.default_known_hosts = known_hosts
        self.agent = agent
        self._read: dict[tuple[Path, ...], tuple[Stamp, Any]] = {}

    def login_with(self, key: Path) -> dict[str, Any]:
        """Return asyncssh's options for a login with this key, or with the agent's where the key has a passphrase.

        Raises: MissingFile when the key is missing, unreadable, open to others, or locked and in no agent.
        """
        closed(key)
        return self._cached((key, Path(f"{key}-cert.pub"), Path(f"{key}.pub")), lambda: self._load(key))

    def known_hosts(self, paths: Sequence[Path], how_to_make: str) -> asyncssh.SSHKnownHosts:
        """Return the hosts that these files know; of several, as OpenSSH has them, some may be missing.

        Raises: MissingFile when there is none of them, or one cannot be used.
        """
        there = tuple(path for path in paths if path.exists())
        if not there:
            raise MissingFile(
                f"There is no known_hosts file {paths[0]}, and no host is trusted unseen.",
                f"Make it, and compare the key with the node's own before you trust it: {how_to_make}",
            )
        return self._cached(there, lambda: _load_known(there))

    def _cached(self, paths: tuple[Path, ...], load: Callable[[], Loaded]) -> Loaded:
        stamp = tuple(_stamp(path) for path in paths)
        if (kept := self._read.get(paths)) is not None and kept[0] == stamp:
            return kept[1]  # type: ignore[no-any-return]  # one path is always loaded by one function
        loaded = load()
        self._read[paths] = stamp, loaded
        return loaded

    def _load(self, key: Path) -> dict[str, Any]:
        try:
            # Only this key: an agent full of others would use up the logins that sshd allows before it is tried.
            return {"client_keys": asyncssh.load_keypairs([str(key)]), "agent_path": None}
        except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError, ValueError, OSError) as error:
            public = key if _is_public(key) else Path(f"{key}.pub")
            locked = "passphrase" in str(error).lower()
            if self.agent and public.exists() and (locked or public == key):
                return {"agent_path": self.agent, "agent_identities": [str(public)]}
            if locked:
                raise MissingFile(
                    f"The private key {key} has a passphrase, and nobody is here to type it.",
                    f"Load it into an agent first: ssh-add {shlex.quote(str(key))}"
                    + (f" (and keep {public} beside it)" if not public.exists() else ""),
                ) from error
            raise MissingFile(f"{key} is not a private key: {one_line(str(error), 80)}.") from error


def closed(key: Path) -> Path:
    """Return the path of a private key that is ours to read and nobody else's.

    Raises: MissingFile when it is missing, unreadable or open to others.
    """
    held = readable(key, "private key").stat()
    # As OpenSSH: whoever is not a key's owner cannot change its mode, and is not told to.
    if held.st_uid == os.geteuid() and stat.S_IMODE(held.st_mode) & 0o077 and not _is_public(key):
        mode = f"{stat.S_IMODE(held.st_mode):o}"
        raise MissingFile(
            f"The private key {key} is open to others (mode {mode}).", f"chmod 600 {shlex.quote(str(key))}"
        )
    return key


def readable(path: Path, what: str) -> Path:
    """Return the path of a file that is there and may be read.

    Raises: MissingFile, saying what the file is for.
    """
    try:
        there = path.exists()
    except OSError:  # a folder on the way is closed to us
        there = True
    if not there:
        raise MissingFile(f"There is no {what} {path}.", "Correct the path in the inventory, or make the file.")
    if not path.is_file() or not os.access(path, os.R_OK):
        raise MissingFile(f"The {what} {path} cannot be read.", "Look at who owns it and its mode.")
    return path


def _load_known(paths: Sequence[Path]) -> asyncssh.SSHKnownHosts:
    for path in paths:
        readable(path, "known_hosts file")
    try:
        return asyncssh.read_known_hosts([str(path) for path in paths])
    except (ValueError, OSError) as error:
        named = " ".join(str(path) for path in paths)
        raise MissingFile(f"{named} is not a known_hosts file: {one_line(str(error), 80)}.") from error


def _is_public(path: Path) -> bool:
    return path.suffix == ".pub"


def _stamp(path: Path) -> tuple[int, int, int]:
    """What changes when a file is replaced or written; certificates are renewed while the program runs."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)
