"""The audit as the program makes it with all of its extras."""

from __future__ import annotations

from collections.abc import Sequence

from bot.app.extras import seat_values, shipped
from bot.domain.entry import NotedHead
from bot.ledger import Audit, Database
from bot.ledger import audit as audit_with


def audit(database: Database, noted: Sequence[NotedHead] = ()) -> Audit:
    """Return what it finds."""
    return audit_with(database, noted, seat_values(shipped().on, "follows"))
