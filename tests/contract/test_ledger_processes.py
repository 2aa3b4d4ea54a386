"""Several processes write to one record, and some of them are killed: what was acknowledged is there, and once."""

from __future__ import annotations

import signal
from collections import Counter
from contextlib import ExitStack

import pytest

from bot.domain.events import AlertJoined
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE, WishRefused
from bot.ledger import Database, Ledger, audit
from tests import program
from tests.contract.ledger_writer import SHARED, write
from tests.record.incidents import ASKER, OPENING

EACH = 20
ENDLESS = 100_000  # for those who do not live to see it


def writer(url: str, name: str, *what: str) -> program.Started:
    """A process that writes; it does not outlive the block."""
    return program.Started(url, name, *what, script="from tests.contract.ledger_writer import main; main()", env={})


def acknowledged(process: program.Started, lines: int | None = None) -> list[str]:
    """The next lines that the process says, or all that are left until it ends."""
    if lines is None:
        return process.stdout.read().splitlines()
    return [process.stdout.readline().rstrip("\n") for _ in range(lines)]


def marks(ledger: Ledger) -> dict[str, str]:
    """Every mark on record with where it stands; the same mark twice is told apart by the test."""
    found = [
        (event.alert.id if isinstance(event, AlertJoined) else event.sentence, f"{e.stream} {e.seq} {e.hash}")
        for stream in (SHARED, HOUSE)
        for e in ledger.read.now(stream)
        if isinstance(event := e.event, AlertJoined | WishRefused)
    ]
    assert max(Counter(mark for mark, _ in found).values()) == 1, "something was written twice"
    return dict(found)


def test_killed_writers_lose_and_double_nothing(database_url: str) -> None:
    with Database.open(database_url) as database, ExitStack() as ending:
        ledger = Ledger(database)
        ledger.append.now(SHARED, 0, OPENING, ASKER)
        names = ["lives1", "killed1", "killed2", "lives2"]
        times = {name: EACH if name.startswith("lives") else ENDLESS for name in names}
        writers = {name: ending.enter_context(writer(database_url, name, str(times[name]))) for name in names}
        said: dict[str, list[str]] = {name: [] for name in names}
        for lines, victim in enumerate(["killed1", "killed2"], 3):
            said[victim] += acknowledged(writers[victim], lines)
            writers[victim].kill()  # SIGKILL, wherever it is: in a transaction, or between two
        for name in names:
            said[name] += acknowledged(writers[name])
            assert writers[name].wait(timeout=60) == (0 if name.startswith("lives") else -signal.SIGKILL)
        on_record = marks(ledger)
        for name in ("lives1", "lives2"):
            assert len(said[name]) == EACH
        for line in (line for lines in said.values() for line in lines):
            place, _, mark = line.rpartition(" ")
            assert on_record[mark] == place, "what was acknowledged is there"
        unsaid = set(on_record) - {line.rpartition(" ")[2] for lines in said.values() for line in lines}
        # A victim may have died between its commit and its word, never more than once.
        assert max(Counter(mark.split(".")[0] for mark in unsaid).values(), default=0) <= 1
        found = audit(database)
        assert found.broken == ()
        assert found.entries == 2 + len(on_record), "the opening and its anchor"


def test_writer_killed_in_the_middle_of_a_transaction_leaves_nothing_of_it(database_url: str) -> None:
    with Database.open(database_url) as database:
        ledger = Ledger(database)
        ledger.append.now(SHARED, 0, OPENING, ASKER)
        with writer(database_url, "x", "hang", "10") as hanging:
            assert acknowledged(hanging, 1) == ["inside"]
            assert (ledger.head.now(SHARED).seq, ledger.head.now(HOUSE).seq) == (1, 1), "others read on meanwhile"
            hanging.kill()
            hanging.wait(timeout=10)
            write(ledger, "next", 2)  # and write as soon as it is dead
        incident = fold(ledger.read.now(SHARED))
        assert (incident.ended, len(incident.joined), ledger.head.now(HOUSE).seq) == (False, 1, 2)
        assert audit(database).broken == ()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_writer_that_stands_still_in_a_transaction_does_not_stop_the_others(database_url: str) -> None:
    with Database.open(database_url) as database, ExitStack() as ending:
        ledger = Ledger(database)
        ledger.append.now(SHARED, 0, OPENING, ASKER)
        still = ending.enter_context(writer(database_url, "x", "hang", "1"))
        assert acknowledged(still, 1) == ["inside"]
        write(ledger, "other", 2)
        still.kill()
        assert audit(database).broken == ()
        assert not fold(ledger.read.now(SHARED)).ended
