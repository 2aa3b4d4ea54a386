"""The ledger and the outbox: the durable record, in one SQLite file or in PostgreSQL. The only importer of SQLAlchemy.

It is blocking code on SQLAlchemy Core; `threads.py` runs it on threads of its own. An event loop that is cancelled, or
falls behind, then never stands in the middle of a transaction, and commands that have no loop need none.
"""

from __future__ import annotations

from bot.ledger.audit import Audit, Broken, audit, exported
from bot.ledger.database import Database, is_there
from bot.ledger.leases import Leases
from bot.ledger.ledger import Ledger
from bot.ledger.outbox import PAGERDUTY, Outbox
from bot.ledger.threads import on_threads

__all__ = [
    "PAGERDUTY",
    "ActingLedger",
    "Audit",
    "Broken",
    "Database",
    "Leases",
    "Ledger",
    "Outbox",
    "audit",
    "exported",
    "is_there",
    "on_threads",
]
