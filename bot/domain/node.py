"""A node: a machine that may be reached, by its name in the inventory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from bot.domain.errors import InventoryError
from bot.domain.safe_text import one_line

GPUS_LABEL = "gpus"  # how many GPUs a node has, for an incident's cost
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}\Z")


@dataclass(frozen=True, slots=True)
class Node:
    """A machine and how to reach it; None means "as the OpenSSH client config says"."""

    name: str
    address: str
    port: int | None = None
    user: str | None = None
    key: Path | None = None
    known_hosts: Path | None = None
    ssh_config: Path | None = None
    connect_timeout: timedelta = timedelta(seconds=5)
    labels: Mapping[str, str] = field(default_factory=dict)


def known_hosts_name(host: str, port: int) -> str:
    """Return a server's name in known_hosts (sshd(8)).

    Example:
    >>> known_hosts_name("10.0.0.7", 22), known_hosts_name("10.0.0.7", 2222)
    ('10.0.0.7', '[10.0.0.7]:2222')
    """
    return host if port == 22 else f"[{host}]:{port}"


def is_name(text: str) -> bool:
    """True when `text` can be a node's name.

    Example:
    >>> is_name("node-123"), is_name("-oProxyCommand=x")
    (True, False)
    """
    return _NAME.match(text) is not None


def valid_name(text: str) -> str:
    """Return `text` if it can be a node's name; names are checked before any other use.

    Raises: InventoryError when it holds anything but letters, digits, dots, dashes and underscores,
    starts with neither letter nor digit, or is longer than 253 characters.

    Example:
    >>> valid_name("node-123")
    'node-123'
    """
    if not is_name(text):
        raise InventoryError(
            f"{one_line(text, 60)!r} is not a node name.",
            "A name is letters, digits, dots, dashes and underscores, and starts with a letter or digit.",
        )
    return text
