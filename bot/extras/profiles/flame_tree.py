"""The tree of a flame graph, from folded stacks in order; frames too narrow to be seen are left out, which is noted.

Two profiles may be compared: then a node has its weight now, and how much more that is than before, with the earlier
profile scaled to the weight of the later.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from bot.domain.safe_text import decode

NARROWEST = 1 / 4000  # of the whole: less than half a pixel in a wide window
DEEPEST = 256  # deeper calls count for the deepest frame drawn


class Stacks(Protocol):
    """Folded stacks with their counts."""

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Yield each stack once, in the order of the stacks' bytes."""


@dataclass(slots=True)
class Node:
    """A frame: its weight including its callees, now and before, and its callees by name."""

    name: bytes
    now: float = 0.0
    before: float = 0.0
    called: dict[bytes, Node] = field(default_factory=dict)

    def values(self, *, compares: bool = False) -> dict[str, Any]:
        """Return the tree below it as d3-flame-graph wants it; `compares`: with how much more each is than before."""
        found: dict[str, Any] = {"name": decode(self.name), "value": round(self.now)}
        if compares:
            found["delta"] = round(self.now - self.before)
        if self.called:
            found["children"] = [called.values(compares=compares) for called in self.called.values()]
        return found


def flame_tree(now: Stacks, before: Stacks | None = None) -> Node:
    """Return the tree's root, in a single pass over the stacks."""
    total = sum(times for _, times in now.items()) or 1
    earlier = sum(times for _, times in before.items()) or 1 if before is not None else 1
    stretch = total / earlier
    root = Node(b"all")
    open_nodes = [root]
    for key, weight, weight_before in _side_by_side(now, before):
        names = key.split(b";")[:DEEPEST]
        depth = 0
        while depth < len(names) and depth + 1 < len(open_nodes) and open_nodes[depth + 1].name == names[depth]:
            depth += 1
        while len(open_nodes) > depth + 1:
            _close_node(open_nodes, total)
        open_nodes.extend(Node(name) for name in names[depth:])
        for node in open_nodes:
            node.now += weight
            node.before += weight_before * stretch
    while len(open_nodes) > 1:
        _close_node(open_nodes, total)
    return root


def _side_by_side(now: Stacks, before: Stacks | None) -> Iterator[tuple[bytes, int, int]]:
    here: Iterable[tuple[bytes, int, int]] = ((key, times, 0) for key, times in now.items())
    there: Iterable[tuple[bytes, int, int]] = ((key, 0, times) for key, times in before.items()) if before else ()
    return iter(heapq.merge(here, there, key=lambda entry: entry[0]) if before else here)


def _close_node(open_nodes: list[Node], total: int) -> None:
    """Add the innermost open node to its caller, unless it is too narrow to be seen."""
    node = open_nodes.pop()
    caller = open_nodes[-1]
    if max(node.now, node.before) < total * NARROWEST and node.name not in caller.called:
        return
    known = caller.called.setdefault(node.name, node)
    if known is not node:
        _merge_nodes(known, node)


def _merge_nodes(known: Node, other: Node) -> None:
    """Merge a node into another of the same name: other names may sort between a stack and its deeper stacks."""
    known.now += other.now
    known.before += other.before
    for name, called in other.called.items():
        if name in known.called:
            _merge_nodes(known.called[name], called)
        else:
            known.called[name] = called
