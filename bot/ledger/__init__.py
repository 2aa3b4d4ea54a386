"""The ledger, inbox and outbox, in SQLite or PostgreSQL. Only this room and the stores of extras import SQLAlchemy.

The code blocks, on SQLAlchemy Core; `on_threads` runs it on threads. So a cancelled or slow event loop never stops in
the middle of a transaction, and commands without an event loop need none.
"""

from __future__ import annotations

from bot.ledger.audit import Audit, audit
from bot.ledger.case_store import CaseStore
from bot.ledger.database import Database, is_file_there, on_threads
from bot.ledger.export import exported
from bot.ledger.leases import Leases
from bot.ledger.ledger import Ledger
from bot.ledger.outbox import Outbox
from bot.ledger.pruning import Pruned, Pruner
from bot.ledger.reading_store import ReadingStore

__all__ = [
    "Audit",
    "CaseStore",
    "Database",
    "Leases",
    "Ledger",
    "Outbox",
    "Pruned",
    "Pruner",
    "ReadingStore",
    "audit",
    "exported",
    "is_file_there",
    "on_threads",
]
