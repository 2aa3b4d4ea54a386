"""The audit: recomputes every hash, and compares the streams with each other, with the tables and with noted heads.

A hash chain alone cannot show that it was cut off at its end or rewritten as a whole. `house` notes each opening, each
yes, each begun step and each end of an incident; and a head of `house` noted outside the ledger, such as on a card in
Slack, shows whether `house` itself was cut off or rewritten before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, select

from bot.domain.entry import WAVES as OF_WAVES
from bot.domain.entry import Head, NotedHead
from bot.domain.house_events import HOUSE
from bot.domain.safe_text import one_line
from bot.ledger.append_only import foreign_triggers, troubled_triggers
from bot.ledger.audit_faults import AuditTables
from bot.ledger.audited_stream import AuditedStream, HouseStream, StreamFollower, as_json
from bot.ledger.case_store import stored_cases
from bot.ledger.chain import FIELDS, Broken
from bot.ledger.database import Database
from bot.ledger.entries import database_time
from bot.ledger.incidents import LINE
from bot.ledger.tables import ATTEMPTS, ENTRIES, HOLDS, WAVES

_ROWS = 500  # read at once
NO_FOLLOWERS: Mapping[str, StreamFollower] = {}


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of an audit. The record is intact when `broken` is empty.

    Shape: `unread` are streams whose chain is right, but which this program cannot follow to their end; `stepped_over`
    counts those of extras that are left out, whose chain and notes were checked, and nothing more. `gone` counts the
    entries that name what a node said, where that is no longer stored: [retention] readings removes it, or somebody.
    """

    entries: int
    incidents: int
    house: Head
    broken: tuple[Broken, ...]
    unread: tuple[Broken, ...] = ()
    stepped_over: int = 0
    gone: int = 0


def audit(
    database: Database, noted: Sequence[NotedHead] = (), followers: Mapping[str, StreamFollower] = NO_FOLLOWERS
) -> Audit:
    """Check all entries, and that the record contains these heads, which were noted outside it.

    Shape: a single pass over the entries, `house` first, whose memory does not grow with the record; what has to be
    compared waits in tables. `followers` are of extras' own streams, by the extra's name.
    """
    entries = incidents = stepped_over = 0
    with closing(AuditTables()) as tables:
        with database.reading() as connection:
            broken, unread = _database_faults(connection)
            house = HouseStream(tables)
            for row in _rows(connection, HOUSE):
                house.read(row)
            broken += house.chain.broken
            unread += house.unclear(database_time(connection))
            broken += _add_stored(tables, connection)
            for name, rows in groupby(_rows(connection), key=itemgetter(0)):
                stream = AuditedStream(str(name), tables, not house.chain.broken, followers.get(OF_WAVES))
                for row in rows:
                    stream.read(row)
                stream.end()
                broken += stream.broken
                unread += stream.unread
                entries += stream.chain.entries
                incidents += not stream.is_wave
                stepped_over += stream.is_stepped_over
        # No transaction waits from here on: PostgreSQL ends one that is idle for seconds.
        for head in noted:
            place = f", noted {head.where}" if head.where else ""
            tables.add("given", head.seq, head.digits, str(head), place)
        for fault, found in tables.faults():
            (broken if fault.is_broken else unread).append(found)
        gone = tables.gone()
    entries += house.chain.entries
    return Audit(entries, incidents, house.chain.head, tuple(broken), tuple(unread), stepped_over, gone)


def _database_faults(connection: Connection) -> tuple[list[Broken], list[Broken]]:
    """Return what is wrong with the database itself, and what it does that this program cannot read."""
    broken = [
        Broken("database", 0, f"the trigger {name}, which keeps entries from being changed, is missing or altered")
        for name in troubled_triggers(connection)
    ]
    if connection.dialect.name == "sqlite":  # who reads by an index without a row, such as the brake's, misses it
        damage = (str(says) for says in connection.exec_driver_sql("PRAGMA integrity_check(20)").scalars())
        broken += [Broken("database", 0, f"is damaged: {one_line(says, 200)}") for says in damage if says != "ok"]
    unread = [
        Broken(
            "database", 0, f"what {one_line(name, 60)} does: a trigger, rule or policy on the entries, and none of ours"
        )
        for name in foreign_triggers(connection)
    ]
    return broken, unread


def _rows(connection: Connection, stream: str = "") -> Iterator[Sequence[Any]]:
    """Yield the rows of `house`, or of all other streams, in order."""
    columns = [ENTRIES.c[name] for name in FIELDS]
    only = ENTRIES.c.stream == stream if stream else ENTRIES.c.stream != HOUSE
    asked = select(*columns).where(only).order_by(ENTRIES.c.stream, ENTRIES.c.seq)
    yield from connection.execute(asked.execution_options(yield_per=_ROWS))


def _add_stored(tables: AuditTables, connection: Connection) -> Iterator[Broken]:
    """Add the rows of the tables that follow from the entries, and the cases; yield the damaged ones of these."""
    for row in connection.execute(select(*LINE).execution_options(yield_per=_ROWS)):
        tables.add("stored", str(row.id), "incidents", as_json(dict(row._mapping)), None)
    for row in connection.execute(select(WAVES)):
        tables.add("stored", str(row.id), "waves", as_json(dict(row._mapping)), None)
    for row in connection.execute(select(HOLDS)):
        tables.add("stored", str(row.incident), "holds", as_json([row.node, row.step, row.machine_id]), None)
    for row in connection.execute(select(ATTEMPTS).execution_options(yield_per=_ROWS)):
        begun = as_json([row.node, row.remedy, row.machine_id, row.cure])
        tables.add("stored", str(row.incident), "attempts", begun, str(row.at))
    for incident, digest, says in stored_cases(connection):
        tables.add("kept", incident, digest)
        if says:
            yield Broken(incident, 0, f"what the node said, {digest[:16]}…, is damaged: {says}")
