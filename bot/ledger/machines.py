"""Which machine each node is: its last known machine-id. A machine may have several names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import Connection, bindparam, func, insert, select, update

from bot.domain.errors import UnreadableEntry
from bot.domain.events import PlanProposed, Triaged
from bot.ledger.entries import entry_of
from bot.ledger.tables import ATTEMPTS, ENTRIES, HOLDS, MACHINES

MACHINE_ID = "machine_id"  # its name in what an approval binds
_OF_NODE = update(MACHINES).where(MACHINES.c.node == bindparam("named"))
_SHARED = select(MACHINES.c.machine_id).group_by(MACHINES.c.machine_id).having(func.count() > 1)
_PROPOSED = (
    select(ENTRIES)
    .where(ENTRIES.c.stream == bindparam("named"), ENTRIES.c.kind == PlanProposed.__name__)
    .order_by(ENTRIES.c.seq.desc())
    .limit(1)
)


def note_machine(connection: Connection, event: Triaged | PlanProposed) -> None:
    """Record the machine-id of the event's node, where given."""
    if isinstance(event, Triaged):
        node, machine_id = event.verdict.node, event.machine_id
    else:
        node, machine_id = event.plan.node, event.binds.get(MACHINE_ID, "")
    if not (node and machine_id):
        return
    done = connection.execute(_OF_NODE, {"named": node, MACHINE_ID: machine_id})
    if not done.rowcount:
        connection.execute(insert(MACHINES).values(node=node, machine_id=machine_id))


def names_of_machines(connection: Connection, machine_id: str = "") -> Mapping[str, tuple[str, ...]]:
    """Return the names of each machine with several names, by machine-id; with `machine_id`, that machine's names."""
    asked = MACHINES.c.machine_id == machine_id if machine_id else MACHINES.c.machine_id.in_(_SHARED)
    rows = select(MACHINES).where(asked).order_by(MACHINES.c.machine_id, MACHINES.c.node)
    found: dict[str, tuple[str, ...]] = {}
    for row in connection.execute(rows):
        found[row.machine_id] = (*found.get(row.machine_id, ()), row.node)
    return found


def count_extra_names(connection: Connection) -> int:
    """Return how many more names than machines there are."""
    count = select(func.count() - func.count(MACHINES.c.machine_id.distinct())).select_from(MACHINES)
    return int(connection.execute(count).scalar_one())


def fill_machines(connection: Connection) -> None:
    """Fill in what older programs did not store: the machine of each hold and attempt, and the plan of each attempt."""
    for stream, proposed in _proposals(connection, connection.execute(select(HOLDS.c.incident)).scalars().all()):
        named = {MACHINE_ID: proposed.binds.get(MACHINE_ID, "")}
        connection.execute(update(HOLDS).where(HOLDS.c.incident == stream).values(named))
    for stream, proposed in _proposals(connection, connection.execute(select(ATTEMPTS.c.incident)).scalars().all()):
        named = {MACHINE_ID: proposed.binds.get(MACHINE_ID, ""), "cure": proposed.plan.cure}
        connection.execute(update(ATTEMPTS).where(ATTEMPTS.c.incident == stream).values(named))


def _proposals(connection: Connection, streams: Sequence[str]) -> Iterator[tuple[str, PlanProposed]]:
    for stream in streams:
        row = connection.execute(_PROPOSED, {"named": stream}).one_or_none()
        if row is None:
            continue
        with contextlib.suppress(UnreadableEntry):  # an audit reports it; it must not block the migration
            if isinstance(event := entry_of(row).event, PlanProposed):
                yield stream, event
