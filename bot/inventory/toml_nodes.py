"""`[nodes.NAME]`: the nodes written in the inventory's file itself."""

from __future__ import annotations

import re
from dataclasses import replace

from bot.domain.node import Node, is_name
from bot.domain.problems import Problems
from bot.domain.safe_text import one_line
from bot.domain.toml_table import TomlTable
from bot.inventory.inventory_file import InventoryFile, user_of
from bot.inventory.kind import InventoryKind, TableNodes

NODE_KEYS = ("address", "port", "user", "labels")

_ADDRESS = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9._:%-]{0,252}\Z")
_WITH_PORT = re.compile(r"\[?([^\[\]:]+|[0-9A-Fa-f:]+(?=\]))\]?:(\d{1,5})\Z")
_IN_CLUSTER = "kubernetes_node"
_CLUSTER_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\Z")


def load(file: InventoryFile) -> TableNodes:
    """Return these nodes; faults are noted in the file's problems."""
    written = file.top.table("nodes")
    tables = {name: written.table(name) for name in written.names} if written is not None else {}
    spelt: dict[str, str] = {}
    for name, table in tables.items():
        earlier = spelt.setdefault(name.lower(), name)
        if earlier != name and table is not None:  # the same host to DNS and SSH, but two nodes to us
            says = f'"{one_line(name, 60)}" and "{one_line(earlier, 60)}" differ in letter case only; keep one of them'
            file.problems.add(table.line, says)
    nodes = (_node(name, table, file.defaults, file.problems) for name, table in tables.items() if table is not None)
    return TableNodes(tuple(nodes))


def _node(name: str, table: TomlTable, defaults: Node, problems: Problems) -> Node:
    if not is_name(name):
        problems.add(
            table.line,
            f'"{one_line(name, 60)}" is not a node name; a name is letters, digits, dots, dashes and underscores, '
            "and starts with a letter or digit",
        )
    if dotted := _dotted_name(name, table):
        problems.add(table.line, f'a name with dots needs quotes: [nodes."{one_line(dotted, 120)}"]')
    else:
        table.only(NODE_KEYS)
    port = table.integer("port", 1, 65535)
    return replace(
        defaults,
        name=name,
        address=_address(table) or name,  # as in OpenSSH: a host without HostName is reached by its name
        port=defaults.port if port is None else port,
        user=user_of(table) or defaults.user,
        labels=_labels(table),
    )


def _dotted_name(name: str, table: TomlTable | None) -> str:
    """The name intended by `[nodes.a.example.org]`, which TOML reads as nested tables; otherwise empty."""
    dotted = ""
    while table is not None and (inner := [key for key in table.names if key not in NODE_KEYS and table.is_table(key)]):
        dotted = f"{dotted or name}.{inner[0]}"
        table = table.table(inner[0])
    return dotted


def _address(table: TomlTable) -> str | None:
    address = table.text("address")
    if address is None or _ADDRESS.match(address):
        if address is not None and address.count(":") == 1:
            host, _, port = address.partition(":")
            table.wrong("address", f'holds a port; write address = "{host}" and port = {port or 22}')
        return address
    if found := _WITH_PORT.match(address):
        table.wrong("address", f'holds a port; write address = "{found.group(1)}" and port = {found.group(2)}')
    elif "@" in address:
        user, _, host = address.partition("@")
        host, user = one_line(host, 60), one_line(user, 60)
        table.wrong("address", f'holds a user; write address = "{host}" and user = "{user}"')
    else:
        table.wrong("address", f'is "{one_line(address, 60)}"; it should be a host name or an IP address')
    return None


def _labels(table: TomlTable) -> dict[str, str]:
    labels = table.table("labels")
    if labels is None:
        return {}
    texts = {key: text for key in labels.names if (text := labels.text(key)) is not None}
    if _IN_CLUSTER in texts and not _CLUSTER_NAME.match(texts[_IN_CLUSTER]):  # it becomes part of an API's path
        labels.wrong(_IN_CLUSTER, f'is "{one_line(texts[_IN_CLUSTER], 60)}", not a node\'s name in Kubernetes')
    return texts


KIND = InventoryKind(table="nodes", title="written out in [nodes]", load=load)
