"""Schedules drawn one after another over one database, and what must hold of all of them together."""

from __future__ import annotations

from collections import Counter

from bot.ledger import audit
from tests.record.ledgers import database_in_memory
from tests.schedules.schedule import played
from tests.schedules.world import APART

USUAL, USUAL_PARTS = 100, 2  # what is drawn at each run of the tests


def drawn(part: int, number: int) -> None:
    """Play so many schedules, and hold each of them, and their record, to what was promised."""
    ends, besides = Counter[str](), Counter[str]()
    with database_in_memory() as database:
        for seed in range(part * APART, part * APART + number):
            over = played(database, seed)
            assert not (faults := list(over.faults())), faults
            ends.update(f"{over.stage.nodes[each.node].ending} {each.state}" for each in over.incidents.values())
            besides.update(kind for _, kind, _ in over.house)
            besides.update(over.stage.refusals)
        assert audit(database).broken == ()
        with database.reading() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM holds").scalar_one() == 0
    assert {end.split()[1] for end in ends} >= {"resolved", "escalated"}, ends
    assert besides.keys() >= {"IncidentsPruned", "QuietHours"}, besides
    assert not {f"{ending} resolved" for ending in ("swallowed", "enabled-again", "gone")} & set(ends), ends
