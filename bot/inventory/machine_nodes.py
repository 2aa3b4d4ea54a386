"""Turns machines that a cloud lists into nodes; nothing in a listing is trusted without a check.

Anybody who may tag an instance or label a cluster's node can write here. A tag may group nodes; it can never give a
node another address or cluster, or make it look simulated.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from bot.domain.machine_listing import Listing, Machine
from bot.domain.node import GPUS_LABEL, Node, is_name
from bot.domain.safe_text import one_line, redacted_line
from bot.domain.secret_forms import MARK
from bot.domain.secret_names import speaks_of_secret
from bot.inventory.kind import ListingStatus, TableNodes

ADDRESS = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9._:%-]{0,252}\Z")
# Labels with a meaning: where alerts find a node, which cluster drains it, whether it is simulated.
RESERVED = frozenset(
    {"instance_id", "private_dns", "hostname", "kubernetes_node", "kubernetes_context", "demo", "lab", GPUS_LABEL}
)
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_./-]{0,62}\Z")
_MOST_LABELS = 60
_LONGEST = 128
_is_secret = functools.lru_cache(1024)(speaks_of_secret)  # a name is every machine's


def labels_of(machine: Machine, own: Mapping[str, str]) -> dict[str, str]:
    """Return a node's labels: the tags that people set, without secrets, overridden by what the place says (`own`)."""
    found: dict[str, str] = {}
    for name, value in machine.tags.items():
        if _LABEL.match(name) and name not in RESERVED and value and len(found) < _MOST_LABELS:
            found[name] = MARK if _is_secret(name) else redacted_line(value, _LONGEST)
    role = found.get("role") or found.get("Role")
    return found | ({"role": role} if role else {}) | {name: one_line(value, _LONGEST) for name, value in own.items()}


def nodes_of_listings(
    listings: Sequence[Listing],
    title: str,
    wanted_name: Callable[[Machine], str],
    node_of: Callable[[Machine, Listing], Node | None],
) -> TableNodes:
    """Return what these listings provide.

    Shape: `wanted_name` is what people call a machine; if it is not a valid name, or several machines have it in
    whatever case, the machine's id becomes its name. `node_of` returns a node, whose name is replaced, or None if it
    cannot be reached. A machine that stands on several pages of a listing is one machine.
    """
    machines = [_each_once(listing.machines) for listing in listings]
    counted = Counter(wanted_name(machine).lower() for listed in machines for machine in listed)

    def named(machine: Machine) -> str:
        name = wanted_name(machine)
        return name if is_name(name) and counted[name.lower()] <= 1 else machine.id

    nodes: dict[str, Node] = {}
    statuses: list[ListingStatus] = []
    for listing, listed in zip(listings, machines, strict=True):
        usable, unusable = 0, 0
        for machine in listed:
            node, name = node_of(machine, listing), named(machine)
            if node is None or not is_name(name) or not ADDRESS.match(node.address):
                unusable += 1
                continue
            usable += 1
            nodes.setdefault(name, replace(node, name=name))
        statuses.append(
            ListingStatus(f"{title} {listing.place.name}", usable, listing.read_at, _complaint(listing, unusable))
        )
    gone = _gone_nodes(listings, (wanted_name, lambda machine: machine.id), node_of, nodes)
    return TableNodes(tuple(nodes.values()), listings=tuple(statuses), gone=gone)


def _each_once(machines: Iterable[Machine]) -> tuple[Machine, ...]:
    """The machines of different ids, each as it was listed first: a list that changes while it is read repeats some."""
    found: dict[str, Machine] = {}
    for machine in machines:
        found.setdefault(machine.id, machine)
    return tuple(found.values())


def _complaint(listing: Listing, unusable: int) -> str:
    machines = "1 machine has" if unusable == 1 else f"{unusable} machines have"
    without = f"{machines} no usable name or address, and {'is' if unusable == 1 else 'are'} left out"
    left = len(listing.gone)  # remembered for seven days: a wrong filter or account lists nothing, and is no error
    emptied = f"it lists nothing now, and listed {left} {'machine' if left == 1 else 'machines'} within seven days"
    is_emptied = left and not listing.machines and not listing.complaint
    return "; ".join(filter(None, (listing.complaint, emptied if is_emptied else "", without if unusable else "")))


def _gone_nodes(
    listings: Iterable[Listing],
    names_of: Sequence[Callable[[Machine], str]],
    node_of: Callable[[Machine, Listing], Node | None],
    present: Mapping[str, Node],
) -> tuple[Node, ...]:
    """Machines that are no longer listed, under every name that they may have had."""
    found: dict[str, Node] = {}
    for listing in listings:
        for machine in listing.gone:
            node = node_of(machine, listing)
            if node is None or not ADDRESS.match(node.address):
                continue
            for name in (name_of(machine) for name_of in names_of):
                if is_name(name) and name not in present:
                    found.setdefault(name, replace(node, name=name))
    return tuple(found.values())
