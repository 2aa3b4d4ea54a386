"""`[ec2]`: the running instances of an AWS account, by region.

Defined in: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstances.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from bot.domain.machine_listing import Listing, Machine, Place
from bot.domain.node import Node
from bot.domain.safe_text import one_line
from bot.domain.toml_table import TomlTable
from bot.inventory.inventory_file import InventoryFile, refreshed_every
from bot.inventory.kind import InventoryKind, TableNodes
from bot.inventory.machine_nodes import labels_of, nodes_of_listings

EC2_KEYS = ("regions", "filters", "profile", "name", "address", "refresh")
ADDRESSES = ("private-ip", "private-dns", "public-ip", "public-dns", "instance-id")
_REGION = re.compile(r"[a-z]{2,4}(-[a-z]+)+-\d{1,2}\Z")
_OWN = ("az", "instance_type", "image", "private_dns")  # facts that become labels of the same name


def load(file: InventoryFile) -> TableNodes:
    """Return the instances of the regions that `[ec2]` names; faults are noted in the file's problems."""
    table = file.top.table("ec2")
    if table is None:
        return TableNodes()
    table.only(EC2_KEYS)
    regions, filters = _regions(table), _filters(table)
    name_of, address, refresh = _name_getter(table), _address(table), refreshed_every(table)
    asked = {"filters": filters, "profile": table.text("profile") or ""}
    if len(file.problems) or file.listings is None:
        return TableNodes()
    listings = file.listings.of([Place("ec2", region, asked) for region in regions], refresh)
    return replace(nodes_of_listings(listings, "EC2", name_of, _node_factory(file.defaults, address)), refresh=refresh)


def _node_factory(defaults: Node, address: str) -> Callable[[Machine, Listing], Node | None]:
    def node_of(machine: Machine, listing: Listing) -> Node | None:
        at = machine.id if address == "instance-id" else machine.facts.get(address.replace("-", "_"), "")
        own = {"instance_id": machine.id, "region": listing.place.name}
        own |= {name: machine.facts[name] for name in _OWN if machine.facts.get(name)}
        return replace(defaults, address=at, labels=labels_of(machine, own)) if at else None

    return node_of


def _regions(table: TomlTable) -> tuple[str, ...]:
    regions = table.texts("regions")
    if not regions:
        table.wrong("regions", 'is missing; write the regions to ask: regions = ["us-east-1"]')
    for region in regions or ():
        if not _REGION.match(region):
            table.wrong("regions", f'holds "{one_line(region, 40)}"; a region is written like "us-east-1"')
    return tuple(dict.fromkeys(regions or ()))


def _filters(table: TomlTable) -> dict[str, list[str]]:
    """The filters of DescribeInstances; each is a text, or a list of texts of which any must fit."""
    written = table.table("filters")
    found: dict[str, list[str]] = {}
    for name in written.names if written is not None else ():
        assert written is not None
        values = written.texts(name) if isinstance(written.value(name), list) else (written.text(name) or "",)
        if values == () or any(not value for value in values or ()):
            written.wrong(name, f'holds nothing; write {one_line(name, 40)} = "value" or a list of values')
        found[name] = list(values or ())
    return found


def _name_getter(table: TomlTable) -> Callable[[Machine], str]:
    """An instance's name: the tag Name, unless the table says otherwise."""
    said = table.text("name") or "tag:Name"
    kind, _, tag = said.partition(":")
    if said == "instance-id":
        return lambda machine: machine.id
    if said == "private-dns":
        return lambda machine: machine.facts.get("private_dns", "")
    if kind == "tag" and tag:
        return lambda machine: _text(machine.tags, tag)
    table.wrong("name", f'is "{one_line(said, 40)}"; write "tag:Name", "private-dns" or "instance-id"')
    return lambda machine: machine.id


def _text(tags: Mapping[str, str], name: str) -> str:
    return tags.get(name, "").strip()


def _address(table: TomlTable) -> str:
    said = table.text("address") or ADDRESSES[0]
    if said not in ADDRESSES:
        table.wrong("address", f'is "{one_line(said, 40)}"; write one of {", ".join(ADDRESSES)}')
    return said


KIND = InventoryKind(table="ec2", title="of EC2", load=load)
