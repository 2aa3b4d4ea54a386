"""Each transaction's isolation is ours to say, whatever a server's default is: no step begins past a brake."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime

import psycopg
import pytest

from bot.domain.claim import Claim
from bot.domain.errors import Braked, BudgetSpent, Conflict, NodeBusy, StaleRequest
from bot.domain.events import Escalated, StepStarted
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased
from bot.domain.policy import Limits
from bot.ledger import Database, Ledger
from bot.ledger.inbox import Inbox
from bot.ledger.leases import Leases
from tests.contract.test_inbox import delivery
from tests.record.keeping import approved
from tests.record.postgresql import Postgresql
from tests.waiting import until

WAITING = b"""SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted"""


@pytest.fixture(params=["read committed", "serializable"])
def url(request: pytest.FixtureRequest, postgresql: Postgresql) -> str:
    """A database whose sessions begin at that isolation level."""
    url = postgresql.new_ledger()
    with psycopg.connect(url, autocommit=True) as connection:
        name = url.rpartition("/")[2]
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = '{request.param}'".encode())
    return url


def writers_that_wait(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(WAITING).fetchone()
    assert row is not None
    return int(row[0])


@dataclass(frozen=True)
class Meeting:
    """Two writes, of which the second waits for the first to be committed."""

    url: str
    database: Database
    threads: ThreadPoolExecutor

    def of(self, first: Callable[[Ledger], object], second: Callable[[Ledger], object]) -> BaseException | None:
        """Return what the second raises, which began before the first was committed."""
        writes = threading.Event()

        def once_the_other_waits() -> datetime:
            """The clock of the first, asked in the transaction that writes."""
            writes.set()
            until(lambda: writers_that_wait(self.url) == 1 or done.done(), what="the second transaction to wait")
            return datetime.now(UTC)

        done: Future[object] = Future()
        began = self.threads.submit(first, Ledger(self.database, once_the_other_waits))
        assert writes.wait(30)
        done = self.threads.submit(second, Ledger(self.database))
        began.result(timeout=60)
        return done.exception(timeout=60)


def begins(incident: str, node: str, machine_id: str = "", at_once: int = 9) -> Callable[[Ledger], object]:
    claim = Claim(node, f"remedy of {node}", "r1", Limits(at_once), {}, machine_id=machine_id)
    return lambda ledger: ledger.begin.now(incident, 4, StepStarted(1), "bot", claim)


def test_step_that_waited_for_the_brakes_commit_does_not_begin(url: str) -> None:
    with Database.open(url) as database, ThreadPoolExecutor(2) as threads:
        approved(Ledger(database), "one", "node-1")
        pulls = BrakePulled("stop")
        no = Meeting(url, database, threads).of(
            lambda ledger: ledger.append.now(HOUSE, None, pulls, "terminal:ann"), begins("one", "node-1")
        )
        assert isinstance(no, Braked)
        assert Ledger(database).head.now("one").seq == 4


def test_of_two_writes_that_meet_the_later_is_decided_by_what_the_earlier_wrote(url: str) -> None:
    with Database.open(url) as database, ThreadPoolExecutor(2) as threads:
        ledger, meeting = Ledger(database), Meeting(url, database, threads)
        for number in range(1, 6):
            approved(ledger, f"i{number}", f"node-{number}")
        # One slot, and two who want it; one machine, under two names.
        assert isinstance(meeting.of(begins("i1", "node-1", at_once=1), begins("i2", "node-2", at_once=1)), BudgetSpent)
        assert isinstance(meeting.of(begins("i3", "node-3", "a" * 32), begins("i4", "node-4", "a" * 32)), NodeBusy)
        enough = Escalated("enough")
        twice = meeting.of(
            lambda first: first.append.now("i5", 4, enough, "bot"),
            lambda second: second.append.now("i5", 4, enough, "bot"),
        )
        assert isinstance(twice, Conflict)
        # The brake is pulled anew while somebody releases the pull from before.
        earlier = ledger.append.now(HOUSE, None, BrakePulled("a rollout"), "terminal:ann")
        over = BrakeReleased("it is over", earlier.seq)
        stale = meeting.of(
            lambda first: first.append.now(HOUSE, None, BrakePulled("it burns"), "terminal:bob"),
            lambda second: second.append.now(HOUSE, None, over, "terminal:ann"),
        )
        assert isinstance(stale, StaleRequest)
        assert ledger.brake_pull.now() is not None
        # A request that pulls it comes twice at once.
        pull = BrakePulled("it burns", "sent-1")
        again = meeting.of(
            lambda first: first.append.now(HOUSE, None, pull, "terminal:bob"),
            lambda second: second.append.now(HOUSE, None, pull, "terminal:bob"),
        )
        requests = [entry.body.get("request") for entry in ledger.read.now(HOUSE) if entry.kind == "BrakePulled"]
        assert (again, requests.count("sent-1")) == (None, 1)


def test_delivery_that_comes_twice_at_once_is_kept_once_and_is_no_error(url: str) -> None:
    with Database.open(url) as database, ThreadPoolExecutor(8) as threads:
        boxes = [Inbox(Leases(database, f"r{number}")) for number in range(8)]
        for number in range(4):
            kept = list(threads.map(lambda box, at=number: box.keep.now(delivery(at)), boxes))
            assert sorted(kept) == [False] * 7 + [True]
