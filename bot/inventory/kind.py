"""A kind of inventory: a table of the inventory's file, and the nodes that it provides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.domain.node import Node
from bot.inventory.inventory_file import InventoryFile


@dataclass(frozen=True, slots=True)
class ListingStatus:
    """A place's last listing: how many nodes, when (None: never), and what is wrong (empty: nothing)."""

    place: str
    count: int
    read_at: datetime | None = None
    complaint: str = ""


@dataclass(frozen=True, slots=True)
class TableNodes:
    """What a table provides.

    Shape: `nodes` have full names. `patterns` are shown to people; `fitting(name)` returns the node of a name that only
    fits a pattern, None if it fits none. A table that asks a cloud has `listings`, the result of each place; `gone`,
    the nodes that were listed there before and are gone; and `refresh`, how old its listing may become.
    """

    nodes: tuple[Node, ...] = ()
    patterns: tuple[str, ...] = ()
    fitting: Callable[[str], Node | None] = lambda name: None
    listings: tuple[ListingStatus, ...] = ()
    gone: tuple[Node, ...] = ()
    refresh: timedelta | None = None


@dataclass(frozen=True, slots=True)
class InventoryKind:
    """A kind of inventory.

    Shape: `table` is its table in the inventory's file. `title` follows the number of its nodes in text for people:
    "3 written out in [nodes]". `load` notes faults in the file's problems.
    Raises: `load` raises InventoryError when it reads another file that cannot be used.
    """

    table: str
    title: str
    load: Callable[[InventoryFile], TableNodes]
