"""The inventory's TOML: `[ssh]` holds what all nodes share, `[nodes.NAME]` a node."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from bot.domain.errors import InventoryError
from bot.domain.node import Node, is_name
from bot.domain.problems import Problems, decode_file
from bot.domain.safe_text import one_line
from bot.domain.toml_table import TomlTable
from bot.domain.toml_text import read_toml

SSH_KEYS = ("user", "key", "known_hosts", "config", "port", "connect_timeout")
NODE_KEYS = ("address", "port", "user", "labels")
_LIMIT_BYTES = 8 * 1024 * 1024
_LONGEST_TIMEOUT = timedelta(minutes=5)

_ADDRESS = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9._:%-]{0,252}\Z")
_WITH_PORT = re.compile(r"\[?([^\[\]:]+|[0-9A-Fa-f:]+(?=\]))\]?:(\d{1,5})\Z")
_IN_CLUSTER = "kubernetes_node"
_CLUSTER_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\Z")
_USER = re.compile(r"[A-Za-z0-9._][^\s/:\x00-\x1f]{0,99}\Z")


def read_nodes(path: Path, home: Path | None) -> tuple[Node, tuple[Node, ...]]:
    """Return what all nodes share, as a node without name and address, and the nodes that are written out.

    Raises: InventoryError, with file and line, for whatever is wrong in the file.
    """
    problems = Problems(str(path), InventoryError)
    try:
        with path.open("rb") as file:
            raw = file.read(_LIMIT_BYTES + 1)
    except OSError as no:
        problems.fail(0, f"the inventory cannot be read: {no.strerror}")
    top = TomlTable(read_toml(decode_file(raw, _LIMIT_BYTES, problems), problems), (), problems)
    top.only(("ssh", "nodes"))
    defaults = Node("", "")
    if (ssh := top.table("ssh")) is not None:
        defaults = _defaults(ssh, path.absolute().parent, home)
    written = top.table("nodes")
    tables = {name: written.table(name) for name in written.names} if written is not None else {}
    nodes = tuple(_node(name, table, defaults, problems) for name, table in tables.items() if table is not None)
    problems.stop_if_any()
    return defaults, nodes


def _defaults(ssh: TomlTable, folder: Path, home: Path | None) -> Node:
    ssh.only(SSH_KEYS)
    timeout = ssh.duration("connect_timeout")
    if timeout is not None and not timedelta(0) < timeout <= _LONGEST_TIMEOUT:
        ssh.wrong("connect_timeout", 'should be more than 0 and at most "5m"')
    return Node(
        name="",
        address="",
        port=ssh.integer("port", 1, 65535),
        user=_user(ssh),
        key=_path(ssh, "key", folder, home),
        known_hosts=_path(ssh, "known_hosts", folder, home),
        ssh_config=_path(ssh, "config", folder, home),
        connect_timeout=Node("", "").connect_timeout if timeout is None else timeout,
    )


def _node(name: str, table: TomlTable, defaults: Node, problems: Problems) -> Node:
    if not is_name(name):
        problems.add(
            table.line,
            f'"{one_line(name, 60)}" is not a node name; a name is letters, digits, dots, dashes and underscores, '
            "and starts with a letter or digit",
        )
    if dotted := _dotted(name, table):
        problems.add(table.line, f'a name with dots needs quotes: [nodes."{one_line(dotted, 120)}"]')
    else:
        table.only(NODE_KEYS)
    port = table.integer("port", 1, 65535)
    return replace(
        defaults,
        name=name,
        address=_address(table) or name,  # as OpenSSH: a host without HostName is reached by its name
        port=defaults.port if port is None else port,
        user=_user(table) or defaults.user,
        labels=_labels(table),
    )


def _dotted(name: str, table: TomlTable | None) -> str:
    """The name that `[nodes.a.example.org]` was meant to give, which TOML takes for org in example in a; else empty."""
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


def _user(table: TomlTable) -> str | None:
    user = table.text("user")
    if user is not None and not _USER.match(user):
        table.wrong("user", f'is "{one_line(user, 60)}", which is not a user name')
        return None
    return user


def _labels(table: TomlTable) -> dict[str, str]:
    labels = table.table("labels")
    if labels is None:
        return {}
    told = {key: text for key in labels.names if (text := labels.text(key)) is not None}
    if _IN_CLUSTER in told and not _CLUSTER_NAME.match(told[_IN_CLUSTER]):  # it becomes part of a path of an API
        labels.wrong(_IN_CLUSTER, f'is "{one_line(told[_IN_CLUSTER], 60)}", no node\'s name in Kubernetes')
    return told


def _path(table: TomlTable, key: str, folder: Path, home: Path | None) -> Path | None:
    """A path from the file's folder, or from home where it starts with `~`; what is there is for the transport."""
    text = table.text(key)
    if text is None:
        return None
    if text == "~" or text.startswith("~/"):
        if home is None:
            table.wrong(key, "starts with ~, and there is no home folder here; write the whole path")
            return None
        return home / text[2:]
    if text.startswith("~"):
        table.wrong(key, "starts with another user's ~; write the whole path")
        return None
    return folder / text
