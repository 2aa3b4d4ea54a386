"""One machine under several names is said at the start, and after a check that read it twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.app.machines import log_shared_machines, shared_machine_words
from bot.domain.errors import LedgerUnavailable
from bot.domain.node import Node
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Verdict
from bot.inventory import Inventory
from bot.probes.host import HostReading
from tests.record.incidents import VERDICT


class Knows:
    """A ledger that knows machines, or is gone."""

    def __init__(self, names: Mapping[str, tuple[str, ...]] | None) -> None:
        self._names = names

    async def machines(self) -> Mapping[str, tuple[str, ...]]:
        if self._names is None:
            raise LedgerUnavailable("The database is locked.")
        return self._names


async def logged(names: Mapping[str, tuple[str, ...]] | None) -> list[tuple[str, dict[str, Any]]]:
    lines: list[tuple[str, dict[str, Any]]] = []
    known = Inventory({name: Node(name, name) for name in ("a", "b", "c")}, "inventory.toml")
    await log_shared_machines(known, Knows(names), lambda event, **fields: lines.append((event, fields)))  # type: ignore[arg-type]
    return lines


async def test_start_names_the_nodes_that_showed_one_machine_id() -> None:
    assert await logged({"m1": ("a", "b", "gone"), "m2": ("c", "gone")}) == [
        ("one_machine", {"nodes": ["a", "b"], "machine_id": "m1"})
    ]
    assert [event for event, _ in await logged(None)] == ["ledger_unavailable"]


def read(node: str, machine_id: str | None) -> Verdict:
    host = HostReading("5.10", "b", timedelta(1), machine_id) if machine_id is not None else Unread("host", "no answer")
    return replace(VERDICT, node=node, snapshot=Snapshot(node, datetime.now(UTC), timedelta(1), {"host": host}))


def test_check_names_the_nodes_that_showed_one_machine_id() -> None:
    verdicts = [read("a", "M1"), read("b", "m1"), read("c", "m2"), read("d", ""), read("e", ""), read("f", None)]
    told = shared_machine_words([*verdicts, replace(VERDICT, node="g", snapshot=None)])
    assert told == ("a, b share the machine-id m1: the same machine, or a copied image.",)
