"""Marks of verdicts in the ledger, of each kind of database: what says nothing new is not written again."""

from __future__ import annotations

from dataclasses import replace

from bot.extras.marks.marks import CauseLookedAt, VerdictMarked, scores
from bot.extras.marks.store import MarkStore
from bot.ledger import Database

WRONG = VerdictMarked("7k3m9x2qpv", "io-stall", False, "n-1", "ef" * 32, "click-1")


def test_mark_is_written_once_whichever_program_takes_it(database_url: str) -> None:
    with Database.open(database_url) as database, Database.open(database_url) as elsewhere:
        marks, other = MarkStore(database), MarkStore(elsewhere)
        first = marks.append.now(WRONG, "slack:T0/U1")
        assert other.append.now(WRONG, "slack:T0/U1") == first, "the same click, delivered to another"
        assert other.append.now(replace(WRONG, request="click-2"), "slack:T0/U1") == first, "the same word"
        right = other.append.now(replace(WRONG, right=True, request="click-3"), "slack:T0/U1")
        assert marks.append.now(WRONG, "slack:T0/U1") == first, "an old click brings nothing back"
        marks.append.now(WRONG, "slack:T0/U2")
        marks.append.now(CauseLookedAt("io-stall", "raised"), "terminal:ann")
        for asked in (marks, other):
            kinds = [(entry.kind, entry.by) for entry in asked.read.now()]
            assert kinds == [
                ("VerdictMarked", "slack:T0/U1"),
                ("VerdictMarked", "slack:T0/U1"),
                ("VerdictMarked", "slack:T0/U2"),
                ("CauseLookedAt", "terminal:ann"),
            ]
        assert right.seq > first.seq
        (score,) = scores(marks.read.now())
        assert (score.right, score.wrong, score.ever_right, score.ever_wrong) == (0, 0, 1, 1)
