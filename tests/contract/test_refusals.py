"""Refusals on record are counted once they are many, of one person and of all: `house` does not grow without bound."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.house_events import HOUSE, WishRefused
from bot.ledger import Database, Ledger, audit, refusals


def test_refusals_of_one_kind_and_person_are_counted_once_they_are_many(database_url: str) -> None:
    now = [datetime(2026, 11, 22, 9, tzinfo=UTC)]
    with Database.open(database_url) as database:
        ledger = Ledger(database, lambda: now[0])
        no = WishRefused("NotAnApprover", "They are not.", "approve", "one")
        for _ in range(40):
            ledger.record_refusal.now(no, "slack:T1/U1")
        ledger.record_refusal.now(no, "slack:T1/U2")
        ledger.record_refusal.now(replace(no, wish="decline"), "slack:T1/U1")
        assert len(ledger.read.now(HOUSE)) == 12
        now[0] += timedelta(hours=1)
        ledger.record_refusal.now(no, "slack:T1/U1")
        last = ledger.read.now(HOUSE)[-1].event
        assert isinstance(last, WishRefused)
        assert (len(ledger.read.now(HOUSE)), last.unwritten) == (13, 30)
        assert audit(database).broken == ()


def test_refusals_of_people_without_end_are_counted_too_and_told_by_the_next(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has the signing secret can make up people, and requests, as many as they like."""
    monkeypatch.setattr(refusals, "WRITTEN_IN_ALL", 5)
    now = [datetime(2026, 11, 22, 9, tzinfo=UTC)]
    with Database.open(database_url) as database:
        ledger = Ledger(database, lambda: now[0])
        no = WishRefused("NotAnApprover", "They are not.", "approve", "one")
        for number in range(12):
            ledger.record_refusal.now(no, f"slack:T1/U{number}")
        assert len(ledger.read.now(HOUSE)) == 5
        now[0] += timedelta(hours=1)
        ledger.record_refusal.now(no, "slack:T1/U11")
        ledger.record_refusal.now(no, "slack:T1/U12")
        first, second = (entry.event for entry in ledger.read.now(HOUSE)[5:])
        assert isinstance(first, WishRefused)
        assert isinstance(second, WishRefused)
        assert (first.unwritten, second.unwritten) == (7, 0)
        now[0] += refusals.FORGOTTEN + timedelta(hours=1)
        ledger.record_refusal.now(no, "slack:T1/U99")
        with database.reading() as connection:
            rows = connection.exec_driver_sql("SELECT count(*) FROM refusals").scalar_one()
        assert (rows, audit(database).broken) == (2, ())
