"""Several incidents written in one transaction: all of it stands or nothing, on every database."""

from __future__ import annotations

import pytest

from bot.domain.alert import BOT
from bot.domain.entry import Append
from bot.domain.errors import Conflict, ImpossibleEvent
from bot.domain.events import Cancelled
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE
from bot.domain.transitions import State
from bot.ledger import Database, Ledger, audit
from tests.record.incidents import ASKER, OPENING, WAYS, by_whom

OLD, NEW = "7k3m9x2qpv", "8k3m9x2qpv"
WITHDRAWN = Append(OLD, 3, (Cancelled(f"It is read again, as incident {NEW}."),), BOT)
OPENED = Append(NEW, 0, (OPENING,), ASKER)


@pytest.fixture
def ledger(database: Database) -> Ledger:
    """A ledger with a proposal that waits for a decision."""
    ledger = Ledger(database)
    for seq, event in enumerate(WAYS[State.PROPOSED]):
        ledger.append.now(OLD, seq, event, by_whom(event))
    return ledger


def test_both_incidents_are_written_with_all_that_follows(ledger: Ledger, database: Database) -> None:
    cursor = ledger.changed.now().cursor
    entries = ledger.append_together.now((WITHDRAWN, OPENED))
    assert [(entry.stream, entry.seq, entry.kind, entry.by) for entry in entries] == [
        (OLD, 4, "Cancelled", BOT),
        (NEW, 1, "AlertReceived", ASKER),
    ]
    assert fold(ledger.read.now(OLD)).state is State.CANCELLED
    assert tuple(line.id for line in ledger.incidents.now(only_open=True)) == (NEW,)
    assert set(ledger.incident_ids_of_card.now(OPENING.group)) == {OLD, NEW}
    assert {line.id for line in ledger.changed.now(cursor).incidents} == {OLD, NEW}
    assert [entry.kind for entry in ledger.read.now(HOUSE)[-2:]] == ["IncidentEnded", "EntryAnchored"]
    assert audit(database).broken == ()


@pytest.mark.parametrize(
    ("appends", "why"),
    [
        ((Append(OLD, 2, WITHDRAWN.events, BOT), OPENED), Conflict),
        ((WITHDRAWN, Append(NEW, 1, (OPENING,), ASKER)), Conflict),
        ((WITHDRAWN, Append(NEW, 0, WITHDRAWN.events, BOT)), ImpossibleEvent),
        ((OPENED, WITHDRAWN, Append(OLD, 4, (OPENING,), ASKER)), ImpossibleEvent),
        ((WITHDRAWN, Append(NEW, 0, (), BOT)), ImpossibleEvent),
        ((WITHDRAWN, Append(HOUSE, 0, (OPENING,), ASKER)), ImpossibleEvent),
    ],
    ids=["first changed", "second changed", "second impossible", "third impossible", "nothing", "house"],
)
def test_where_a_part_cannot_be_written_nothing_is(
    ledger: Ledger, appends: tuple[Append, ...], why: type[Exception]
) -> None:
    house = ledger.head.now(HOUSE)
    with pytest.raises(why):
        ledger.append_together.now(appends)
    assert (ledger.head.now(OLD).seq, ledger.head.now(NEW).seq, ledger.head.now(HOUSE)) == (3, 0, house)
    for incident in (ledger.incident.now(OLD), fold(ledger.read.now(OLD))):  # what was folded before is as what is read
        assert incident is not None
        assert incident.state is State.PROPOSED
    assert ledger.incident.now(NEW) is None
    ledger.append_together.now((WITHDRAWN, OPENED))
    assert (ledger.head.now(OLD).seq, ledger.head.now(NEW).seq) == (4, 1)
