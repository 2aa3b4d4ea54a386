"""What was counted on nodes is kept once a look and read in order, in SQLite and in PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bot.domain.growth import CountSample
from bot.ledger import Database, ReadingStore
from bot.ledger.reading_store import MOST_LOOKS

BEGAN = datetime(2026, 11, 1, tzinfo=UTC)
LEAK = "leaked-memory-cgroups"


def test_looks_are_kept_once_and_come_in_order(database_url: str) -> None:
    with Database.open(database_url) as database:
        store = ReadingStore(database)
        told = [CountSample(BEGAN + timedelta(hours=at), 1_000.5 * at, "boot") for at in range(4)]
        for look in (told[2], told[0], told[3], told[1], told[1]):
            store.keep.now("gpu-1", LEAK, look)
        store.keep.now("gpu-2", LEAK, told[0])
        assert store.looks.now("gpu-1", LEAK) == tuple(told)
        assert store.looks.now("gpu-1", "disk-full") == ()
        assert store.series.now() == (("gpu-1", LEAK), ("gpu-2", LEAK))


def test_the_latest_are_read_where_there_are_very_many(database_url: str) -> None:
    with Database.open(database_url) as database:
        store = ReadingStore(database)
        with database.writing() as connection:
            connection.exec_driver_sql(
                "INSERT INTO readings SELECT 'gpu-1', 'x', '2025-01-01T00:00:00.' || n, 1, '' FROM "
                + (
                    "generate_series(100000, 105999) AS g(n)"
                    if connection.dialect.name == "postgresql"
                    else "(WITH RECURSIVE g(n) AS (SELECT 100000 UNION ALL SELECT n + 1 FROM g WHERE n < 105999) "
                    "SELECT n FROM g)"
                )
            )
            connection.exec_driver_sql('UPDATE readings SET "at" = "at" || \'Z\'')
        assert len(store.looks.now("gpu-1", "x")) == MOST_LOOKS


def test_what_is_older_is_forgotten_where_that_is_asked_for(database_url: str) -> None:
    with Database.open(database_url) as database:
        store, now = ReadingStore(database), datetime.now(UTC)
        for days in (1, 20, 40):
            store.keep.now("gpu-1", LEAK, CountSample(now - timedelta(days=days), days, ""))
        assert store.forget.now(timedelta(days=30), dry_run=True) == 1
        assert len(store.looks.now("gpu-1", LEAK)) == 3
        assert store.forget.now(timedelta(days=30)) == 1
        assert [look.value for look in store.looks.now("gpu-1", LEAK)] == [20, 1]
