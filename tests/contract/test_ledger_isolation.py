"""Each transaction's isolation is ours to say, whatever a server's default is: no step begins past a brake."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import psycopg
import pytest

from bot.domain.claim import Claim, Limits
from bot.domain.errors import Braked
from bot.domain.events import StepStarted
from bot.domain.house_events import HOUSE, BrakePulled
from bot.ledger import Database, Ledger
from bot.ledger.inbox import Inbox
from tests.contract.test_inbox import delivery
from tests.contract.test_ledger_acting import approved
from tests.record.postgresql import Postgresql
from tests.waiting import until

WAITING = b"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@pytest.fixture(params=["read committed", "repeatable read", "serializable"])
def url(request: pytest.FixtureRequest, postgresql: Postgresql) -> str:
    """A database whose sessions begin at that isolation level."""
    url = postgresql.new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        name = url.rpartition("/")[2]
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = '{request.param}'".encode())
    return url


def writers_that_wait(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(WAITING).fetchone()
    assert row is not None
    return int(row[0])


def test_step_that_waited_for_the_brakes_commit_does_not_begin(url: str) -> None:
    with Database.open(url) as database, ThreadPoolExecutor(2) as threads:
        approved(Ledger(database), "one", "node-1")
        writes = threading.Event()

        def once_the_step_waits() -> datetime:
            """The clock of whoever pulls the brake, asked in the transaction that writes it."""
            writes.set()
            until(lambda: writers_that_wait(url) == 1, what="the step's transaction to wait for the brake's")
            return datetime.now(UTC)

        pulls = threads.submit(
            Ledger(database, once_the_step_waits).append, HOUSE, None, BrakePulled("stop"), "terminal:ann"
        )
        assert writes.wait(10)
        begins = threads.submit(
            Ledger(database).begin, "one", 4, StepStarted(1), "bot", Claim("node-1", "remedy", "r1", Limits(), {})
        )
        pulls.result(timeout=30)
        with pytest.raises(Braked):
            begins.result(timeout=30)
        assert Ledger(database).head("one").seq == 4


def test_delivery_that_comes_twice_at_once_is_kept_once_and_is_no_error(url: str) -> None:
    with Database.open(url) as database, ThreadPoolExecutor(8) as threads:
        boxes = [Inbox(database, f"r{number}") for number in range(8)]
        for number in range(10):
            kept = list(threads.map(lambda box, at=number: box.keep(delivery(at)), boxes))
            assert sorted(kept) == [False] * 7 + [True]
