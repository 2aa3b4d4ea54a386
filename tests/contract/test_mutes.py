"""Mutes in the ledger, of each kind of database."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.domain.house_events import HOUSE, CauseMuted, CauseUnmuted, WishRefused
from bot.ledger import Database, Ledger

UNTIL = datetime(2126, 11, 29, 12, 0, tzinfo=UTC)
MUTED = CauseMuted("io-stall", "n-1", UNTIL, "known", "ann")
OTHER = WishRefused("Braked", "The brake is on.")


def test_every_mute_is_found_in_order_whoever_wrote_it_and_whatever_stands_between(database_url: str) -> None:
    with Database.open(database_url) as database, Database.open(database_url) as elsewhere:
        ledger, other = Ledger(database), Ledger(elsewhere)
        assert ledger.mutes.now() == ()
        ledger.append.now(HOUSE, None, OTHER, "bot")
        ledger.append.now(HOUSE, None, MUTED, "terminal:ann")
        assert [entry.event for entry in ledger.mutes.now()] == [MUTED]
        other.append.now(HOUSE, None, OTHER, "bot")
        other.append.now(HOUSE, None, CauseUnmuted("io-stall", "n-1"), "terminal:bob")
        for asked in (ledger, ledger, other):
            assert [(entry.kind, entry.by) for entry in asked.mutes.now()] == [
                ("CauseMuted", "terminal:ann"),
                ("CauseUnmuted", "terminal:bob"),
            ]
