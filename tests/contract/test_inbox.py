"""The promises of the inbox and of the cases, on every database they may be kept in."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from bot.domain.alert import AlertGroup, AlertStatus, Delivery, Reporter, SourceAlert
from bot.domain.defaults import DELIVERIES_KNOWN_FOR
from bot.domain.intake_contracts import Correlation, GivenUpDelivery, Recurrence, StormLimits
from bot.ledger import Database, Leases
from bot.ledger.dedup_store import DedupStore
from bot.ledger.inbox import GIVEN_UP, Inbox
from bot.ledger.ledger_counts import LedgerCounts
from bot.ledger.tables import DELIVERIES
from tests.record.incidents import BEGAN_AT
from tests.record.ledgers import Clock, ledger_in

MINUTE = timedelta(minutes=1)
BRAKES = StormLimits(cooldown=30 * MINUTE, storm_alerts=3, storm_window=5 * MINUTE)


def delivery(
    number: int, case: str = "", happening: AlertStatus = AlertStatus.FIRED, at: datetime = BEGAN_AT
) -> Delivery:
    signal = SourceAlert(
        "A1", labels={"severity": "critical"}, body={"details": {"host": "node-1\ud800\x00", "deep": [1, None]}}
    )
    # As PagerDuty: what its webhook says is not the whole of it.
    alarm = AlertGroup(
        "pagerduty",
        case or f"Q{number}",
        happening,
        "core pinned",
        at,
        (signal,),
        whole=False,
        raised_by=Reporter("PX", "Ann"),
    )
    return Delivery("pagerduty", f"E{number}", alarm, "incident.triggered")


def inbox(database: Database, clock: Clock, runner: str = "one") -> Inbox:
    return Inbox(Leases(database, runner, time=clock))


@pytest.fixture
def box(database: Database, clock: Clock) -> Inbox:
    return inbox(database, clock)


@pytest.fixture
def cases(database: Database, clock: Clock) -> DedupStore:
    return DedupStore(database, clock)


def claimed(box: Inbox, at_once: int = 10, busy: tuple[str, ...] = ()) -> list[str]:
    return [one.delivery.id for one in box.claim.now(at_once, [f"pagerduty/{name}" for name in busy])]


def test_delivery_is_known_however_often_it_comes(box: Inbox, database: Database, clock: Clock) -> None:
    other = inbox(database, clock, "two")
    assert [each.keep.now(delivery(1)) for each in (box, box, other)] == [True, False, False]
    (kept,) = box.claim.now(10)
    assert (kept.delivery, kept.attempts, kept.kept_at) == (delivery(1), 0, BEGAN_AT)
    box.mark_done.now(delivery(1))
    assert (box.keep.now(delivery(1)), box.waiting.now(), box.claim.now(10)) == (False, 0, ())


def test_word_about_a_whole_case_is_known_only_while_it_is_the_last(box: Inbox) -> None:

    def told(number: int, *, whole: bool) -> bool:
        one = delivery(number, "Q")
        assert one.alarm is not None
        return box.keep.now(replace(one, alarm=replace(one.alarm, whole=whole)))

    assert [told(number, whole=True) for number in (1, 1, 2, 1, 1, 2, 2)] == [
        True,
        False,
        True,
        True,
        False,
        True,
        False,
    ]
    for kept in iter(lambda: box.claim.now(1), ()):
        box.mark_done.now(kept[0].delivery)
    assert (box.waiting.now(), told(2, whole=True)) == (0, False)
    assert [told(number, whole=False) for number in (3, 4, 3)] == [True, True, False], "an event's id is known for good"


def test_seen_to_once_by_whoever_claims_first(database: Database, clock: Clock) -> None:
    one, two = inbox(database, clock), inbox(database, clock, "two")
    for runner in ("one", "two"):
        Leases(database, runner, time=clock).beat.now()
    for number in (1, 2, 3):
        one.keep.now(delivery(number))
    assert (claimed(one, 2), claimed(two)) == (["E1", "E2"], ["E3"])
    assert (claimed(one, busy=("E1",)), one.waiting.now()) == (["E2"], 3), "what it lost sight of is still its own"


def test_claims_of_a_silent_runner_are_taken_over(database: Database, clock: Clock) -> None:
    one, two = inbox(database, clock), inbox(database, clock, "two")
    Leases(database, "one", time=clock).beat.now()
    one.keep.now(delivery(1))
    assert (claimed(one), claimed(two)) == (["E1"], [])
    clock.now += timedelta(seconds=9)
    assert claimed(two) == []
    clock.now += timedelta(seconds=2)
    assert claimed(two) == ["E1"]


def test_alert_that_failed_while_the_clock_was_hours_ahead_is_tried_again_by_the_right_time(
    database: Database, clock: Clock
) -> None:
    inbox = Inbox(Leases(database, "runner-1", time=clock))
    inbox.keep.now(delivery(1))
    clock.now += timedelta(hours=5)
    (first,) = inbox.claim.now(10)
    inbox.mark_failed.now(first.delivery, MINUTE, "PagerDuty is away")
    assert inbox.claim.now(10) == ()
    clock.now -= timedelta(hours=5)
    assert [each.delivery.id for each in inbox.claim.now(10)] == ["E1"]


def test_what_came_later_for_a_case_waits_for_what_came_first(box: Inbox, clock: Clock) -> None:
    box.keep.now(delivery(1, "Q"))
    box.keep.now(delivery(2, "Q", AlertStatus.RESOLVED))
    box.keep.now(delivery(3, "R"))
    assert claimed(box) == ["E1", "E3"]
    assert claimed(box, busy=("E1", "E3")) == []
    box.mark_failed.now(delivery(1), MINUTE, "PagerDuty is down\nfor now")
    assert claimed(box, busy=("E3",)) == []
    clock.now += MINUTE
    (again,) = box.claim.now(10, ["pagerduty/E3"])
    assert (again.delivery.id, again.attempts) == ("E1", 1)
    box.mark_done.now(delivery(1))
    assert claimed(box, busy=("E3",)) == ["E2"]


def test_ids_are_forgotten_after_some_days(box: Inbox, clock: Clock) -> None:
    box.keep.now(delivery(1))
    box.mark_done.now(delivery(1))
    clock.now += DELIVERIES_KNOWN_FOR + MINUTE
    box.keep.now(delivery(2))
    box.mark_done.now(delivery(2))
    assert (box.keep.now(delivery(2)), box.keep.now(delivery(1))) == (False, True)


def given_up_count(database: Database) -> float:
    return LedgerCounts(database).read.now()["zombie_deliveries_given_up"][()]


def test_what_was_given_up_is_told_until_it_is_forgotten_and_holds_up_nothing(
    box: Inbox, database: Database, clock: Clock
) -> None:
    box.keep.now(delivery(1, "Q"))
    box.keep.now(delivery(2, "Q", AlertStatus.RESOLVED))
    assert claimed(box) == ["E1"]
    box.give_up.now(delivery(1, "Q"), "no such table\nin here")
    assert claimed(box) == ["E2"], "what came later for its case goes on"
    box.mark_done.now(delivery(2, "Q"))
    assert box.given_up.now() == (
        GivenUpDelivery("pagerduty", "E1", "Q", BEGAN_AT, "no such table in here", delivery(1, "Q").alarm),
    )
    assert (box.waiting.now(), given_up_count(database)) == (0, 1)
    clock.now += DELIVERIES_KNOWN_FOR + MINUTE
    later = inbox(database, clock)
    later.keep.now(delivery(3))
    later.mark_done.now(delivery(3))
    assert (later.given_up.now(), given_up_count(database)) == ((), 0)


@pytest.mark.parametrize("whole", [True, False])
def test_repetition_of_what_was_given_up_is_tried_again(box: Inbox, *, whole: bool) -> None:
    alarm = AlertGroup("pagerduty", "Q", AlertStatus.FIRED, whole=whole)
    first, other = (replace(delivery(number), alarm=alarm) for number in (1, 2))

    def given_up() -> None:
        (kept,) = box.claim.now(10)
        box.give_up.now(kept.delivery, "no such table")
        assert (kept.delivery.id.partition("~")[0], kept.attempts) == ("E1", 0)

    box.keep.now(first)
    given_up()
    assert (box.keep.now(first), box.keep.now(first), box.given_up.now()) == (True, False, ())
    given_up()
    box.keep.now(other)
    box.mark_done.now(other)
    assert [box.keep.now(first), box.keep.now(first)] == [True, False]
    given_up()
    assert [box.keep.now(first), box.keep.now(first), box.keep.now(other)] == [True, False, whole]


def test_delivery_of_another_version_is_told_as_given_up(box: Inbox, database: Database) -> None:
    box.keep.now(delivery(1))
    with database.writing() as connection:
        connection.execute(update(DELIVERIES).values(body="{}"))
    assert claimed(box) == []
    (lost,) = box.given_up.now()
    assert (lost.id, lost.alarm) == ("E1", None)
    assert "malformed" in lost.because


def test_what_was_given_up_is_found_by_an_index(tmp_path: Path) -> None:
    with ledger_in(tmp_path) as database, database.reading() as connection:
        asked = select(DELIVERIES.c.id).where(GIVEN_UP).compile(dialect=connection.dialect)
        assert "given_up_deliveries" in str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked}").all())


def test_same_nodes_and_signature_join_within_the_cooldown(database: Database, clock: Clock) -> None:
    cases, calm = DedupStore(database, clock), replace(BRAKES, storm_alerts=20)
    assert cases.record_firing.now(delivery(1), "k", "g1", calm) == Correlation("g1", Recurrence.NEW)
    assert cases.record_firing.now(delivery(1), "k", "g1", calm) == Correlation("g1", Recurrence.NEW), (
        "asked again after a crash"
    )
    clock.now += 29 * MINUTE
    assert cases.record_firing.now(delivery(2), "k", "g2", calm) == Correlation("g1", Recurrence.JOINS)
    assert cases.record_firing.now(delivery(3), "other", "g3", calm) == Correlation("g3", Recurrence.NEW)
    clock.now += 2 * MINUTE
    assert cases.record_firing.now(delivery(4), "k", "g4", calm) == Correlation("g4", Recurrence.NEW), (
        "joining must not lengthen it"
    )
    assert cases.record_firing.now(delivery(5), "", "g5", calm) == Correlation("g5", Recurrence.NEW), (
        "without a key it joins nothing"
    )


def test_case_that_comes_back_keeps_its_group(cases: DedupStore, clock: Clock) -> None:
    cases.record_firing.now(delivery(1, "Q"), "k", "g1", BRAKES)
    clock.now += 2 * MINUTE
    assert cases.record_over.now(delivery(2, "Q", AlertStatus.RESOLVED, clock.now)) == "g1"
    clock.now += timedelta(hours=2)
    assert cases.record_firing.now(delivery(3, "Q", AlertStatus.REOPENED, clock.now), "k", "g2", BRAKES) == Correlation(
        "g1", Recurrence.AGAIN
    )
    cases.record_over.now(delivery(4, "Q", AlertStatus.RESOLVED, clock.now))
    clock.now += timedelta(days=2)
    assert cases.record_firing.now(delivery(5, "Q", at=clock.now), "k", "g5", BRAKES) == Correlation(
        "g5", Recurrence.NEW
    )


def test_end_that_was_told_first_stands(cases: DedupStore) -> None:
    assert cases.record_over.now(delivery(2, "Q", AlertStatus.RESOLVED, BEGAN_AT + MINUTE)) == ""
    assert cases.record_firing.now(delivery(1, "Q"), "k", "g1", BRAKES).turn is Recurrence.OVER
    assert cases.record_firing.now(delivery(3, "Q", at=BEGAN_AT + 2 * MINUTE), "k", "g1", BRAKES) == Correlation(
        "g1", Recurrence.NEW
    )


@pytest.mark.parametrize("is_open", [False, True], ids=["the end in between was told", "it was not"])
def test_end_from_before_it_was_reopened_does_not_end_it(database: Database, clock: Clock, is_open: bool) -> None:
    cases, reopened_at = DedupStore(database, clock), BEGAN_AT + 2 * MINUTE
    cases.record_firing.now(delivery(1, "Q"), "k", "g1", BRAKES)
    if not is_open:
        cases.record_over.now(delivery(2, "Q", AlertStatus.RESOLVED, BEGAN_AT + MINUTE))
    again = delivery(3, "Q", AlertStatus.REOPENED, reopened_at)
    assert cases.record_firing.now(again, "k", "g3", BRAKES) == Correlation("g1", Recurrence.AGAIN)
    assert cases.record_over.now(delivery(4, "Q", AlertStatus.RESOLVED, reopened_at - timedelta(seconds=1))) == ""
    assert [one.case for one in cases.open_cases.now("pagerduty", BEGAN_AT - MINUTE)] == ["Q"]
    assert cases.record_over.now(delivery(5, "Q", AlertStatus.RESOLVED, reopened_at)) == "g1"
    assert cases.open_cases.now("pagerduty", BEGAN_AT - MINUTE) == ()


def test_of_two_ends_the_later_counts_whichever_is_told_last(cases: DedupStore) -> None:
    cases.record_firing.now(delivery(1, "Q"), "k", "g1", BRAKES)
    for number, minutes in ((2, 5), (3, 1)):
        cases.record_over.now(delivery(number, "Q", AlertStatus.RESOLVED, BEGAN_AT + minutes * MINUTE))
    late = delivery(4, "Q", AlertStatus.REOPENED, BEGAN_AT + 3 * MINUTE)
    assert cases.record_firing.now(late, "k", "g4", BRAKES) == Correlation("g1", Recurrence.OVER)


def test_group_that_is_brought_whole_is_never_taken_for_late(cases: DedupStore) -> None:
    end, late = delivery(2, "Q", AlertStatus.RESOLVED, BEGAN_AT + MINUTE), delivery(1, "Q")
    assert late.alarm is not None
    cases.record_over.now(end)
    whole = replace(late, alarm=replace(late.alarm, whole=True))
    assert cases.record_firing.now(whole, "k", "g1", BRAKES) == Correlation("g1", Recurrence.NEW)


def test_more_cases_than_usual_are_a_storm(cases: DedupStore, clock: Clock) -> None:
    told = [cases.record_firing.now(delivery(number), f"k{number}", f"g{number}", BRAKES) for number in range(5)]
    assert [course.storm for course in told] == ["", "", "", "storm-20261121-093000", "storm-20261121-093000"]
    storm = cases.storm.now("storm-20261121-093000", BRAKES)
    assert (storm.is_on, storm.cases, storm.incidents) == (True, 2, ())
    clock.now += 6 * MINUTE
    assert not cases.storm.now("storm-20261121-093000", BRAKES).is_on
    assert cases.record_firing.now(delivery(9), "k9", "g9", BRAKES).storm == ""


def test_what_began_in_a_storm_is_in_it_while_it_lasts(cases: DedupStore, clock: Clock) -> None:
    for number in range(4):
        cases.record_firing.now(delivery(number), f"k{number}", f"g{number}", BRAKES)
    storm, more = "storm-20261121-093000", delivery(5, "Q3")
    assert cases.record_firing.now(more, "k3", "g5", BRAKES) == Correlation("g3", Recurrence.AGAIN, storm)
    assert cases.record_firing.now(delivery(6), "k3", "g6", BRAKES) == Correlation("g3", Recurrence.JOINS, storm)
    assert cases.record_firing.now(delivery(7), "k0", "g7", BRAKES) == Correlation("g0", Recurrence.JOINS, storm)
    clock.now += 6 * MINUTE
    assert cases.record_firing.now(more, "k3", "g8", BRAKES) == Correlation("g3", Recurrence.AGAIN)
    assert cases.record_firing.now(delivery(3), "k3", "g8", BRAKES).storm == storm, "its first word, once more"
    assert cases.record_firing.now(delivery(9), "k3", "g9", BRAKES) == Correlation("g9", Recurrence.NEW)


def test_open_cases_are_those_that_are_not_over(cases: DedupStore) -> None:
    cases.record_firing.now(delivery(1, "Q"), "k", "g1", BRAKES)
    cases.record_firing.now(delivery(2, "R"), "l", "g2", BRAKES)
    cases.record_over.now(delivery(3, "R", AlertStatus.RESOLVED))
    assert [one.case for one in cases.open_cases.now("pagerduty", BEGAN_AT - MINUTE)] == ["Q"]
    assert cases.open_cases.now("grafana", BEGAN_AT - MINUTE) == ()


def test_delivery_without_a_case_is_no_case(database: Database, clock: Clock) -> None:
    with pytest.raises(ValueError, match="no case"):
        DedupStore(database, clock).record_over.now(replace(delivery(1), alarm=None))
