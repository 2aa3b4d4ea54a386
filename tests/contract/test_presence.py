"""Whether a runner is there is seen at once by the others, on every database that they may share."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.domain.events import AlertReceived
from bot.ledger import Database, Leases, Ledger
from bot.ledger.leases import RunnerLiveness
from tests.record.incidents import ALERT, ASKER
from tests.waiting import until

ROOT = Path(__file__).parents[2]
IS_THERE = """
import sys
from bot.ledger import Database, Leases
from bot.ledger.leases import RunnerLiveness
database = Database.open(sys.argv[1])
leases = Leases(database, "other", presence=RunnerLiveness(database, "other"))
leases.beat.now()
print(len(leases.claim.now()), flush=True)
sys.stdin.readline()
"""


@contextmanager
def another(url: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", IS_THERE, url],
        env={"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def seen(database: Database, by: RunnerLiveness) -> set[str]:
    with database.reading() as connection:
        return by.present(connection, ["a", "b"])


def test_runner_is_there_until_it_leaves(database: Database) -> None:
    a, b = RunnerLiveness(database, "a"), RunnerLiveness(database, "b")
    assert seen(database, a) == set()
    a.enter()
    a.enter()
    b.enter()
    assert seen(database, a) == seen(database, b) == {"a", "b"}
    a.leave()
    assert seen(database, b) == {"b"}
    a.enter()
    assert seen(database, b) == {"a", "b"}
    a.leave()
    b.leave()


def test_program_that_was_killed_is_taken_over_at_once_and_one_that_is_stopped_is_not(
    database: Database, database_url: str
) -> None:
    Ledger(database).append.now("one", 0, AlertReceived(ALERT, "node-1"), ASKER)
    presence = RunnerLiveness(database, "me")
    me = Leases(database, "me", presence=presence)
    me.beat.now()
    with another(database_url) as process:
        assert me.claim.now() == ()
        process.send_signal(signal.SIGSTOP)
        assert me.claim.now() == ()
        process.kill()
        process.wait()
        # PostgreSQL learns of it from the kernel in its own time, which is milliseconds.
        assert until(me.claim.now) == ("one",)
    me.leave.now()


def test_who_left_leaves_no_file_and_what_a_killed_one_left_is_taken_away(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'zombie.db'}"
    with Database.open(url) as database:
        Ledger(database).append.now("one", 0, AlertReceived(ALERT, "node-1"), ASKER)
        me = Leases(database, "me", presence=RunnerLiveness(database, "me"))
        me.beat.now()
        with another(url):
            assert sorted(path.name for path in tmp_path.glob("*.alive")) == [
                "zombie.db.me.alive",
                "zombie.db.other.alive",
            ]
        assert me.claim.now() == ("one",)
        assert [path.name for path in tmp_path.glob("*.alive")] == ["zombie.db.me.alive"]
        me.leave.now()
        assert list(tmp_path.glob("*.alive")) == []
