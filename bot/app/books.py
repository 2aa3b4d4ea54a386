"""What is kept in the database, opened for one runner."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bot.app.parts import runner_name
from bot.domain.contracts import ActingLedger, Leases, Outbox
from bot.ledger import AwaitedLeases, AwaitedLedger, AwaitedOutbox, Database, Ledger
from bot.ledger import Leases as BlockingLeases
from bot.ledger import Outbox as BlockingOutbox

THREADS = 4


@dataclass(frozen=True, slots=True)
class Books:
    """The ledger and what stands beside it.

    Shape: `runner` is this program's name among all that share the database; `database` and `threads` are for what else
    is kept there.
    """

    runner: str
    ledger: ActingLedger
    outbox: Outbox
    leases: Leases
    database: Database
    threads: ThreadPoolExecutor


@contextlib.contextmanager
def books(database_url: str) -> Iterator[Books]:
    """Open them for the length of a block.

    Raises: SettingsError, LedgerUnavailable.
    """
    runner = runner_name()
    with Database.open(database_url) as database, ThreadPoolExecutor(THREADS, "ledger") as threads:
        leases = BlockingLeases(database, runner, presence=database.presence(runner))
        yield Books(
            runner,
            AwaitedLedger(Ledger(database), threads),
            AwaitedOutbox(BlockingOutbox(database, leases=leases), threads),
            AwaitedLeases(leases, threads),
            database,
            threads,
        )
