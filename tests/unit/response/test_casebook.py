"""Opening incidents and carrying them on, one entry at a time."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.alert import BOT, SourceKind
from bot.domain.errors import Conflict, ImpossibleEvent, UnknownIncident
from bot.domain.events import Cancelled
from bot.domain.playbook import Playbook
from bot.domain.probe import Snapshot
from bot.domain.transitions import State
from bot.ledger import AwaitedLedger, Database, Ledger
from bot.response.casebook import Casebook, checked
from tests.incidents import ASKER, BEGAN_AT, HEALTHY, NODE, OPENING, PROPOSED, TRIAGED, VERDICT

PLAYBOOK = Playbook("node-health", "Health", 3, (), (), ())


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[AwaitedLedger]:
    with Database.open(f"sqlite:///{tmp_path / 'zombie.db'}") as database, ThreadPoolExecutor(1) as threads:
        yield AwaitedLedger(Ledger(database), threads)


async def test_incident_is_opened_and_found_again(ledger: AwaitedLedger) -> None:
    book = Casebook(ledger, iter(["one0000000"]).__next__)
    opened = await book.open(OPENING, ASKER)
    assert (opened.id, opened.node, opened.state, opened.seq) == ("one0000000", NODE, State.OPENED, 1)
    assert await book.find("one0000000") == opened


async def test_id_that_is_taken_is_drawn_again(ledger: AwaitedLedger) -> None:
    book = Casebook(ledger, iter(["one0000000", "one0000000", "two0000000"]).__next__)
    await book.open(OPENING, ASKER)
    assert (await book.open(OPENING, ASKER)).id == "two0000000"


async def test_broken_chance_is_not_tried_for_ever(ledger: AwaitedLedger) -> None:
    book = Casebook(ledger, lambda: "one0000000")
    await book.open(OPENING, ASKER)
    with pytest.raises(Conflict):
        await book.open(OPENING, ASKER)


async def test_who_tells_late_hears_of_it(ledger: AwaitedLedger) -> None:
    book = Casebook(ledger, lambda: "one0000000")
    opened = await book.open(OPENING, ASKER)
    triaged = await book.tell(opened, TRIAGED, BOT)
    assert (triaged.state, triaged.verdict) == (State.TRIAGED, VERDICT)
    with pytest.raises(Conflict):
        await book.tell(opened, Cancelled("asked twice"), ASKER)
    with pytest.raises(ImpossibleEvent):
        await book.tell(triaged, OPENING, ASKER)
    assert (await book.tell(triaged, PROPOSED, BOT)).state is State.PROPOSED


@pytest.mark.parametrize("wrong", ["nosuchone0", "house", "../x", ""])
async def test_incident_that_is_not_there_is_said_to_be_unknown(ledger: AwaitedLedger, wrong: str) -> None:
    with pytest.raises(UnknownIncident):
        await Casebook(ledger, lambda: "one0000000").find(wrong)


async def test_check_that_is_through_becomes_an_incident_with_its_verdict(ledger: AwaitedLedger) -> None:
    book = Casebook(ledger, iter(["one0000000"]).__next__)
    read = replace(HEALTHY, snapshot=Snapshot(NODE, BEGAN_AT, timedelta(seconds=5)))
    incident = await checked(book, read, PLAYBOOK, "group00000", "terminal:ann")
    assert (incident.verdict, incident.ended, incident.group) == (HEALTHY, True, "group00000")
    assert (incident.alert.kind, incident.alert.asked_by) == (SourceKind.TERMINAL, "terminal:ann")
    assert incident.triage is not None
    triage = (incident.triage.playbook, incident.triage.playbook_version, incident.triage.taken_at)
    assert triage == ("node-health", 3, BEGAN_AT)
