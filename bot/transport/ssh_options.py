"""SSH keys and known_hosts files: checked before use, read again only when they change.

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
    """A cache of the keys and known_hosts files."""

    def __init__(self, known_hosts: Path, agent: str | None = None) -> None:
        """`known_hosts` is the default file; `agent` is the socket of an SSH agent."""
        self.default_known_hosts = known_hosts
        self.agent = agent
        self._read: dict[tuple[Path, ...], tuple[Stamp, Any]] = {}

    def key_options(self, key: Path) -> dict[str, Any]:
        """Return asyncssh's options for this key, or for the agent if the key has a passphrase.

        Raises: MissingFile when the key is missing, unreadable, open to others, or has a passphrase and no agent.
        """
        checked_private_key(key)
        return self._cached((key, Path(f"{key}-cert.pub"), Path(f"{key}.pub")), lambda: self._load(key))

    def known_hosts(self, paths: Sequence[Path], how_to_make: str) -> asyncssh.SSHKnownHosts:
        """Return the known hosts of these files. As with OpenSSH, some of several may be missing.

        Raises: MissingFile when all are missing, or any cannot be used.
        """
        there = tuple(path for path in paths if path.exists())
        if not there:
            raise MissingFile(
                f"There is no known_hosts file {paths[0]}, and unknown hosts are not trusted.",
                "If the node's `address` and `port` in the inventory are wrong, correct them. Else make it, and "
                f"compare the key with the node's own before you trust it: {how_to_make}",
            )
        return self._cached(there, lambda: _load_known(there))

    def _cached(self, paths: tuple[Path, ...], load: Callable[[], Loaded]) -> Loaded:
        stamp = tuple(_stamp(path) for path in paths)
        if (kept := self._read.get(paths)) is not None and kept[0] == stamp:
            return kept[1]  # type: ignore[no-any-return]  # a path is always loaded by the same function
        loaded = load()
        self._read[paths] = stamp, loaded
        return loaded

    def _load(self, key: Path) -> dict[str, Any]:
        try:
            # Only this key: sshd limits the attempts, and an agent with many keys would use them up.
            return {"client_keys": asyncssh.load_keypairs([str(key)]), "agent_path": None}
        except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError, ValueError, OSError) as error:
            public = key if _is_public(key) else Path(f"{key}.pub")
            locked = "passphrase" in str(error).lower()
            if self.agent and public.exists() and (locked or public == key):
                return {"agent_path": self.agent, "agent_identities": [str(public)]}
            if locked:
                raise MissingFile(
                    f"The private key {key} has a passphrase, which the bot cannot type.",
                    f"Load it into an agent first: ssh-add {shlex.quote(str(key))}"
                    + (f" (and keep {public} beside it)" if not public.exists() else ""),
                ) from error
            raise MissingFile(f"{key} is not a private key: {one_line(str(error), 80)}.") from error


def checked_private_key(key: Path) -> Path:
    """Check that only we can read a private key, and return its path.

    Raises: MissingFile when it is missing, unreadable or open to others.
    """
    held = readable(key, "private key").stat()
    # As OpenSSH: only the owner is told, because only the owner can change the mode.
    if held.st_uid == os.geteuid() and stat.S_IMODE(held.st_mode) & 0o077 and not _is_public(key):
        mode = f"{stat.S_IMODE(held.st_mode):o}"
        raise MissingFile(
            f"The private key {key} is open to others (mode {mode}).", f"chmod 600 {shlex.quote(str(key))}"
        )
    return key


def readable(path: Path, what: str) -> Path:
    """Check that a file can be read, and return its path.

    Raises: MissingFile, with what the file is for.
    """
    try:
        there = path.exists()
    except OSError:  # we may not enter one of its folders
        there = True
    if not there:
        raise MissingFile(f"There is no {what} {path}.", "Correct its path, or make the file.")
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
    """A stamp that changes with the file: certificates are renewed while the program runs."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)
