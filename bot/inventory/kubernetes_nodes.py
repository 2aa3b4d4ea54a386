"""`[kubernetes]`: the nodes of a cluster, by a context of a kubeconfig.

Defined in: https://kubernetes.io/docs/reference/labels-annotations-taints/ (the well-known labels)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bot.domain.machine_listing import Listing, Machine, Place
from bot.domain.node import Node
from bot.inventory.inventory_file import InventoryFile, path_of, refreshed_every
from bot.inventory.kind import InventoryKind, TableNodes
from bot.inventory.machine_nodes import labels_of, nodes_of_listings

KUBERNETES_KEYS = ("context", "selector", "kubeconfig", "refresh")
_OWN = ("az", "region", "instance_type", "image", "kernel", "ready", "cordoned", "hostname", "instance_id")
_ROLE = "node-role.kubernetes.io/"
_WELL_KNOWN = {
    "az": ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"),
    "region": ("topology.kubernetes.io/region",),
    "instance_type": ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"),
}


def load(file: InventoryFile) -> TableNodes:
    """Return the nodes of the cluster that `[kubernetes]` names; faults are noted in the file's problems."""
    table = file.top.table("kubernetes")
    if table is None:
        return TableNodes()
    table.only(KUBERNETES_KEYS)
    context = table.text("context")
    if context is None and "context" not in table:
        table.wrong("context", 'is missing; the current context is never used: context = "…"')
    kubeconfig, refresh = path_of(table, "kubeconfig", file.folder, file.home), refreshed_every(table)
    asked = {"selector": table.text("selector") or "", "kubeconfig": str(kubeconfig or "")}
    if len(file.problems) or file.listings is None or context is None:
        return TableNodes()
    listings = file.listings.of([Place("kubernetes", context, asked)], refresh)
    known = nodes_of_listings(listings, "Kubernetes", lambda machine: machine.id, _node_factory(file.defaults, context))
    return replace(known, refresh=refresh)


def _node_factory(defaults: Node, context: str) -> Callable[[Machine, Listing], Node | None]:
    def node_of(machine: Machine, listing: Listing) -> Node | None:
        tags = machine.tags
        facts = {name: next((tags[key] for key in keys if tags.get(key)), "") for name, keys in _WELL_KNOWN.items()}
        roles = sorted(key.removeprefix(_ROLE) for key in tags if key.startswith(_ROLE))
        facts = {**facts, **machine.facts}
        own = {"kubernetes_node": machine.id, "kubernetes_context": context}
        own |= {name: facts[name] for name in _OWN if facts.get(name)}
        if roles and not tags.get("role"):
            own["role"] = ",".join(roles)
        at = machine.facts.get("address") or machine.facts.get("hostname", "")
        return replace(defaults, address=at, labels=labels_of(machine, own)) if at else None

    return node_of


KIND = InventoryKind(table="kubernetes", title="of Kubernetes", load=load)
