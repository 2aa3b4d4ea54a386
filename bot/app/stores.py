"""The stores in the database, opened for a runner."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from bot.app.extras import cause_doubters, step_blockers
from bot.app.factories import runner_name
from bot.domain.defaults import DELIVERIES_KNOWN_FOR
from bot.ledger import CaseStore, Database, Leases, Ledger, Outbox, ReadingStore
from bot.ledger.chat_requests import ChatRequestStore
from bot.ledger.dedup_store import DedupStore
from bot.ledger.inbox import Inbox
from bot.ledger.leases import RunnerLiveness
from bot.seats import Extra
from bot.surfaces import SURFACES

# The surface that takes all other posts takes none of these.
PARTS_OF_OTHERS = tuple(surface.parts for surface in SURFACES if surface.parts)


@dataclass(frozen=True, slots=True)
class Stores:
    """The ledger and the other stores.

    Shape: `runner` is this program's name among all that share the database; `database` is for other stores.
    """

    runner: str
    ledger: Ledger
    outbox: Outbox
    leases: Leases
    inbox: Inbox
    cases: DedupStore
    chat_requests: ChatRequestStore
    case_store: CaseStore
    readings: ReadingStore
    database: Database


@contextlib.contextmanager
def open_stores(
    database_url: str, known_for: timedelta = DELIVERIES_KNOWN_FOR, extras: Sequence[Extra] = ()
) -> Iterator[Stores]:
    """Open them while the block runs; `known_for`: how long handled deliveries are known; `extras` may hold steps
    and doubt causes.

    Raises: SettingsError, LedgerUnavailable.
    """
    runner = runner_name()
    with Database.open(database_url) as database:
        leases = Leases(database, runner, presence=RunnerLiveness(database, runner))
        yield Stores(
            runner,
            Ledger(database, holders=step_blockers(extras), doubters=cause_doubters(extras)),
            Outbox(database, leases=leases, of_others=PARTS_OF_OTHERS),
            leases,
            Inbox(leases, known_for),
            DedupStore(database),
            ChatRequestStore(leases),
            CaseStore(database),
            ReadingStore(database),
            database,
        )
