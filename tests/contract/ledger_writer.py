"""A process that writes to a ledger, COUNT times, or that stands still in the middle of a transaction.

Its words are URL NAME COUNT, or URL NAME hang SECONDS (SECONDS is its patience). It says
on stdout what was acknowledged, one line an entry: stream, seq, hash and its own mark.
"""

from __future__ import annotations

import sys
import threading
from datetime import timedelta

from sqlalchemy import event

from bot.domain.alert import Alert
from bot.domain.entry import Entry
from bot.domain.errors import Conflict
from bot.domain.events import AlertJoined, Cancelled
from bot.domain.house_events import HOUSE, WishRefused
from bot.ledger import Database, Ledger

SHARED = "shared0000"


def write(ledger: Ledger, name: str, times: int) -> None:
    """Append to the house and, competing with the others, to one incident."""
    for number in range(times):
        mark = f"{name}.{number}"
        if number % 2:
            entry = ledger.append.now(HOUSE, None, WishRefused("SelfApproval", mark), "bot")
        else:
            entry = join(ledger, mark)
        print(entry.stream, entry.seq, entry.hash, mark, flush=True)


def join(ledger: Ledger, mark: str) -> Entry:
    """Compare and append until it is this one's turn."""
    while True:
        try:
            return ledger.append.now(SHARED, ledger.head.now(SHARED).seq, AlertJoined(Alert("grafana", mark)), "bot")
        except Conflict:
            continue


def hang(database: Database) -> None:
    """End an incident and stop in the middle of it: its entry is written, the house's is not, nothing is committed."""

    @event.listens_for(database.engine, "before_cursor_execute")
    def stops(_: object, __: object, statement: str, values: object, *___: object) -> None:
        if statement.startswith("INSERT INTO entries") and f"'{HOUSE}'" in str(values):
            print("inside", flush=True)
            threading.Event().wait()

    ledger = Ledger(database)
    ledger.append.now(SHARED, ledger.head.now(SHARED).seq, Cancelled("killed in the middle"), "bot")


def main() -> None:
    url, name, what, *patience = sys.argv[1:]
    if what == "hang":
        with Database.open(url, timedelta(seconds=float(patience[0]))) as opened:
            hang(opened)
    else:
        with Database.open(url) as opened:
            write(Ledger(opened), name, int(what))
