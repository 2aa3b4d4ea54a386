"""Marks of verdicts in the ledger, of each kind of database: what says nothing new is not written again."""

from __future__ import annotations

from dataclasses import replace

from bot.domain.feedback import scores
from bot.domain.house_events import HOUSE, CauseLookedAt, VerdictMarked
from bot.ledger import Database, Ledger

WRONG = VerdictMarked("7k3m9x2qpv", "io-stall", False, "n-1", "ef" * 32, "click-1")


def test_mark_is_written_once_whichever_program_takes_it(database_url: str) -> None:
    with Database.open(database_url) as database, Database.open(database_url) as elsewhere:
        ledger, other = Ledger(database), Ledger(elsewhere)
        first = ledger.append(HOUSE, None, WRONG, "slack:T0/U1")
        assert other.append(HOUSE, None, WRONG, "slack:T0/U1") == first, "the same click, delivered to another"
        assert other.append(HOUSE, None, replace(WRONG, request="click-2"), "slack:T0/U1") == first, "the same word"
        right = other.append(HOUSE, None, replace(WRONG, right=True, request="click-3"), "slack:T0/U1")
        assert ledger.append(HOUSE, None, WRONG, "slack:T0/U1") == first, "an old click brings nothing back"
        ledger.append(HOUSE, None, WRONG, "slack:T0/U2")
        ledger.append(HOUSE, None, CauseLookedAt("io-stall", "raised"), "terminal:ann")
        for asked in (ledger, other):
            kinds = [(entry.kind, entry.by) for entry in asked.marks()]
            assert kinds == [
                ("VerdictMarked", "slack:T0/U1"),
                ("VerdictMarked", "slack:T0/U1"),
                ("VerdictMarked", "slack:T0/U2"),
                ("CauseLookedAt", "terminal:ann"),
            ]
        assert right.seq > first.seq
        (score,) = scores(ledger.marks())
        assert (score.right, score.wrong, score.ever_right, score.ever_wrong) == (0, 0, 1, 1)
