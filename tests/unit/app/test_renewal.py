"""While the bot serves its inventory becomes what its clouds list, and a node with an open incident stays."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from bot.app.listings import Renewal
from bot.domain.errors import InventoryError, LedgerUnavailable, UnknownNode
from bot.domain.node import Node
from bot.inventory import Inventory
from bot.inventory.kind import ListingStatus, TableNodes
from bot.ledger import Ledger

MINUTE = timedelta(minutes=1)


class Summary:
    """What is asked of an incident's summary."""

    def __init__(self, node: str) -> None:
        self.node = node


class OpenIncidents:
    """A ledger of which only the open incidents are asked."""

    def __init__(self, *nodes: str) -> None:
        self.nodes = nodes
        self.is_gone = False

    async def incidents(self, only_open: bool = False) -> tuple[Summary, ...]:
        assert only_open
        if self.is_gone:
            raise LedgerUnavailable("gone")
        return tuple(map(Summary, self.nodes))


def listed(*names: str, gone: Sequence[str] = (), complaint: str = "") -> Inventory:
    known = TableNodes(
        tuple(Node(name, name) for name in names),
        listings=(ListingStatus("EC2 us-east-1", len(names), None, complaint),),
        gone=tuple(Node(name, name) for name in gone),
        refresh=MINUTE,
    )
    return Inventory({node.name: node for node in known.nodes}, "inventory.toml", {"of EC2": known})


class Bench:
    """An inventory under renewal: what is read next, what was logged, what the others were told."""

    def __init__(self, known: Inventory, *open_on: str) -> None:
        self.known, self.ledger = known, OpenIncidents(*open_on)
        self.next: Inventory | Exception = known
        self.lines: list[tuple[str, dict[str, Any]]] = []
        self.heard: list[list[str]] = []
        self.renewal = Renewal(
            known,
            self.load,
            cast(Ledger, self.ledger),
            lambda event, **more: self.lines.append((event, more)),
            [lambda nodes: self.heard.append([node.name for node in nodes])],
        )

    def load(self) -> Inventory:
        if isinstance(self.next, Exception):
            raise self.next
        return self.next


async def test_new_nodes_come_and_gone_ones_go_for_whoever_holds_the_inventory() -> None:
    here = Bench(listed("a", "b"))
    here.next = listed("b", "c")
    await here.renewal.renew()
    assert here.known.names == ("b", "c")
    assert here.known.labels_of("a") == {}
    assert here.heard == [["b", "c"]]
    with pytest.raises(UnknownNode):
        here.known.find("a")


async def test_a_node_with_an_open_incident_stays_until_it_is_over() -> None:
    here = Bench(listed("a", "b"), "a")
    here.next = listed("b")
    await here.renewal.renew()
    await here.renewal.renew()
    assert here.known.find("a").address == "a"
    here.ledger.nodes = ()
    await here.renewal.renew()
    assert here.known.names == ("b",)


async def test_a_node_that_left_before_the_start_is_brought_back_for_its_incident() -> None:
    here = Bench(listed("b", gone=["a", "c"]), "a")
    await here.renewal.begin()
    assert set(here.known.names) == {"a", "b"}


async def test_nobody_is_dropped_while_the_record_cannot_be_asked() -> None:
    here = Bench(listed("a", "b"))
    here.ledger.is_gone, here.next = True, listed("c")
    await here.renewal.renew()
    assert set(here.known.names) == {"a", "b", "c"}


async def test_a_file_that_became_wrong_leaves_the_inventory_as_it_was() -> None:
    here = Bench(listed("a"))
    here.next = InventoryError("inventory.toml:3: wrong")
    await here.renewal.renew()
    assert here.known.names == ("a",)
    assert here.lines == [("inventory_kept", {"because": "inventory.toml:3: wrong"})]


async def test_what_is_amiss_is_logged_once_until_it_changes() -> None:
    here = Bench(listed("a"))
    here.next = listed("a", complaint="throttled")
    await here.renewal.renew()
    await here.renewal.renew()
    assert here.lines == [("inventory_partial", {"place": "EC2 us-east-1", "because": "throttled"})]


async def test_an_inventory_of_files_alone_is_never_read_again(tmp_path: Path) -> None:
    path = tmp_path / "inventory.toml"
    path.write_text("[nodes.a]\n")
    here = Bench(Inventory.load(path))
    await here.renewal.run()
    assert here.lines == []
