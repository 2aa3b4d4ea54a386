"""What is asked often costs the same however long the record is, counted in steps of SQLite and in calls of Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import FrameType

import pytest
from sqlalchemy import event

from bot.domain.action import Plan
from bot.domain.alert import Alert
from bot.domain.events import AlertJoined, AlertReceived
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased
from bot.domain.post import Post
from bot.ledger import Database, Leases, Ledger, Outbox
from bot.ledger.dedup_store import DedupStore
from tests.contract.test_inbox import BRAKES
from tests.contract.test_ledger_acting import FIRST, claim
from tests.record.incidents import ALERT, ASKER
from tests.record.keeping import approved
from tests.record.large import Large

SMALL, LARGE = 60, 600  # incidents
STEPS_AT_ONCE = 10  # of SQLite's virtual machine, between two counts
STILL_OPEN = 20


@contextmanager
def opened(url: str) -> Iterator[tuple[Database, list[int]]]:
    """A database that counts the steps of SQLite's virtual machine."""
    steps = [0]

    def count() -> int:
        steps[0] += STEPS_AT_ONCE
        return 0

    with Database.open(url) as database:

        @event.listens_for(database.engine, "checkout")
        def checked_out(connection: object, *_: object) -> None:
            connection.set_progress_handler(count, STEPS_AT_ONCE)  # type: ignore[attr-defined]

        yield database, steps


def asked(database: Database) -> dict[str, Callable[[], object]]:
    """What is asked of the record all the time; all that it needs is prepared."""
    ledger, leases, outbox = Ledger(database), Leases(database, "r1"), Outbox(database)
    for name in ("begun", "begins"):
        approved(ledger, name, f"node-{name}")
    ledger.begin.now("begun", 4, FIRST, "bot", claim("node-begun", at_once=9))
    ledger.append.now("opened", 0, AlertReceived(ALERT, "node-new", "group-new"), ASKER)
    leases.beat.now()
    leases.take.now("begun")
    cursor = ledger.changed.now(None).cursor
    joins = AlertJoined(Alert("alertmanager", "z9", text="NodeSlow"))
    return {
        "the brake": ledger.brake_pull.now,
        "whether a request pulled it": lambda: ledger.pull_for_request.now("sent-1"),
        "the last policy": ledger.policy.now,
        "the beginning of a step": lambda: ledger.begin.now(
            "begins", 4, FIRST, "bot", claim("node-begins", at_once=9, per_hour=9)
        ),
        "pulling the brake": lambda: ledger.append.now(HOUSE, None, BrakePulled("stop"), "terminal:ann"),
        "releasing it": lambda: ledger.append.now(HOUSE, None, BrakeReleased("over"), "terminal:ann"),
        "a join": lambda: ledger.append.now("opened", 1, joins, "bot"),
        "the nodes of a group": lambda: ledger.nodes.now("group-new"),
        "the incidents of a node": lambda: ledger.incidents.now(node="node-new"),
        "what changed": lambda: ledger.changed.now(cursor),
        "what stands together": lambda: ledger.incident_ids_of_card.now("group-new"),
        "whether it was tried": lambda: ledger.last_try.now(Plan("node-new", ()), "ab" * 16, timedelta(days=1)),
        "a heartbeat": leases.beat.now,
        "a step's heartbeat": lambda: ledger.beat.now("begun", "r1"),
        "a new post": lambda: outbox.keep.now(Post("group-new", "card", "C1", {})),
        "due posts": lambda: outbox.claim_due_posts.now(datetime.now(UTC)),
        "a storm": lambda: DedupStore(database).storm.now("storm-1", BRAKES),
        "unseen groups": leases.claim.now,
    }


def steps_of_each(url: str) -> dict[str, int]:
    with opened(url) as (database, steps):
        found = {}
        for name, ask in asked(database).items():
            steps[0] = 0
            ask()
            found[name] = steps[0]
    return found


def test_it_costs_as_much_at_many_incidents_as_at_few(tmp_path: Path) -> None:
    found = []
    for incidents in (SMALL, LARGE):
        url = f"sqlite:///{tmp_path / str(incidents)}.db"
        Large(incidents, 5, STILL_OPEN).fill(url)
        found.append(steps_of_each(url))
    few, many = found
    dearer = {name: (few[name], many[name]) for name in few if many[name] > few[name] + 5 * STEPS_AT_ONCE}
    assert dearer == {}


def calls(work: Callable[[], object]) -> int:
    """How many functions of Python are called in the thread that works."""
    counted = 0

    def count(_: FrameType, kind: str, __: object) -> None:
        nonlocal counted
        counted += kind == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted


def test_three_hundredth_alert_that_joins_costs_what_the_tenth_did(tmp_path: Path) -> None:
    costs = {}
    for joined in (10, 300):
        url = f"sqlite:///{tmp_path / str(joined)}.db"
        Large(2, joined, still_open=1).fill(url)
        with opened(url) as (database, steps):
            ledger, name = Ledger(database), Large(2).name(1)
            incident = ledger.incident.now(name)
            assert incident is not None
            assert incident.seq == joined
            for number in (1, 2):  # the first time, SQLAlchemy writes statements that it keeps
                joins = AlertJoined(Alert("alertmanager", f"a{number}", text="NodeSlow"))
                steps[0] = 0
                appended = calls(partial(ledger.append.now, name, joined - 1 + number, joins, "bot"))
                costs[joined] = (appended, calls(partial(ledger.incident.now, name)), steps[0])
    few, many = costs[10], costs[300]
    assert all(more <= less * 1.2 + 100 for less, more in zip(few, many, strict=True)), costs


@pytest.mark.parametrize("most_kept", [1, 300])
def test_incident_is_what_its_entries_say_whoever_appended_them(database_url: str, most_kept: int) -> None:
    with Database.open(database_url) as database:
        ours, theirs = Ledger(database, most_kept=most_kept), Ledger(database)
        for name in ("first", "second"):
            ours.append.now(name, 0, AlertReceived(ALERT, "node-1", "group"), ASKER)
        for seq in range(1, 7):
            for name in ("first", "second"):
                writer = ours if seq % 3 else theirs
                writer.append.now(name, seq, AlertJoined(Alert("alertmanager", f"{name}-{seq}")), "bot")
                for ledger in (ours, theirs):
                    assert ledger.incident.now(name) == fold(ledger.read.now(name))
        assert ours.incident.now("nobody") is None


def test_incident_whose_past_was_written_anew_is_folded_anew(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'zombie.db'}"
    with Database.open(url) as database:
        ledger = Ledger(database)
        ledger.append.now("first", 0, AlertReceived(ALERT, "node-1", "group"), ASKER)
        assert ledger.incident.now("first") is not None
        with database.writing() as connection:
            for statement in (
                "DROP TRIGGER entries_stay_as_they_are",
                "UPDATE entries SET hash = 'other', body = replace(body, 'node-1', 'node-2')",
            ):
                connection.exec_driver_sql(statement)
        incident = ledger.incident.now("first")
        assert incident is not None
        assert (incident.node, incident.head) == ("node-2", "other")
