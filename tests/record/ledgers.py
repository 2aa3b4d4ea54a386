"""Ledgers in SQLite without an entry, copied from one that is migrated once for all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.ledger.database import Database
from tests.memory import folder_in_memory
from tests.record.incidents import BEGAN_AT


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = BEGAN_AT

    def __call__(self) -> datetime:
        return self.now


@cache
def _empty() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "zombie.db")
        Database.open(f"sqlite:///{path}").close()
        return path.read_bytes()


def ledger_url(path: Path) -> str:
    """Return the URL of the ledger in a file, which is made if it is not there."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(0o600)  # as the program makes it
        path.write_bytes(_empty())
    return f"sqlite:///{path}"


def ledger_in(folder: Path) -> Database:
    """Open the ledger in a folder, which is made if it is not there."""
    return Database.open(ledger_url(folder / "zombie.db"))


@contextmanager
def database_in_memory() -> Iterator[Database]:
    """Open a ledger of its own for the length of a block, in a folder that is kept in memory."""
    with TemporaryDirectory(dir=folder_in_memory()) as folder, ledger_in(Path(folder)) as opened:
        yield opened
