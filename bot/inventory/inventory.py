"""The inventory: every machine we may reach, by exact name; a name that is not in it is never guessed or looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.domain.errors import UnknownNode
from bot.domain.nearest import nearest
from bot.domain.node import Node, is_name, valid_name
from bot.domain.safe_text import one_line
from bot.inventory import ssh_hosts, toml_nodes
from bot.inventory.inventory_file import InventoryFile
from bot.inventory.kind import InventoryKind, Known

KINDS = (toml_nodes.KIND, ssh_hosts.KIND)  # of two that know a name, the first has it


@dataclass(frozen=True, slots=True)
class Inventory:
    """Nodes by name; `known` is what each kind of inventory knows, by its title."""

    by_name: Mapping[str, Node]
    origin: str
    known: Mapping[str, Known] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path, home: Path | None = None, kinds: Sequence[InventoryKind] = KINDS) -> Inventory:
        """Read an inventory file; `home` is what `~` stands for in it.

        Raises: InventoryError, with file and line, when it or a file that it names cannot be used as written.
        """
        file = InventoryFile.read(path, home, (kind.table for kind in kinds))
        known: dict[str, Known] = {}
        by_name: dict[str, Node] = {}
        for kind in kinds:
            known[kind.title] = kind.load(file)
            for node in known[kind.title].nodes:
                by_name.setdefault(node.name, node)
        file.problems.stop_if_any()
        return cls(by_name, str(path), known)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that is written in full, in the files' order; names that only fit a pattern are not among them."""
        return tuple(self.by_name)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes of `names`."""
        return tuple(self.by_name.values())

    @property
    def says(self) -> str:
        """How many nodes there are, and of which kinds where there are several."""
        count = "1 node" if len(self.by_name) == 1 else f"{len(self.by_name)} nodes"
        kinds = [f"{len(known.nodes)} {title}" for title, known in self.known.items() if known.nodes]
        return f"{count} ({', '.join(kinds)})" if len(kinds) > 1 else count

    def knows(self, name: str) -> bool:
        """True when `find` would return a node; looks for no near names, which takes its time in a large inventory."""
        return is_name(name) and (name in self.by_name or self._fitting(name) is not None)

    def find(self, name: str) -> Node:
        """Return the node of exactly that name.

        Raises: InventoryError when it cannot be a name at all; UnknownNode, with near names, when there is none such.
        """
        valid_name(name)
        node = self.by_name.get(name) or self._fitting(name)
        if node is None:
            raise UnknownNode(f"{one_line(name, 80)!r} is not in the inventory {self.origin}.", self._try_instead(name))
        return node

    def _fitting(self, name: str) -> Node | None:
        return next((node for known in self.known.values() if (node := known.fitting(name)) is not None), None)

    def _try_instead(self, name: str) -> str:
        near = nearest(name, self.by_name)
        if near:
            return f"Did you mean {' or '.join(near)}?"
        patterns = [pattern for known in self.known.values() for pattern in known.patterns][:5]
        if not self.by_name and not patterns:
            return f'It has no nodes yet: a line [nodes."{one_line(name, 80)}"] would add this one.'
        fitting = f", and names that fit {' or '.join(patterns)}" if patterns else ""
        return f"It has {self.says}{fitting}; none is near."
