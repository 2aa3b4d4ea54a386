"""The stores in the database, opened for a runner."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta

from bot.app.extras import doubters_of, holders_of
from bot.app.factories import runner_name
from bot.domain.case import CaseStore
from bot.domain.chat_request import ChatRequests
from bot.domain.contracts import ActingLedger, Leases, Outbox
from bot.domain.defaults import DELIVERIES_KNOWN_FOR
from bot.domain.growth import Readings
from bot.domain.intake_contracts import DedupStore, Inbox
from bot.ledger import CaseStore as BlockingCaseStore
from bot.ledger import Database, Ledger, ReadingStore, on_threads
from bot.ledger import Leases as BlockingLeases
from bot.ledger import Outbox as BlockingOutbox
from bot.ledger.chat_requests import ChatRequestStore
from bot.ledger.dedup_store import DedupStore as BlockingCases
from bot.ledger.inbox import Inbox as BlockingInbox
from bot.ledger.leases import RunnerLiveness
from bot.seats import Extra
from bot.surfaces import SURFACES

THREADS = 4
DOORS = 2  # threads that only store deliveries, so that senders need not wait
# The surface that takes all other posts takes none of these.
PARTS_OF_OTHERS = tuple(surface.parts for surface in SURFACES if surface.parts)


@dataclass(frozen=True, slots=True)
class Stores:
    """The ledger and the other stores.

    Shape: `runner` is this program's name among all that share the database; `database` and `threads` are for other
    stores.
    """

    runner: str
    ledger: ActingLedger
    outbox: Outbox
    leases: Leases
    inbox: Inbox
    cases: DedupStore
    chat_requests: ChatRequests
    case_store: CaseStore
    readings: Readings
    database: Database
    threads: ThreadPoolExecutor


@contextlib.contextmanager
def open_stores(
    database_url: str, known_for: timedelta = DELIVERIES_KNOWN_FOR, extras: Sequence[Extra] = ()
) -> Iterator[Stores]:
    """Open them while the block runs; `known_for`: how long handled deliveries are known; `extras` may hold steps
    and doubt causes.

    Raises: SettingsError, LedgerUnavailable.
    """
    runner = runner_name()
    with (
        Database.open(database_url) as database,
        ThreadPoolExecutor(THREADS, "ledger") as threads,
        ThreadPoolExecutor(DOORS, "inbox") as doors,
        ThreadPoolExecutor(1, "cases") as one_by_one,  # to take a case's secrets out is computing
    ):
        leases = BlockingLeases(database, runner, presence=RunnerLiveness(database, runner))
        yield Stores(
            runner,
            on_threads(Ledger(database, holders=holders_of(extras), doubters=doubters_of(extras)), threads),
            on_threads(BlockingOutbox(database, leases=leases, of_others=PARTS_OF_OTHERS), threads),
            on_threads(leases, threads),
            on_threads(BlockingInbox(database, runner, leases=leases, known_for=known_for), threads, {"keep": doors}),
            on_threads(BlockingCases(database), threads),
            on_threads(ChatRequestStore(database, leases), threads, {"keep": doors}),
            on_threads(BlockingCaseStore(database), threads, {"keep": one_by_one}),
            on_threads(ReadingStore(database), threads),
            database,
            threads,
        )
