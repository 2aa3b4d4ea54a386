"""The inventory: every machine we may reach, by exact name; a name that is not in it is never guessed or looked up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bot.domain.errors import UnknownNode
from bot.domain.nearest import nearest
from bot.domain.node import Node, is_name, valid_name
from bot.domain.safe_text import one_line
from bot.inventory.ssh_hosts import SshHosts
from bot.inventory.toml_nodes import read_nodes


@dataclass(frozen=True, slots=True)
class Inventory:
    """Nodes by name.

    Shape: `defaults` is a node without a name of its own, from which the hosts of an OpenSSH client configuration are
    made; `hosts` is None where the inventory names no such configuration.
    """

    by_name: Mapping[str, Node]
    origin: str
    defaults: Node
    hosts: SshHosts | None = None

    @classmethod
    def load(cls, path: Path, home: Path | None = None) -> Inventory:
        """Read an inventory file; `home` is what `~` stands for in it.

        Raises: InventoryError, with file and line, when it or its OpenSSH configuration cannot be used as written.
        """
        defaults, written = read_nodes(path, home)
        hosts = SshHosts.read(defaults.ssh_config, home) if defaults.ssh_config is not None else None
        by_name = {node.name: node for node in written}
        for name in hosts.names if hosts is not None else ():
            by_name.setdefault(name, replace(defaults, name=name, address=name))
        return cls(by_name, str(path), defaults, hosts)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that is written in full, in the files' order; names that only fit a pattern are not among them."""
        return tuple(self.by_name)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes of `names`."""
        return tuple(self.by_name.values())

    def knows(self, name: str) -> bool:
        """True when `find` would return a node; looks for no near names, which takes its time in a large inventory."""
        return is_name(name) and (name in self.by_name or (self.hosts is not None and self.hosts.allows(name)))

    def find(self, name: str) -> Node:
        """Return the node of exactly that name.

        Raises: InventoryError when it cannot be a name at all; UnknownNode, with near names, when there is none such.
        """
        valid_name(name)
        if name in self.by_name:
            return self.by_name[name]
        if self.hosts is not None and self.hosts.allows(name):
            return replace(self.defaults, name=name, address=name)
        raise UnknownNode(f"{one_line(name, 80)!r} is not in the inventory {self.origin}.", self._try_instead(name))

    def _try_instead(self, name: str) -> str:
        near = nearest(name, self.by_name)
        if near:
            return f"Did you mean {' or '.join(near)}?"
        patterns = self.hosts.patterns[:5] if self.hosts is not None else ()
        if not self.by_name and not patterns:
            return f'It has no nodes yet: a line [nodes."{one_line(name, 80)}"] would add this one.'
        count = f"It has {len(self.by_name)} nodes" if len(self.by_name) != 1 else "It has 1 node"
        fitting = f", and names that fit {' or '.join(patterns)}" if patterns else ""
        return f"{count}{fitting}; none is near."
