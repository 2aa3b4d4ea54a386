"""What a test of one part may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.domain.builtin_playbooks import SiteRows
from bot.ledger import Database, Ledger
from tests.commandline import CommandLine
from tests.record.ledgers import database_in_memory


@pytest.fixture
def sqlite() -> Iterator[Database]:
    """A database with a ledger that has no entry, open: of what is no dialect's own one kind will do."""
    with database_in_memory() as opened:
        yield opened


@pytest.fixture
def ledger(sqlite: Database) -> Ledger:
    """A ledger without an entry."""
    return Ledger(sqlite)


@pytest.fixture
def record(run: CommandLine) -> Iterator[Database]:
    """The record that the commands of a test use, open beside them."""
    with Database.open(run.ledger()) as opened:
        yield opened


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Path]:
    """A folder for a site's own causes and tables; what these add to ours is gone after the test."""
    for name in ("causes", "tables"):
        (tmp_path / name).mkdir()
    before = SiteRows.taken()
    yield tmp_path
    SiteRows.put(before)
