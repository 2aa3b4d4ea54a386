"""One program at a time has the seat at a ledger, on every database that it may be kept in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bot.ledger import Database

ROOT = Path(__file__).parents[2]
TAKES_IT = """
import sys
from bot.ledger import Database
database = Database.open(sys.argv[1])
print(database.seat().take(), flush=True)
sys.stdin.readline()
"""


def test_seat_is_taken_once_and_free_again_when_it_is_left(database_url: str) -> None:
    with Database.open(database_url) as one, Database.open(database_url) as other:
        first, second = one.seat(), other.seat()
        assert first.take()
        assert first.take(), "it is still ours"
        assert not second.take()
        first.leave()
        assert second.take()
        assert not first.take()
        second.leave()


def test_seat_of_a_program_that_was_killed_is_free(database_url: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", TAKES_IT, database_url],
        env={"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with Database.open(database_url) as database:
        seat = database.seat()
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "True\n"
            assert not seat.take()
        finally:
            process.kill()
            process.communicate()
        assert seat.take()
        seat.leave()
