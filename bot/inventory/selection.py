"""Resolves selectors to nodes: names, globs, labels and workloads of an inventory. Nothing is guessed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bot.domain.errors import UnknownNode
from bot.domain.nearest import nearest
from bot.domain.node import Node
from bot.domain.safe_text import listed, one_line
from bot.domain.selector import Selector, SelectorKind
from bot.inventory.inventory import Inventory

IN_CLUSTER = ("kubernetes_node", "private_dns", "hostname")  # labels that may hold a node's name in its cluster
MOST_SAID = 12


def select(
    inventory: Inventory, selectors: Sequence[Selector], run_on: Mapping[str, Sequence[str]] | None = None
) -> tuple[Node, ...]:
    """Return the nodes of all selectors, each once, in the order of the selectors.

    Shape: `run_on` maps a workload's text to the nodes of its cluster that it runs on.
    Raises: UnknownNode when a selector matches no node, with near names or with what there is.
    """
    found: dict[str, Node] = {}
    for selector in selectors:
        for node in _nodes_of_selector(inventory, selector, run_on or {}):
            found.setdefault(node.name, node)
    return tuple(found.values())


def _nodes_of_selector(inventory: Inventory, selector: Selector, run_on: Mapping[str, Sequence[str]]) -> Iterable[Node]:
    match selector.kind:
        case SelectorKind.NAME:
            return (inventory.find(selector.name),)
        case SelectorKind.WORKLOAD:
            return _nodes_of_workload(inventory, selector, run_on.get(selector.text, ()))
    if found := tuple(node for node in inventory.nodes if selector.covers(node)):
        return found
    raise UnknownNode(
        f"No node of the inventory {inventory.origin} fits “{one_line(selector.text, 80)}”.",
        _what_there_is(inventory, selector),
    )


def _nodes_of_workload(inventory: Inventory, selector: Selector, names: Sequence[str]) -> tuple[Node, ...]:
    """The cluster's nodes in the inventory; a node that the inventory does not know is an error."""
    known: dict[str, Node] = {}
    for node in inventory.nodes:
        for name in (node.name, *(node.labels.get(label, "") for label in IN_CLUSTER)):
            known.setdefault(name, node)
    if missing := [name for name in names if name not in known]:
        raise UnknownNode(
            f"{selector.text} runs on {one_line(', '.join(missing[:MOST_SAID]), 300)}, and the inventory "
            f"{inventory.origin} does not know {'it' if len(missing) == 1 else 'them'}.",
            "A node's label kubernetes_node holds its name in the cluster.",
        )
    if not names:
        raise UnknownNode(f"{selector.text} runs on no node now.", "It is finished, or waits for a node.")
    return tuple(known[name] for name in names)


def _what_there_is(inventory: Inventory, selector: Selector) -> str:
    nodes = inventory.nodes
    if not nodes:
        return "It has no nodes that are written in full."
    if selector.kind is SelectorKind.GLOB:
        plain = selector.name.translate(str.maketrans("", "", "*?[]!"))
        near = nearest(plain, inventory.names)
        return f"Near it are {', '.join(near)}." if near else f"It has {inventory.says}, such as {nodes[0].name}."
    labels = sorted({label for node in nodes for label in node.labels})
    if not labels:
        return "No node of it has labels."
    for label, value in selector.labels.items():
        if label not in labels:
            return f"No node has the label {label}; there are {_some_words(labels)}."
        values = sorted({node.labels[label] for node in nodes if label in node.labels})
        if value not in values:
            near = nearest(value, values)
            return f"{label} is {_some_words([*near, *(known for known in values if known not in near)])}."
    return "Each label exists, but no node has all of them."


def _some_words(words: Sequence[str]) -> str:
    return listed([one_line(word, 60) for word in words], MOST_SAID)
