"""A kind of inventory: a table of the inventory's file, and the nodes that are known by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.domain.node import Node
from bot.inventory.inventory_file import InventoryFile


@dataclass(frozen=True, slots=True)
class Told:
    """What one place elsewhere told: how many nodes, when (None: never yet), and what is amiss (empty: nothing)."""

    place: str
    count: int
    read_at: datetime | None = None
    complaint: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known by one table.

    Shape: `nodes` are those with a full name. `patterns` are shown to people; `fitting(name)` returns the node of a
    name that only fits one of them, None where it fits none. What is asked elsewhere has `told`, what each place said,
    `gone`, the nodes that were listed there before and are no more, and `refresh`, how old it may become.
    """

    nodes: tuple[Node, ...] = ()
    patterns: tuple[str, ...] = ()
    fitting: Callable[[str], Node | None] = lambda name: None
    told: tuple[Told, ...] = ()
    gone: tuple[Node, ...] = ()
    refresh: timedelta | None = None


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
