"""A record that an earlier program left behind, with an incident in every state, is read as it was written."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.domain.entry import Head
from bot.domain.events import Declined
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE, OlderNoted
from bot.domain.mute_record import mutes_in_force
from bot.domain.transitions import State
from bot.extras.captures.capture_fold import RollingState, captures_of
from bot.extras.marks.marks import scores
from bot.extras.waves.events import TurnOutcome
from bot.extras.waves.store import WaveStore
from bot.extras.waves.wave import WaveState
from bot.ledger import Database, Ledger, ReadingStore
from bot.ledger.append_only import TRIGGERS
from bot.ledger.entries import chained_entry, insert_entry
from bot.ledger.incidents import write_incident_row
from tests.record.audits import audit
from tests.record.incidents import ASKER, OPENING

# As programs of November 2026 wrote them; they never change. The later one was left in the middle of a wave.
VERSION_6 = Path(__file__).with_name("ledger-v6.sql")
VERSION_14 = Path(__file__).with_name("ledger-v14.sql")
LEFT_AT = datetime(2026, 11, 23, 4, 34, tzinfo=UTC)


@contextlib.contextmanager
def opened(written: Path, folder: Path) -> Iterator[Database]:
    """A database that was written so, opened by the program of today."""
    path = folder / "zombie.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as plain:
        plain.executescript(written.read_text())
    with Database.open(f"sqlite:///{path}") as database:
        yield database


@pytest.fixture
def older(tmp_path: Path) -> Iterator[Database]:
    with opened(VERSION_6, tmp_path) as database:
        yield database


@pytest.fixture
def later(tmp_path: Path) -> Iterator[Database]:
    with opened(VERSION_14, tmp_path) as database:
        yield database


def test_every_entry_still_holds(older: Database) -> None:
    found = audit(older)
    assert (found.broken, found.incidents) == ((), 17)


def test_incidents_older_than_anchors_are_listed_once_and_none_can_be_added_to_them(older: Database) -> None:
    noted = [entry.event for entry in Ledger(older).read.now(HOUSE) if isinstance(entry.event, OlderNoted)]
    assert [len(each.heads) for each in noted] == [17]
    with older.writing() as connection:
        entry = chained_entry("forged0000", Head(), "2019-01-01T00:00:00.000Z", OPENING, ASKER)
        insert_entry(connection, entry)
        write_incident_row(connection, fold((entry,)))
    (broken,) = audit(older).broken
    assert str(broken).endswith("entry 1 of forged0000, AlertReceived, is missing: it is not anchored")


def test_older_incident_may_go_on_but_is_what_it_was(older: Database) -> None:
    ledger = Ledger(older)
    ledger.append.now("proposed00", ledger.head.now("proposed00").seq, Declined("not now"), ASKER)
    assert audit(older).broken == ()
    with older.writing() as connection:
        for statement in TRIGGERS:
            if (made := re.match(r"CREATE TRIGGER (\w+)", statement["sqlite"])) is not None:
                connection.exec_driver_sql(f"DROP TRIGGER {made[1]}")
        connection.exec_driver_sql("DELETE FROM entries WHERE stream = 'opened0000'")
        connection.exec_driver_sql("DELETE FROM incidents WHERE id = 'opened0000'")
        for statement in TRIGGERS:
            connection.exec_driver_sql(statement["sqlite"])
    assert "opened0000: was noted in house but has no entries: they were removed" in map(str, audit(older).broken)


@pytest.mark.parametrize("state", list(State))
def test_incident_of_each_state_is_still_in_it(older: Database, state: State) -> None:
    incident = fold(Ledger(older).read.now(f"{state.value}0".ljust(10, "0")))
    assert (incident.state, incident.node) == (state, f"node-{state.value}")


def test_list_of_incidents_is_the_same(older: Database) -> None:
    listed = {incident.node: incident.state.value for incident in Ledger(older).incidents.now()}
    assert {node: state for node, state in listed.items() if node == f"node-{state}"} == {
        f"node-{state.value}": state.value for state in State
    }
    assert listed["node-left"] == "triaged"
    assert {listed[f"node-{source}"] for source in ("pagerduty", "alertmanager", "grafana", "terminal")} == {"opened"}


def test_wave_that_was_left_in_the_middle_is_where_it_was(later: Database) -> None:
    found = audit(later)
    assert (found.broken, found.incidents) == ((), 6)
    wave = WaveStore(later).find.now("wave-eszgzd8a0q")
    assert wave is not None
    assert (wave.state, [approval.by for approval in wave.approvals]) == (WaveState.RUNNING, ["terminal:bob"])
    assert [(turn.member.node, turn.outcome) for turn in wave.turns] == [("n3", TurnOutcome.CURED), ("n0", None)]
    states = {incident.node: incident.state for incident in Ledger(later).incidents.now()}
    assert (states["n3"], states["n0"]) == (State.RESOLVED, State.PROPOSED)


def test_marks_mutes_captures_and_counts_are_still_known(later: Database) -> None:
    ledger = Ledger(later)
    house = ledger.read.now(HOUSE)
    (score,) = scores(house)
    assert (score.cause, score.right, score.wrong) == ("failed-units", 0, 1)
    (mute,) = mutes_in_force(ledger.mutes.now(), LEFT_AT)
    assert (mute.cause, mute.selector, mute.reason) == ("failed-units", "b*", "known")
    (capture,) = captures_of(house).values()
    assert (capture.node, capture.request.hours, capture.state) == ("s1", 1, RollingState.RUNNING)
    readings = ReadingStore(later)
    counts = {node: [look.value for look in readings.looks.now(node, cause)] for node, cause in readings.series.now()}
    assert counts == {"b1": [31.0], "s1": [52112.0]}
