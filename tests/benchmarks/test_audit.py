"""How long an audit of 40,000 entries takes, that it is linear, and that its memory does not grow with the record."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert

from bot.domain.entry import ANCHORED, Entry, Event, Head, instant_of
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE, EntryAnchored, IncidentEnded
from bot.domain.transitions import State
from bot.ledger import Database, audit
from bot.ledger.entries import chained_entry, head_of, insert_entry
from bot.ledger.incidents import write_incident_row
from bot.ledger.tables import ATTEMPTS
from tests.record.incidents import STARTED, WAYS, by_whom

pytestmark = pytest.mark.benchmark
ENTRIES = 40_000
AT = "2026-11-21T10:00:00.000Z"


class Filling:
    """Writes incidents as the ledger does, without a transaction each."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.entries = 0
        self._heads = {HOUSE: head_of(connection, HOUSE)[0]}

    def add(self, stream: str, event: Event, by: str = "bot") -> Entry:
        entry = chained_entry(stream, self._heads.get(stream, Head()), AT, event, by)
        insert_entry(self.connection, entry)
        self._heads[stream] = Head(entry.seq, entry.hash)
        self.entries += 1
        if entry.kind in ANCHORED:
            self.add(HOUSE, EntryAnchored(stream, entry.kind, entry.seq, entry.hash))
        return entry

    def incident(self, stream: str) -> None:
        entries = [self.add(stream, event, by_whom(event)) for event in WAYS[State.RESOLVED]]
        incident = fold(entries)
        write_incident_row(self.connection, incident)
        self.add(HOUSE, IncidentEnded(stream, incident.state.value, incident.seq, incident.head))
        assert incident.proposal is not None
        begun = next(entry for entry in entries if entry.event == STARTED)
        plan, binds = incident.proposal.plan, incident.proposal.binds
        row = {"incident": stream, "node": incident.node, "remedy": plan.remedy, "at": AT}
        row |= {"machine_id": binds.get("machine_id", ""), "cure": plan.cure}
        assert begun.at == instant_of(AT)
        self.connection.execute(insert(ATTEMPTS).values(row))


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Database]:
    with Database.open(f"sqlite:///{tmp_path / 'zombie.db'}") as database:
        yield database


def fill(database: Database, entries: int, named: str) -> int:
    with database.writing() as connection:
        filling = Filling(connection)
        while filling.entries < entries:
            filling.incident(f"{named}{filling.entries:08}")
        return filling.entries


def took(database: Database) -> float:
    began = time.process_time()
    assert audit(database).broken == ()
    return time.process_time() - began


def peak(database: Database) -> int:
    tracemalloc.start()
    audit(database)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def test_audit_is_quick_linear_and_needs_no_more_memory_for_more(filled: Database) -> None:
    fill(filled, ENTRIES // 4, "a")
    quarter, small = min(took(filled) for _ in range(3)), peak(filled)
    fill(filled, ENTRIES - ENTRIES // 4, "b")
    whole, large = min(took(filled) for _ in range(3)), peak(filled)
    print(f"audit of {ENTRIES} entries: {whole:.2f} s, of a quarter {quarter:.2f} s; peak {large / 1e6:.1f} MB")
    assert whole <= 2
    assert whole <= quarter * 5
    assert large <= small * 1.5
