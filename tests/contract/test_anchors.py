"""What may never go from an incident is noted in the house in the same transaction; and entries are append-only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.domain.alert import BOT
from bot.domain.errors import ImpossibleEvent, LedgerUnavailable
from bot.domain.events import Approved, Endorsed, IncidentEvent, PlanProposed, StepStarted, StepVerified
from bot.domain.house_events import HOUSE, BrakePulled, EntryAnchored
from bot.ledger import Database, Ledger, audit
from tests.record.incidents import APPROVER, ASKER, OPENING, PLAN, PROPOSED, TRIAGED
from tests.record.keeping import keep
from tests.record.postgresql import Postgresql

ID = "7k3m9x2qpv"


@pytest.fixture
def ledger(database_url: str) -> Iterator[Ledger]:
    with Database.open(database_url) as opened:
        yield Ledger(opened)


def test_opening_every_yes_and_every_begun_step_is_anchored_in_the_house_as_it_happens(ledger: Ledger) -> None:
    two = PlanProposed.of(PLAN, {}, approvals_needed=2)
    told: list[tuple[IncidentEvent, str, bool]] = [
        (OPENING, ASKER, True),
        (TRIAGED, BOT, False),
        (two, BOT, False),
        (Endorsed(two.digest, "fine"), ASKER, True),
        (Approved(two.digest, "it leaks"), APPROVER, True),
        (StepStarted(1), BOT, True),
        (StepVerified(1), BOT, False),
        (StepStarted(2), BOT, True),
        (StepStarted(2, 2), BOT, True),
    ]
    anchors: list[EntryAnchored] = []
    for seq, (event, by, is_anchored) in enumerate(told):
        entry = ledger.append.now(ID, seq, event, by)
        if is_anchored:
            anchors.append(EntryAnchored(ID, entry.kind, entry.seq, entry.hash))
        assert [noted.event for noted in ledger.read.now(HOUSE)] == anchors


def test_what_cannot_be_appended_is_not_anchored(ledger: Ledger) -> None:
    keep(ledger, ID, (OPENING, TRIAGED, PROPOSED))
    for wrong in (Approved("another", "x"), StepStarted(1)):
        with pytest.raises(ImpossibleEvent):
            ledger.append.now(ID, 3, wrong, APPROVER)
    assert [noted.body["kind"] for noted in ledger.read.now(HOUSE)] == ["AlertReceived"]


@pytest.mark.parametrize(
    ("dialect", "change"),
    [
        ("sqlite", "DROP TRIGGER entries_stay"),
        ("sqlite", "DROP TRIGGER entries_stay_as_they_are"),
        (
            "sqlite",
            "DROP TRIGGER entries_stay|CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT 1; END",
        ),
        ("postgresql", "DROP TRIGGER entries_stay ON entries"),
        ("postgresql", "ALTER TABLE entries DISABLE TRIGGER entries_stay"),
        (
            "postgresql",
            """CREATE OR REPLACE FUNCTION zombie_entries_are_appended() RETURNS trigger LANGUAGE plpgsql
            AS 'BEGIN RETURN NULL; END'""",
        ),
    ],
)
def test_trigger_that_is_gone_switched_off_or_altered_is_found(
    dialect: str, change: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'z.db'}" if dialect == "sqlite" else ""
    with Database.open(url or request.getfixturevalue("postgresql").new_ledger()) as database:
        assert audit(database).broken == ()
        with database.writing() as connection:
            for statement in change.split("|"):
                connection.exec_driver_sql(statement)
        (broken,) = audit(database).broken
    assert str(broken).startswith("database: the trigger entries_stay")


@pytest.mark.parametrize(
    ("dialect", "name", "change"),
    [
        (
            "sqlite",
            "drops",
            """CREATE TRIGGER drops BEFORE INSERT ON entries WHEN NEW.kind = 'BrakePulled'
            BEGIN SELECT RAISE(IGNORE); END""",
        ),
        (
            "sqlite",
            "drops",
            """CREATE TRIGGER drops BEFORE INSERT ON ENTRIES WHEN NEW.kind = 'BrakePulled'
            BEGIN SELECT RAISE(IGNORE); END""",
        ),
        (
            "postgresql",
            "entries_stay",
            "CREATE RULE entries_stay AS ON INSERT TO entries WHERE NEW.kind = 'BrakePulled' DO INSTEAD NOTHING",
        ),
        (
            "postgresql",
            "entries_stay_as_they_are",
            """CREATE FUNCTION drops() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
            CREATE TRIGGER entries_stay_as_they_are BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION drops()""",
        ),
        (
            "postgresql",
            "drops",
            "CREATE RULE drops AS ON INSERT TO entries WHERE NEW.kind = 'BrakePulled' DO INSTEAD NOTHING",
        ),
        (
            "postgresql",
            "drops",
            """CREATE FUNCTION drops() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
            CREATE TRIGGER drops BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION drops()""",
        ),
    ],
)
def test_trigger_that_drops_what_is_written_lets_nothing_be_done_and_is_told(
    dialect: str, name: str, change: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'z.db'}" if dialect == "sqlite" else ""
    with Database.open(url or request.getfixturevalue("postgresql").new_ledger()) as database:
        with database.writing() as connection:
            connection.exec_driver_sql(change)
        with pytest.raises(LedgerUnavailable, match="did not keep entry house/1"):
            Ledger(database).append.now(HOUSE, None, BrakePulled("rollout"), "terminal:ann")
        assert Ledger(database).read.now(HOUSE) == ()
        found = audit(database)
    assert (found.broken, [str(each) for each in found.unread]) == (
        (),
        [f"database: what {name} does: a trigger, rule or policy on the entries, and none of ours"],
    )


def test_policy_that_may_hide_entries_is_told(postgresql: Postgresql) -> None:
    with Database.open(postgresql.new_ledger()) as database:
        with database.writing() as connection:
            connection.exec_driver_sql("CREATE POLICY hides ON entries USING (kind <> 'BrakePulled')")
        (unread,) = audit(database).unread
    assert str(unread).startswith("database: what hides does")
