"""A record that an earlier program left behind, with an incident in every state, is read as it was written."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.domain.fold import fold
from bot.domain.transitions import State
from bot.ledger import Database, Ledger, audit

VERSION_6 = Path(__file__).with_name("ledger-v6.sql")  # as the program of November 2026 wrote it; it never changes


@pytest.fixture
def older(tmp_path: Path) -> Iterator[Database]:
    """The database, opened by the program of today."""
    path = tmp_path / "zombie.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as plain:
        plain.executescript(VERSION_6.read_text())
    with Database.open(f"sqlite:///{path}") as database:
        yield database


def test_every_entry_still_holds(older: Database) -> None:
    found = audit(older)
    assert (found.broken, found.incidents) == ((), 17)


@pytest.mark.parametrize("state", list(State))
def test_incident_of_each_state_is_still_in_it(older: Database, state: State) -> None:
    incident = fold(Ledger(older).read(f"{state.value}0".ljust(10, "0")))
    assert (incident.state, incident.node) == (state, f"node-{state.value}")


def test_list_of_incidents_is_the_same(older: Database) -> None:
    listed = {incident.node: incident.state.value for incident in Ledger(older).incidents()}
    assert {node: state for node, state in listed.items() if node == f"node-{state}"} == {
        f"node-{state.value}": state.value for state in State
    }
    assert listed["node-left"] == "triaged"
    assert {listed[f"node-{source}"] for source in ("pagerduty", "alertmanager", "grafana", "terminal")} == {"opened"}
