"""The inventory: every machine we may reach, by exact name; a name that is not in it is never guessed or looked up.

What clouds list is renewed in place while the bot serves (`take`), so that whoever holds an inventory has the latest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from bot.domain.errors import UnknownNode
from bot.domain.listing import Listings
from bot.domain.nearest import nearest
from bot.domain.node import Node, is_name, valid_name
from bot.domain.safe_text import one_line
from bot.inventory import ec2_nodes, kubernetes_nodes, ssh_hosts, toml_nodes
from bot.inventory.inventory_file import InventoryFile
from bot.inventory.kind import InventoryKind, Known, Told

# Of two that know a name, the first has it.
KINDS = (toml_nodes.KIND, ssh_hosts.KIND, kubernetes_nodes.KIND, ec2_nodes.KIND)
_MACHINE = "instance_id"  # the label by which two kinds know one machine


@dataclass(slots=True)
class Inventory:
    """Nodes by name; `known` is what each kind of inventory knows, by its title."""

    by_name: Mapping[str, Node]
    origin: str
    known: Mapping[str, Known] = field(default_factory=dict)
    kept: Mapping[str, Node] = field(default_factory=dict)

    @classmethod
    def load(
        cls,
        path: Path,
        home: Path | None = None,
        kinds: Sequence[InventoryKind] = KINDS,
        listings: Listings | None = None,
    ) -> Inventory:
        """Read an inventory file; `home` is what `~` stands for in it, `listings` knows what clouds list.

        Raises: InventoryError, with file and line, when it or a file that it names cannot be used as written; a cloud
        that does not answer is no such error: `told` says it.
        """
        file = InventoryFile.read(path, home, (kind.table for kind in kinds), listings)
        known: dict[str, Known] = {}
        for kind in kinds:
            known[kind.title] = kind.load(file)
        file.problems.stop_if_any()
        return cls(_merged(of_kind.nodes for of_kind in known.values()), str(path), known)

    def take(self, fresh: Inventory, needed: Iterable[str]) -> tuple[str, ...]:
        """Become what was read anew; of the nodes that it has no more, keep those that are `needed`.

        Shape: returns the names that were kept, which are those of nodes with an open incident.
        """
        before = {**{node.name: node for known in fresh.known.values() for node in known.gone}, **self.by_name}
        kept = {name: before[name] for name in needed if name in before and not fresh.knows(name)}
        self.by_name, self.known, self.kept = {**fresh.by_name, **kept}, fresh.known, kept
        return tuple(kept)

    @property
    def told(self) -> tuple[Told, ...]:
        """What each cloud told, place by place."""
        return tuple(told for known in self.known.values() for told in known.told)

    @property
    def refresh(self) -> timedelta | None:
        """How often it is to be read anew; None where nothing in it comes from elsewhere."""
        return min((known.refresh for known in self.known.values() if known.refresh is not None), default=None)

    @property
    def labels(self) -> Mapping[str, Mapping[str, str]]:
        """The labels of every node by its name, always the latest."""
        return _Labels(self)

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
            near = nearest(name, self.by_name)
            sentence = f"{one_line(name, 80)!r} is not in the inventory {self.origin}."
            raise UnknownNode(sentence, self._try_instead(name, near), near)
        return node

    def _fitting(self, name: str) -> Node | None:
        return next((node for known in self.known.values() if (node := known.fitting(name)) is not None), None)

    def _try_instead(self, name: str, near: tuple[str, ...]) -> str:
        if near:
            return f"Did you mean {' or '.join(near)}?"
        patterns = [pattern for known in self.known.values() for pattern in known.patterns][:5]
        if not self.by_name and not patterns:
            return f'It has no nodes yet: a line [nodes."{one_line(name, 80)}"] would add this one.'
        fitting = f", and names that fit {' or '.join(patterns)}" if patterns else ""
        amiss = " ".join(f"{told.place}: {told.complaint}." for told in self.told if told.complaint)
        return f"It has {self.says}{fitting}; none is near. {amiss}".rstrip()


def _merged(kinds: Iterable[Sequence[Node]]) -> dict[str, Node]:
    """Nodes by name. A machine that two kinds list stands once, by its first name and with the labels of both.

    Names of one kind stay apart, also where they lead to one machine: somebody gave each of them.
    """
    by_name: dict[str, Node] = {}
    machines: dict[str, str] = {}  # those of earlier kinds
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


class _Labels(Mapping[str, Mapping[str, str]]):
    """A look at the inventory as it is now."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory

    def __getitem__(self, name: str) -> Mapping[str, str]:
        return self._inventory.by_name[name].labels

    def __iter__(self) -> Iterator[str]:
        return iter(self._inventory.by_name)

    def __len__(self) -> int:
        return len(self._inventory.by_name)
