"""The names that other monitoring tools may have for a node, and the matcher that selects it by them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.domain.addresses import is_loopback
from bot.domain.node import Node

_LABELS = ("instance_id", "private_dns", "hostname", "kubernetes_node")
_PRINTABLE = re.compile(r"[!-~]{1,253}")


def names_of(node: Node) -> tuple[str, ...]:
    """Every name that a node may have. A loopback address is left out, as any number of nodes may have it."""
    address = f"[{node.address}]" if ":" in node.address else node.address
    labelled = [node.labels.get(label, "") for label in _LABELS]
    names = [node.name, *([] if is_loopback(node.address) else [address]), *labelled]
    return tuple(dict.fromkeys(name for name in names if _PRINTABLE.fullmatch(name)))


def any_of(label: str, names: Sequence[str], then: str = "") -> str:
    """Return the matcher for any of these values of a label; `then` is a pattern for what may follow.

    Shape: a regular expression in a quoted string, so backslashes are doubled.

    Example:
    >>> print(any_of("node", ["a.b"]))
    node=~"(a\\\\.b)"
    """
    either = "|".join(re.sub(r"([^A-Za-z0-9_-])", r"\\\1", name) for name in names)
    quoted = f"({either}){then}".replace("\\", "\\\\").replace('"', '\\"')
    return f'{label}=~"{quoted}"'
