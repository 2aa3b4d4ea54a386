"""The database under the record: where it may be, who may read it, and how an older one is brought up to date."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import sqlite3
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from bot.domain.alert import Delivery
from bot.domain.errors import LedgerUnavailable, SettingsError
from bot.domain.events import StepStarted
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE, BrakePulled
from bot.domain.post import Post
from bot.domain.transitions import State
from bot.extras.cases.explaining import Why
from bot.ledger import Database, Leases, Ledger, Outbox, audit, is_file_there
from bot.ledger.health import holds_ledger, is_served, ledger_words
from bot.ledger.inbox import Inbox
from bot.ledger.migrations import VERSION
from tests.commandline import CommandLine
from tests.record.exporting import NODE, ended
from tests.record.incidents import ASKER, OPENING, VERDICT, VERIFIED
from tests.record.ledgers import ledger_url
from tests.record.postgresql import Postgresql

VERSION_1 = Path(__file__).with_name("ledger-v1.sql")  # as the first version wrote it; it never changes

TABLES = {"zombie_schema", "entries", "incidents", "posts", "holds", "attempts", "runners", "leases"}
TABLES |= {
    "deliveries",
    "cases",
    "turns",
    "wishes",
    "kept_cases",
    "machines",
    "refusals",
    "waves",
    "readings",
    "sweeps",
    "signals",
}


def shaped(database: Database) -> tuple[set[str], int]:
    with database.reading() as connection:
        schema = (
            "SELECT name FROM sqlite_master WHERE type = 'table'"
            if connection.dialect.name == "sqlite"
            else "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
        )
        return set(connection.execute(text(schema)).scalars()), connection.execute(
            text("SELECT version FROM zombie_schema")
        ).scalar_one()


def done(url: str, *statements: str) -> list[tuple[object, ...]]:
    """Run statements without any of the ledger's code; return what the last one says."""
    if url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as plain:
            for statement in statements[:-1]:
                plain.executescript(statement)
            return list(plain.execute(statements[-1]).fetchall())
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements[:-1]:
            connection.execute(statement.encode())
        return list(connection.execute(statements[-1].encode()).fetchall())


@pytest.fixture
def older_url(empty_database_url: str) -> str:
    """A database of the first version, with an open and an ended incident."""
    assert done(empty_database_url, VERSION_1.read_text(), "SELECT version FROM zombie_schema") == [(1,)]
    return empty_database_url


def test_older_database_is_brought_up_to_date(older_url: str) -> None:
    with Database.open(older_url) as database:
        assert shaped(database) == (TABLES, VERSION)
        found = audit(database)
        assert (found.broken, found.incidents, found.entries) == ((), 2, 18), (
            "and the list of what is older than anchors"
        )
        ledger = Ledger(database)
        assert [(one.id, one.state) for one in ledger.incidents.now()] == [
            ("ended00000", State.RESOLVED),
            ("open000000", State.ACTING),
        ]
        assert tuple(line.id for line in ledger.incidents.now(only_open=True)) == ("open000000",)
        assert fold(ledger.read.now("open000000")).verdict == VERDICT


def test_older_record_goes_on_where_it_was(older_url: str) -> None:
    with Database.open(older_url) as database:
        ledger = Ledger(database)
        ledger.append.now("open000000", 5, VERIFIED, "bot")
        ledger.append.now("open000000", 6, StepStarted(2), "bot")
        Outbox(database).keep.now(Post("open000000", "card", "C1"))
        with pytest.raises(LedgerUnavailable, match="only ever appended"), database.writing() as connection:
            connection.execute(text("DELETE FROM entries"))
    with Database.open(older_url) as database:
        assert audit(database).broken == ()
        assert fold(Ledger(database).read.now("open000000")).next_step == 3


def test_migration_that_fails_leaves_the_older_database_as_it_was(older_url: str) -> None:
    done(older_url, "CREATE TABLE posts (mine INTEGER)", "SELECT 1")
    with pytest.raises(LedgerUnavailable, match="posts"):
        Database.open(older_url)
    assert done(older_url, "SELECT version FROM zombie_schema") == [(1,)]
    done(older_url, "DROP TABLE posts", "SELECT 1")
    with Database.open(older_url) as database:
        assert audit(database).broken == ()


def test_damaged_incident_does_not_lock_up_the_others(older_url: str) -> None:
    done(older_url, "UPDATE entries SET body = '{' WHERE stream = 'open000000' AND seq = 2", "SELECT 1")
    with Database.open(older_url) as database:
        assert [one.id for one in Ledger(database).incidents.now()] == ["ended00000"]
        assert [(one.stream, one.seq) for one in audit(database).broken] == [("open000000", 2)]


def test_newer_database_is_left_alone_also_by_a_program_that_has_it_open(empty_database_url: str) -> None:
    with Database.open(empty_database_url) as database:
        Ledger(database).append.now("7k3m9x2qpv", 0, OPENING, ASKER)
        with database.writing() as connection:
            connection.execute(text("UPDATE zombie_schema SET version = 99"))
        with pytest.raises(LedgerUnavailable, match="version 99"):
            Ledger(database).append.now("7k3m9x2qpw", 0, OPENING, ASKER)
        with pytest.raises(LedgerUnavailable, match="version 99"):
            database.check()  # so /readyz says why
        assert Inbox(Leases(database, "runner")).keep.now(Delivery("pagerduty", "E1", None)), (
            "what comes is taken all the same, for the newer program"
        )
        assert len(Ledger(database).read.now("7k3m9x2qpv")) == 1
        assert Ledger(database).read.now("7k3m9x2qpw") == ()
    with pytest.raises(LedgerUnavailable, match="version 99"):
        Database.open(empty_database_url)


@pytest.mark.parametrize("is_replaced", [False, True])
def test_file_that_is_another_now_is_no_record_to_go_on_with(is_replaced: bool, tmp_path: Path) -> None:
    path = tmp_path / "zombie.db"
    with Database.open(ledger_url(path)) as database:
        ledger = Ledger(database)
        ledger.append.now(HOUSE, None, BrakePulled("rollout"), ASKER)
        for file in tmp_path.iterdir():
            file.rename(tmp_path / f"moved-{file.name}")
        if is_replaced:  # as by a backup that is brought back, and then somebody pulls the brake
            with Database.open(ledger_url(path)) as other:
                Ledger(other).append.now(HOUSE, None, BrakePulled("restored"), ASKER)
        for asked in (
            database.check,
            ledger.brake_pull.now,
            lambda: ledger.append.now(HOUSE, None, BrakePulled("x"), ASKER),
        ):
            with pytest.raises(LedgerUnavailable, match="its file was removed or replaced since it was opened"):
                asked()
    assert path.exists() is is_replaced, "nothing is made anew by a program that has it open"


def test_backup_that_is_restored_into_the_open_file_is_no_record_to_go_on_with(tmp_path: Path) -> None:
    path = tmp_path / "zombie.db"
    with Database.open(ledger_url(path)) as database, contextlib.closing(sqlite3.connect(tmp_path / "old.db")) as old:
        ledger = Ledger(database)
        ledger.append.now(HOUSE, None, BrakePulled("rollout"), ASKER)
        with contextlib.closing(sqlite3.connect(path)) as now:
            now.backup(old)
            ledger.append.now(HOUSE, None, BrakePulled("stop"), ASKER)
            old.backup(now)
        for asked in (database.check, lambda: ledger.append.now(HOUSE, None, BrakePulled("x"), ASKER)):
            with pytest.raises(LedgerUnavailable, match="entry house/2, which was there, is missing or another"):
                asked()
    with Database.open(ledger_url(path)) as database:
        assert Ledger(database).append.now(HOUSE, None, BrakePulled("x"), ASKER).seq == 2


def test_what_other_threads_append_meanwhile_is_no_other_record(empty_database_url: str) -> None:
    with Database.open(empty_database_url) as database, ThreadPoolExecutor(3) as threads:
        pull = functools.partial(Ledger(database).append.now, HOUSE, None, BrakePulled("x"), ASKER)
        written = [threads.submit(pull) for _ in range(30)]
        while not all(each.done() for each in written):
            database.check()
        assert sorted(each.result().seq for each in written) == [*range(1, 31)]


def test_file_and_its_folder_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "zombie" / "zombie.db"
    url = f"sqlite:///{path}"
    assert not is_file_there(url)
    with Database.open(url) as database:
        Ledger(database).append.now("7k3m9x2qpv", 0, OPENING, ASKER)
        modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()}
        with database.reading() as connection:
            pragmas = [
                connection.execute(text(f"PRAGMA {name}")).scalar_one() for name in ("journal_mode", "synchronous")
            ]
    assert is_file_there(url)
    assert modes == dict.fromkeys(["zombie.db", "zombie.db-wal", "zombie.db-shm"], 0o600)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert pragmas == ["wal", 2], "2 is FULL"


def test_new_file_is_made_by_one_process_at_a_time(tmp_path: Path) -> None:
    """Switching a new file to WAL does not wait for who does the same: it fails, but not every time."""
    path, folder = tmp_path / "zombie.db", os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)  # as another process that makes it
    with ThreadPoolExecutor(1) as threads:
        opening = threads.submit(Database.open, f"sqlite:///{path}")
        with pytest.raises(TimeoutError):
            opening.result(timeout=0.3)
        assert path.stat().st_size == 0
        os.close(folder)
        opening.result(timeout=10).close()
    assert path.stat().st_size > 0


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("zombie.db", "is not the URL of a database"),
        ("mysql://root@db/zombie", "cannot be kept in mysql"),
        ("sqlite://", "cannot be kept in memory"),
        ("postgresql://ann:hunter2@db:port/zombie", "is not the URL of a database"),
        ("postgresql://ann:hun@ter2@db/zombie", "has an @ in its password"),
        ("postgresql://ann:hun@1/ter2@db/zombie", "has an @ in its password"),
    ],
)
def test_url_that_cannot_be_used_is_a_setting_that_is_wrong(url: str, says: str) -> None:
    for verb in (Database.open, is_file_there):
        with pytest.raises(SettingsError, match=says) as no:
            verb(url)
        assert "ter2" not in str(no.value)


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_database_that_has_no_room_for_every_letter_is_a_setting_that_is_wrong(
    postgresql: Postgresql, encoding: str
) -> None:
    url = postgresql.new_database(encoding)
    for verb in (Database.open, holds_ledger):
        with pytest.raises(SettingsError, match=f"the encoding {encoding}"):
            verb(url)


def test_place_that_cannot_be_used_is_named_and_no_password_is(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "text.db").write_text("this is no database at all, but it is long enough to be read as one")
    refused = "postgresql://ann:hunter2@127.0.0.1:1/zombie"
    for url in (
        f"sqlite:///{tmp_path}/file/zombie.db",
        f"sqlite:///{tmp_path}/text.db",
        f"sqlite:///{tmp_path}",
        refused,
        "postgresql://127.0.0.1:1/zombie?user=ann&password=hunter2",
        "postgresql://ann@127.0.0.1:1/zombie?sslpassword=hunter2",
    ):
        with pytest.raises(LedgerUnavailable, match=r"The ledger at .* cannot be used: ") as no:
            Database.open(url, busy=timedelta(seconds=1))
        assert "hunter2" not in str(no.value)
        assert "hunter2" not in ledger_words(url)


def test_whether_there_is_a_ledger_and_who_serves_is_told_without_making_one(empty_database_url: str) -> None:
    assert not holds_ledger(empty_database_url)
    with Database.open(empty_database_url) as database:
        assert holds_ledger(empty_database_url)
        assert not is_served(database)
        Leases(database, "serving").beat.now()
        assert is_served(database)


def test_database_of_another_program_is_taken_for_no_ledger(empty_database_url: str) -> None:
    done(empty_database_url, "CREATE TABLE theirs (what TEXT)", "SELECT 1")
    with pytest.raises(LedgerUnavailable, match="is a database without a ledger"):
        holds_ledger(empty_database_url)


def test_sqlite_waits_for_another_process_and_its_other_statements_as_long_as_they_were_told(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/zombie.db"
    # Two of them are as two processes: they share no lock of this program's.
    with Database.open(url) as one, Database.open(url, busy=timedelta(seconds=5)) as other:
        waited, released = list[float](), threading.Event()

        def writes() -> None:
            with other.writing() as connection:
                waited.append(time.monotonic())
                assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one() == 5000
            released.set()

        writing = threading.Thread(target=writes)
        with one.writing():
            writing.start()
            assert not released.wait(0.5), "it waits for the transaction"
            ended = time.monotonic()
        writing.join(5)
        assert released.is_set()
        assert waited[0] >= ended


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)  # in SQLite each has tests of its own
def test_every_command_that_reads_the_record_reads_it_in_postgresql_too(
    run: CommandLine, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOMBIE_DATABASE_URL", database_url)
    # `why` looks for it, too, and by the same record.
    monkeypatch.setattr("bot.extras.reports.report_maker.why_as_shown", lambda *_: Why((), "left out"))
    Path("inventory.toml").write_text(f'[nodes.{NODE.name}]\naddress = "{NODE.address}"\n')
    with Database.open(database_url) as database:
        incident = ended(database)
    read = "audit verify, audit export, incidents, incidents --json, incidents --open, watch ID, incidents show ID"
    read += ", incidents show ID --json, incidents export ID -o B, audit verify B, report ID, report ID --markdown"
    read += ", why ID, playbooks stats, playbooks stats --json, mute, mute --json, brake status, wave, wave --json"
    read += ", capture list, prune --dry-run"
    ends = {line: run(*line.replace("ID", incident).split()) for line in read.split(", ")}
    assert {line: ended.err for line, ended in ends.items() if ended.status} == {}
