"""`zombie prune`, run as the terminal runs it."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from bot.commands.terminal_login import terminal_user
from bot.domain.case import Case, CaseHeader
from bot.domain.events import AlertReceived, Cancelled
from bot.domain.house_events import HOUSE
from bot.domain.intake_contracts import StormLimits
from bot.ledger import CaseStore, Database, Ledger
from bot.ledger.dedup_store import DedupStore
from tests.commandline import CommandLine, Ran
from tests.contract.test_inbox import delivery
from tests.record.incidents import ALERT, ASKER


def prune(run: CommandLine, toml: str, *arguments: str) -> Ran:
    (run.folder / "zombie.toml").write_text(toml)
    return run("prune", *arguments)


def streams(record: Database) -> set[str]:
    return {line.id for line in Ledger(record).incidents.now()}


@pytest.fixture
def kept(record: Database) -> Database:
    """A record with an incident of two years ago, and one of today."""
    for name, ago in (("old", timedelta(days=730)), ("new", timedelta(0))):
        ledger = Ledger(record, lambda ago=ago: datetime.now(UTC) - ago)  # type: ignore[misc]
        ledger.append.now(name, 0, AlertReceived(ALERT, "node-1", name), ASKER)
        ledger.append.now(name, 1, Cancelled("asked twice"), "bot")
    return record


def test_nothing_goes_that_nobody_said_how_long_to_keep(run: CommandLine, kept: Database) -> None:
    status, out, err = prune(run, "")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "incidents: kept for ever, [retention] incidents is not set",
        "deliveries: 0 older than 30d removed",
    ]
    assert streams(kept) == {"old", "new"}


def test_what_is_older_goes_and_the_house_says_who_removed_it(run: CommandLine, kept: Database) -> None:
    settings = '[retention]\nincidents = "400d"\n'
    assert prune(run, settings, "--dry-run")[1].startswith(
        "incidents: 1 older than 400d would be removed, with 2 entries\n"
    )
    assert streams(kept) == {"old", "new"}
    assert prune(run, settings)[1].startswith("incidents: 1 older than 400d removed, with 2 entries\n")
    assert streams(kept) == {"new"}
    assert Ledger(kept).read.now(HOUSE)[-1].by == terminal_user(os.environ)
    assert run("audit", "verify").status == 0


def test_what_stays_because_its_alert_fires_is_counted(run: CommandLine, kept: Database) -> None:
    DedupStore(kept).record_firing.now(delivery(1), "key", "old", StormLimits())
    _, out, _ = prune(run, '[retention]\nincidents = "400d"\n')
    assert "incidents: 1 older than 400d stay, because no source said that their alert is over\n" in out
    assert streams(kept) == {"old", "new"}


def test_what_nodes_said_goes_with_the_incident_and_sooner_where_that_is_asked_for(
    run: CommandLine, kept: Database
) -> None:
    store = CaseStore(kept)
    cases = {name: store.keep.now(name, Case(CaseHeader(name))) for name in ("old", "new")}
    with kept.writing() as connection:
        older = "UPDATE kept_cases SET kept_at = '2024-01-01T00:00:00.000Z' WHERE incident = 'new'"
        connection.execute(text(older))
    settings, what = '[retention]\nreadings = "9d"\n', "readings: 1 cases and 0 counts older than 9d"
    assert f"{what} would be removed" in prune(run, settings, "--dry-run")[1]
    assert f"{what} removed" in prune(run, settings)[1]
    assert [store.text.now(name, cases[name]) is None for name in ("old", "new")] == [False, True]
    prune(run, '[retention]\nincidents = "400d"\n')
    assert store.text.now("old", cases["old"]) is None


def test_place_without_a_record_is_said_and_none_is_made(run: CommandLine) -> None:
    status, _, err = prune(run, "")
    assert (status, "There is no ledger" in err) == (2, True)
    assert not Path("state").exists()
