"""The ledger, inbox and outbox, in SQLite or PostgreSQL. Only this room and the stores of extras import SQLAlchemy.

Its stores are awaited, and run SQLAlchemy Core on threads; `STORE.METHOD.now(…)` is the same without an event loop.
"""

from __future__ import annotations

from bot.ledger.audit import Audit, audit
from bot.ledger.case_store import CaseStore
from bot.ledger.database import Database, is_file_there
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
]
