"""The inventory: every machine that may be reached, by exact name; other names are never guessed or looked up.

While the bot serves, cloud listings are renewed in place (`take`), so that every user of an inventory has the latest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from bot.domain.errors import UnknownNode
from bot.domain.machine_listing import Listings
from bot.domain.nearest import nearest
from bot.domain.node import Node, is_name, valid_name
from bot.domain.safe_text import one_line
from bot.inventory import ec2_nodes, kubernetes_nodes, ssh_hosts, toml_nodes
from bot.inventory.inventory_file import InventoryFile
from bot.inventory.kind import InventoryKind, ListingStatus, TableNodes

# If two kinds know a name, the first in this order wins.
KINDS = (toml_nodes.KIND, ssh_hosts.KIND, kubernetes_nodes.KIND, ec2_nodes.KIND)
_MACHINE = "instance_id"  # the label that identifies a machine across kinds


@dataclass(slots=True)
class Inventory:
    """Nodes by name; `known` is what each kind of inventory knows, by the kind's title."""

    by_name: Mapping[str, Node]
    origin: str
    known: Mapping[str, TableNodes] = field(default_factory=dict)
    kept: Mapping[str, Node] = field(default_factory=dict)

    @classmethod
    def load(
        cls,
        path: Path,
        home: Path | None = None,
        kinds: Sequence[InventoryKind] = KINDS,
        listings: Listings | None = None,
    ) -> Inventory:
        """Read an inventory file; `home` is what `~` stands for in it, `listings` lists what clouds have.

        Raises: InventoryError, with file and line, when it or a file that it names cannot be used as written. A cloud
        that does not answer is not an error; `listings` says so.
        """
        file = InventoryFile.read(path, home, (kind.table for kind in kinds), listings)
        known: dict[str, TableNodes] = {}
        for kind in kinds:
            known[kind.title] = kind.load(file)
        file.problems.raise_if_any()
        return cls(_merged(of_kind.nodes for of_kind in known.values()), str(path), known)

    def take(self, fresh: Inventory, needed: Iterable[str]) -> tuple[str, ...]:
        """Take over a freshly read inventory; of the nodes missing in it, keep those that are `needed`.

        Shape: returns the names that were kept, those of nodes with an open incident.
        """
        before = {**{node.name: node for known in fresh.known.values() for node in known.gone}, **self.by_name}
        kept = {name: before[name] for name in needed if name in before and not fresh.knows(name)}
        self.by_name, self.known, self.kept = {**fresh.by_name, **kept}, fresh.known, kept
        return tuple(kept)

    @property
    def listings(self) -> tuple[ListingStatus, ...]:
        """The result of each cloud listing, by place."""
        return tuple(status for known in self.known.values() for status in known.listings)

    @property
    def refresh(self) -> timedelta | None:
        """How often to read it again; None if nothing in it comes from a cloud."""
        return min((known.refresh for known in self.known.values() if known.refresh is not None), default=None)

    def labels_of(self, name: str) -> Mapping[str, str]:
        """Return the labels of the node of that name; none where it is gone."""
        return self.by_name[name].labels if name in self.by_name else {}

    @property
    def names(self) -> tuple[str, ...]:
        """Every name written in full, in the files' order; names that only fit a pattern are not included."""
        return tuple(self.by_name)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes of `names`."""
        return tuple(self.by_name.values())

    @property
    def says(self) -> str:
        """How many nodes there are, by kind if there are several kinds."""
        count = "1 node" if len(self.by_name) == 1 else f"{len(self.by_name)} nodes"
        kinds = [f"{len(known.nodes)} {title}" for title, known in self.known.items() if known.nodes]
        return f"{count} ({', '.join(kinds)})" if len(kinds) > 1 else count

    def knows(self, name: str) -> bool:
        """True when `find` would return a node; it skips the slow search for near names."""
        return is_name(name) and (name in self.by_name or self._fitting(name) is not None)

    def find(self, name: str) -> Node:
        """Return the node of exactly that name.

        Raises: InventoryError when it cannot be a name; UnknownNode, with near names, when there is no such node.
        """
        if (known := self.by_name.get(name)) is not None:
            return known
        node = self._fitting(valid_name(name))
        if node is None:
            near = nearest(name, self.by_name)
            sentence = f"{one_line(name, 80)!r} is not in the inventory {self.origin}."
            raise UnknownNode(sentence, self._suggestion_words(name, near), near)
        return node

    def _fitting(self, name: str) -> Node | None:
        return next((node for known in self.known.values() if (node := known.fitting(name)) is not None), None)

    def _suggestion_words(self, name: str, near: tuple[str, ...]) -> str:
        if near:
            return f"Did you mean {' or '.join(near)}?"
        patterns = [pattern for known in self.known.values() for pattern in known.patterns][:5]
        if not self.by_name and not patterns:
            return f'It has no nodes yet: a line [nodes."{one_line(name, 80)}"] would add this node.'
        fitting = f", and names that fit {' or '.join(patterns)}" if patterns else ""
        amiss = " ".join(f"{status.place}: {status.complaint}." for status in self.listings if status.complaint)
        return f"It has {self.says}{fitting}; none is near. {amiss}".rstrip()


def _merged(kinds: Iterable[Sequence[Node]]) -> dict[str, Node]:
    """Nodes by name. A machine that two kinds list is included once, with its first name and the labels of both.

    Names within a kind stay separate even if they mean the same machine, because somebody gave each of them.
    """
    by_name: dict[str, Node] = {}
    machines: dict[str, str] = {}  # of earlier kinds
    for nodes in kinds:
        here: dict[str, str] = {}
        for node in nodes:
            machine = node.labels.get(_MACHINE, "")
            first = machines.get(machine, node.name)
            if first in by_name and first != node.name:
                earlier = by_name[first]
                by_name[first] = replace(earlier, labels={**node.labels, **earlier.labels})
            else:
                by_name.setdefault(node.name, node)
                if machine:
                    here.setdefault(machine, node.name)
        machines = {**here, **machines}
    return by_name
