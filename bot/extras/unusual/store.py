"""The facts of checks in the record's database: the latest few of each node, compressed, in a table of their own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    LargeBinary,
    MetaData,
    Table,
    Text,
    bindparam,
    delete,
    func,
    insert,
    inspect,
    select,
)

from bot.domain.entry import instant_of, instant_text
from bot.extras.fleet.facts import packed, unpacked
from bot.extras.unusual.unusual_facts import NodeFacts
from bot.ledger.database import Store, reads, writes

KEPT = 6  # checks of a node
FRESH = timedelta(days=7)  # a peer was read within them

# `v1` is the table's own version: another form has another name, and this one is left as it is.
FACTS = Table(
    "node_facts_v1",
    MetaData(),
    Column("node", Text, primary_key=True),
    Column("at", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("healthy", Boolean, nullable=False),
    Column("stood_out", Float, nullable=False),
    Column("facts", LargeBinary, nullable=False),
)
_OF_NODE = FACTS.c.node == bindparam("of_node")
_PAST = select(FACTS).where(_OF_NODE).order_by(FACTS.c.at.desc())
_TIMES = _PAST.with_only_columns(FACTS.c.at)
_NEWS = select(FACTS).where(FACTS.c.kind == bindparam("of_kind"), FACTS.c.at > bindparam("after")).order_by(FACTS.c.at)
_NONE: Mapping[str, datetime] = {}
_OLD = select(FACTS.c.node).group_by(FACTS.c.node).having(func.max(FACTS.c.at) < bindparam("before"))


class FactStore(Store):
    """Stores the facts of checks and reads them. Raises: every method raises LedgerUnavailable."""

    _exists = False

    @writes
    def keep(self, connection: Connection, kind: str, facts: NodeFacts) -> None:
        """Store them, and forget the node's oldest beyond the latest few."""
        row = {"node": facts.node, "at": instant_text(facts.at), "kind": kind, "healthy": facts.is_healthy}
        if not self._is_there(connection):
            FACTS.create(connection)
        known = list(connection.execute(_TIMES, {"of_node": facts.node}).scalars())
        if row["at"] not in known:
            connection.execute(insert(FACTS), row | {"stood_out": facts.stood_out, "facts": packed(facts.facts)})
        for old in known[KEPT - 1 :]:
            connection.execute(delete(FACTS).where(_OF_NODE, FACTS.c.at == old), {"of_node": facts.node})

    @reads
    def past(self, connection: Connection, node: str) -> tuple[NodeFacts, ...]:
        """Return the latest checks of a node, the oldest first."""
        rows = connection.execute(_PAST, {"of_node": node}).all() if self._is_there(connection) else ()
        return tuple(map(_facts, reversed(rows)))

    @reads
    def news(
        self, connection: Connection, kind: str, after: datetime, known: Mapping[str, datetime] = _NONE
    ) -> tuple[NodeFacts, ...]:
        """Return the checks of nodes of a kind after that time, the oldest first; `known` are the latest by node."""
        asked = {"of_kind": kind, "after": instant_text(after)}
        latest = {node: instant_text(at) for node, at in known.items()}
        rows = connection.execute(_NEWS, asked).all() if self._is_there(connection) else ()
        return tuple(_facts(row) for row in rows if row.at > latest.get(row.node, ""))

    @writes
    def forget_others(self, connection: Connection, names: Collection[str], before: datetime) -> None:
        """Forget the checks of all other nodes from before that time."""
        if self._is_there(connection):
            old = connection.execute(_OLD, {"before": instant_text(before)}).scalars()
            for node in [node for node in old if node not in names]:
                connection.execute(delete(FACTS).where(_OF_NODE), {"of_node": node})

    def _is_there(self, connection: Connection) -> bool:
        self._exists = self._exists or inspect(connection).has_table(FACTS.name)
        return self._exists


def _facts(row: Any) -> NodeFacts:
    return NodeFacts(row.node, instant_of(row.at), bool(row.healthy), unpacked(row.facts), float(row.stood_out))
