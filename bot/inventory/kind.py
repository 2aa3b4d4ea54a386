"""A kind of inventory: a table of the inventory's file, and the nodes that are known by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bot.domain.node import Node
from bot.inventory.inventory_file import InventoryFile


@dataclass(frozen=True, slots=True)
class Known:
    """What is known by one table.

    Shape: `nodes` are those with a full name. `patterns` are shown to people; `fitting(name)` returns the node of a
    name that only fits one of them, None where it fits none.
    """

    nodes: tuple[Node, ...] = ()
    patterns: tuple[str, ...] = ()
    fitting: Callable[[str], Node | None] = lambda name: None


@dataclass(frozen=True, slots=True)
class InventoryKind:
    """One kind of inventory.

    Shape: `table` is its table in the inventory's file. `title` follows the number of its nodes in what people read:
    "3 written out in [nodes]". `load` notes faults in the file's problems.
    Raises: `load` raises InventoryError where it reads another file, and that one cannot be used.
    """

    table: str
    title: str
    load: Callable[[InventoryFile], Known]
