"""What a cloud lists becomes nodes only as far as it can be true."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.domain.machine_listing import Listing, Machine, Place
from bot.domain.node import Node
from bot.inventory.kind import TableNodes
from bot.inventory.machine_nodes import labels_of, nodes_of_listings

PLACE = Place("cloud", "here", {})
NOW = datetime(2026, 11, 22, 3, tzinfo=UTC)


def machine(name: str, tag: str) -> Machine:
    return Machine(name, {"private_ip": "10.0.0.1"}, {"Name": tag})


def known(*machines: Machine, gone: tuple[Machine, ...] = ()) -> TableNodes:
    def name_of(found: Machine) -> str:
        return found.tags["Name"]

    listing = Listing(PLACE, machines, NOW, gone)
    return nodes_of_listings([listing], "Cloud", name_of, lambda found, _: Node("", found.facts["private_ip"]))


def test_machine_that_stands_on_two_pages_is_one_machine_and_keeps_its_name() -> None:
    listed = known(machine("i-1", "gpu-1"), machine("i-2", "gpu-2"), machine("i-1", "gpu-1"), machine("i-1", "gpu-9"))
    assert [node.name for node in listed.nodes] == ["gpu-1", "gpu-2"]
    assert listed.listings[0].count == 2


def test_names_that_differ_in_case_alone_are_neither_machines() -> None:
    listed = known(machine("i-1", "gpu-1"), machine("i-2", "GPU-1"))
    assert [node.name for node in listed.nodes] == ["i-1", "i-2"]


def test_place_that_lists_nothing_any_more_is_told_and_a_place_that_never_had_any_is_not() -> None:
    left = (machine("i-1", "gpu-1"), machine("i-2", "gpu-2"))
    assert known(gone=left).listings[0].complaint == "it lists nothing now, and listed 2 machines within seven days"
    assert known().listings[0].complaint == ""
    assert known(machine("i-3", "gpu-3"), gone=left).listings[0].complaint == ""


def test_tags_become_labels_without_their_secrets() -> None:
    long = "x" * 105
    tags = {"team": "ray", "deploy": f"{long} glpat-AbCdEfGhIjKlMnOpQrSt", "db_password": "hunter2hunter2"}
    without = {"team": "ray", "deploy": f"{long} [redacted: token]", "db_password": "[redacted]"}
    assert labels_of(Machine("i-1", {}, tags), {"az": "here"}) == without | {"az": "here"}
