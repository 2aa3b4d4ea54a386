"""Deliveries that a bot gave up, put on record for one that looks at them."""

from __future__ import annotations

from pathlib import Path

from bot.ledger.inbox import Inbox
from bot.ledger.leases import Leases
from bot.sources.pagerduty import SOURCE
from tests.alerts.bodies import page_event
from tests.record.ledgers import ledger_in


def give_up(folder: Path, count: int = 1) -> None:
    """Have the record in a folder tell of so many: pages Q0, Q1, …"""
    with ledger_in(folder) as database:
        box = Inbox(Leases(database, "another"))
        for number in range(count):
            brought = SOURCE.delivery(page_event(f"E{number}", f"Q{number}", title="*pinned*"))
            box.keep.now(brought)
            box.give_up.now(brought, "a fault of ours")
