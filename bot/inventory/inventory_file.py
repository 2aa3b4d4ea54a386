"""The inventory's TOML file: a table for each kind of inventory, and `[ssh]` with defaults for all nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from bot.domain.errors import InventoryError
from bot.domain.machine_listing import Listings
from bot.domain.node import Node
from bot.domain.problems import Problems
from bot.domain.safe_text import one_line
from bot.domain.toml_table import TomlTable
from bot.domain.toml_text import read_toml_file

SSH_KEYS = ("user", "key", "known_hosts", "config", "port", "connect_timeout")
_LIMIT_BYTES = 8 * 1024 * 1024
_LONGEST_TIMEOUT = timedelta(minutes=5)
_REFRESH, _SHORTEST_REFRESH = timedelta(minutes=5), timedelta(seconds=30)
_USER = re.compile(r"[A-Za-z0-9._][^\s/:\x00-\x1f]{0,99}\Z")


@dataclass(frozen=True, slots=True)
class InventoryFile:
    """A parsed file: its tables, and the defaults of all nodes, as a node without name and address.

    Shape: faults are noted in `problems`. `home` is what `~` stands for, `folder` is the file's folder. `listings`
    lists what clouds have; without it no cloud is asked.
    """

    top: TomlTable
    problems: Problems
    home: Path | None
    defaults: Node
    folder: Path = Path()
    listings: Listings | None = None

    @classmethod
    def read(
        cls, path: Path, home: Path | None, tables: Iterable[str], listings: Listings | None = None
    ) -> InventoryFile:
        """Read the file; `tables` are the allowed tables.

        Raises: InventoryError, with file and line, when it cannot be read or is not TOML.
        """
        problems = Problems(str(path), InventoryError)
        top = TomlTable(read_toml_file(path, "the inventory", _LIMIT_BYTES, problems), (), problems)
        top.only(dict.fromkeys(("ssh", *tables)))
        ssh = top.table("ssh")
        folder = path.absolute().parent
        defaults = Node("", "") if ssh is None else _defaults(ssh, folder, home)
        return cls(top, problems, home, defaults, folder, listings)


def user_of(table: TomlTable) -> str | None:
    """Return the login that a table names; an invalid login is noted as a fault."""
    user = table.text("user")
    if user is not None and not _USER.match(user):
        table.wrong("user", f'is "{one_line(user, 60)}", which is not a user name')
        return None
    return user


def refreshed_every(table: TomlTable) -> timedelta:
    """Return the table's `refresh`: how old its listing may become."""
    refresh = table.duration("refresh")
    if refresh is not None and refresh < _SHORTEST_REFRESH:
        table.wrong("refresh", 'should be at least "30s"')
        return _REFRESH
    return refresh or _REFRESH


def _defaults(ssh: TomlTable, folder: Path, home: Path | None) -> Node:
    ssh.only(SSH_KEYS)
    timeout = ssh.duration("connect_timeout")
    if timeout is not None and not timedelta(0) < timeout <= _LONGEST_TIMEOUT:
        ssh.wrong("connect_timeout", 'should be more than 0 and at most "5m"')
    return Node(
        name="",
        address="",
        port=ssh.integer("port", 1, 65535),
        user=user_of(ssh),
        key=path_of(ssh, "key", folder, home),
        known_hosts=path_of(ssh, "known_hosts", folder, home),
        ssh_config=path_of(ssh, "config", folder, home),
        connect_timeout=Node("", "").connect_timeout if timeout is None else timeout,
    )


def path_of(table: TomlTable, key: str, folder: Path, home: Path | None) -> Path | None:
    """A path from the file's folder, or from home if it starts with `~`; the transport checks the file itself."""
    text = table.text(key)
    if text is None:
        return None
    if text == "~" or text.startswith("~/"):
        if home is None:
            table.wrong(key, "starts with ~, and there is no home folder here; write the whole path")
            return None
        return home / text[2:]
    if text.startswith("~"):
        table.wrong(key, "starts with another user's ~; write the whole path")
        return None
    return folder / text
