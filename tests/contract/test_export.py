"""The export goes on however slowly it is read, and leaves nothing out at the end of a page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from bot.domain.house_events import HOUSE, BrakePulled
from bot.ledger import Database, Ledger, exported, tables
from bot.ledger.chain import FIELDS
from tests.record.large import Large
from tests.record.ledgers import ledger_url

INCIDENTS, ENTRIES = 60, 10  # more than a page of 500
HOUSE_BEGINS_WITH = 3


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    Large(INCIDENTS, ENTRIES).fill(database_url)
    with Database.open(database_url) as opened:
        yield opened


def test_every_entry_is_exported_once_and_in_order(database: Database) -> None:
    lines = [json.loads(line) for line in exported(database)]
    keys = [(line["at"], line["stream"], line["seq"]) for line in lines]
    assert keys == sorted(set(keys))
    assert len(keys) == INCIDENTS * ENTRIES + INCIDENTS + HOUSE_BEGINS_WITH


def test_no_transaction_waits_for_the_reader(database: Database) -> None:
    busy: list[int] = []
    for number, _ in enumerate(exported(database)):
        if number % 100 == 1:
            busy.append(database.engine.pool.checkedout())  # type: ignore[attr-defined]
        if number == 600:  # what comes later is not among them, so that a busy record's export ends, too
            Ledger(database).append.now(HOUSE, None, BrakePulled("meanwhile"), "terminal:ann")
    assert set(busy) == {0}
    assert number + 1 == INCIDENTS * ENTRIES + INCIDENTS + HOUSE_BEGINS_WITH


def test_last_entry_is_exported_whatever_its_stream_is_called(database: Database) -> None:
    last = dict(zip(FIELDS, ("\u00e9", 1, "2099-01-01T00:00:00.000Z", "bot", "x", "{}", "0"), strict=True))
    with database.writing() as connection:
        connection.execute(tables.ENTRIES.insert(), last)
    assert json.loads([*exported(database)][-1])["stream"] == "\u00e9"


@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        ("hash", b"\xff\x00", "b'\\xff\\x00'"),
        ("body", '{"form":1,"x":NaN}', '{"form":1,"x":NaN}'),
        ("body", '{"x":"shown","x":"meant"}', '{"x":"shown","x":"meant"}'),
    ],
)
def test_what_no_ledger_writes_is_exported_as_the_text_that_it_is(
    tmp_path: Path, column: str, value: object, shown: str
) -> None:
    url = ledger_url(tmp_path / "zombie.db")
    Large(1, 2).fill(url)
    with Database.open(url) as database:
        with database.writing() as connection:
            connection.execute(text("DROP TRIGGER entries_stay_as_they_are"))
            where = "WHERE stream != 'house' AND seq = 2"
            connection.execute(text(f"UPDATE entries SET {column} = :value {where}"), {"value": value})
        lines = [json.loads(line, parse_constant=pytest.fail) for line in exported(database)]
    assert shown in [line[column] for line in lines]


def test_text_that_is_no_utf8_does_not_end_it(tmp_path: Path) -> None:
    url = ledger_url(tmp_path / "zombie.db")
    Large(INCIDENTS, ENTRIES).fill(url)
    with Database.open(url) as database:
        with database.writing() as connection:
            connection.execute(text("DROP TRIGGER entries_stay_as_they_are"))
            connection.execute(text("UPDATE entries SET at = CAST(x'32ff' AS TEXT) WHERE seq < 6"))
        assert len(list(exported(database))) == INCIDENTS * ENTRIES + INCIDENTS + HOUSE_BEGINS_WITH
