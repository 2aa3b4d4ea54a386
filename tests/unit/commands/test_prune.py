"""`zombie prune`, run as the terminal runs it."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from bot.__main__ import main
from bot.commands.terminal_login import terminal_user
from bot.domain.case import Case, CaseHeader
from bot.domain.events import AlertReceived, Cancelled
from bot.domain.house_events import HOUSE
from bot.domain.intake_contracts import StormLimits
from bot.ledger import CaseStore, Database, Ledger
from bot.ledger.dedup_store import DedupStore
from tests.contract.test_inbox import delivery
from tests.record.incidents import ALERT, ASKER

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command with these settings; returns exit status, stdout and stderr."""
    monkeypatch.setenv("ZOMBIE_DATABASE_URL", url(tmp_path))
    monkeypatch.chdir(tmp_path)

    def run(toml: str, *arguments: str) -> tuple[int, str, str]:
        (tmp_path / "zombie.toml").write_text(toml)
        status = main(("prune", *arguments))
        return status, *capsys.readouterr()

    return run


def url(folder: Path) -> str:
    return f"sqlite:///{folder / 'zombie.db'}"


def streams(folder: Path) -> set[str]:
    with Database.open(url(folder)) as database:
        return {line.id for line in Ledger(database).incidents.now()}


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A folder with a record: an incident of two years ago, and one of today."""
    with Database.open(url(tmp_path)) as database:
        for name, ago in (("old", timedelta(days=730)), ("new", timedelta(0))):
            ledger = Ledger(database, lambda ago=ago: datetime.now(UTC) - ago)  # type: ignore[misc]
            ledger.append.now(name, 0, AlertReceived(ALERT, "node-1", name), ASKER)
            ledger.append.now(name, 1, Cancelled("asked twice"), "bot")
    return tmp_path


def test_nothing_goes_that_nobody_said_how_long_to_keep(run: Run, kept: Path) -> None:
    status, out, err = run("")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "incidents: kept for ever, [retention] incidents is not set",
        "deliveries: 0 older than 30d removed",
    ]
    assert streams(kept) == {"old", "new"}


def test_what_is_older_goes_and_the_house_says_who_removed_it(run: Run, kept: Path) -> None:
    settings = '[retention]\nincidents = "400d"\n'
    assert run(settings, "--dry-run")[1].startswith("incidents: 1 older than 400d would be removed, with 2 entries\n")
    assert streams(kept) == {"old", "new"}
    assert run(settings)[1].startswith("incidents: 1 older than 400d removed, with 2 entries\n")
    assert streams(kept) == {"new"}
    with Database.open(url(kept)) as database:
        assert Ledger(database).read.now(HOUSE)[-1].by == terminal_user(os.environ)
    assert main(("audit", "verify")) == 0


def test_what_stays_because_its_alert_fires_is_counted(run: Run, kept: Path) -> None:
    with Database.open(url(kept)) as database:
        DedupStore(database).record_firing.now(delivery(1), "key", "old", StormLimits())
    _, out, _ = run('[retention]\nincidents = "400d"\n')
    assert "incidents: 1 older than 400d stay, because no source said that their alert is over\n" in out
    assert streams(kept) == {"old", "new"}


def test_what_nodes_said_goes_with_the_incident_and_sooner_where_that_is_asked_for(run: Run, kept: Path) -> None:
    with Database.open(url(kept)) as database:
        cases = {name: CaseStore(database).keep.now(name, Case(CaseHeader(name))) for name in ("old", "new")}
        with database.writing() as connection:
            older = "UPDATE kept_cases SET kept_at = '2024-01-01T00:00:00.000Z' WHERE incident = 'new'"
            connection.execute(text(older))
    settings, what = '[retention]\nreadings = "9d"\n', "readings: 1 cases and 0 counts older than 9d"
    assert f"{what} would be removed" in run(settings, "--dry-run")[1]
    assert f"{what} removed" in run(settings)[1]
    with Database.open(url(kept)) as database:
        assert [CaseStore(database).text.now(name, cases[name]) is None for name in ("old", "new")] == [False, True]
    run('[retention]\nincidents = "400d"\n')
    with Database.open(url(kept)) as database:
        assert CaseStore(database).text.now("old", cases["old"]) is None


def test_place_without_a_record_is_said_and_none_is_made(run: Run, tmp_path: Path) -> None:
    status, _, err = run("")
    assert status == 2
    assert "There is no ledger" in err
    assert not (tmp_path / "zombie.db").exists()
