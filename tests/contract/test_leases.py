"""Which runner sees to which incidents, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from bot.domain.claim import Claim
from bot.domain.events import AlertReceived, Escalated, StepStarted
from bot.domain.policy import Limits
from bot.domain.post import Post
from bot.ledger import Database, Leases, Ledger, Outbox
from tests.record.incidents import ALERT, ASKER
from tests.record.keeping import approved
from tests.record.ledgers import Clock

SILENT = timedelta(seconds=10)
SOON = timedelta(seconds=1)


@pytest.fixture
def runner(database: Database, clock: Clock) -> Callable[[str], Leases]:
    return lambda name: Leases(database, name, SILENT, time=clock)


@pytest.fixture
def ledger(database: Database, clock: Clock) -> Ledger:
    return Ledger(database, clock)


def opened(ledger: Ledger, incident: str, group: str = "") -> None:
    ledger.append.now(incident, 0, AlertReceived(ALERT, f"node-{incident}", group), ASKER)


def begun(ledger: Ledger, incident: str, runner: str) -> None:
    """Put an incident on record whose first step that runner has begun."""
    node = f"node-{incident}"
    approved(ledger, incident, node)
    ledger.begin.now(incident, 4, StepStarted(1, 1, "", (), runner), "bot", Claim(node, node, runner, Limits(9)))


def silence(ledger: Ledger, incident: str) -> timedelta:
    hold = ledger.current_hold.now(f"node-{incident}")
    assert hold is not None
    return hold.silent_for


def test_open_group_that_nobody_sees_to_is_claimed_once(ledger: Ledger, runner: Callable[[str], Leases]) -> None:
    for incident, group in (("one", "g1"), ("two", "g1"), ("three", "")):
        opened(ledger, incident, group)
    a, b = runner("a"), runner("b")
    assert a.claim.now() == ("g1", "three"), "an incident without a group is a group of its own"
    assert (a.claim.now(), b.claim.now()) == ((), ())
    assert (sorted(a.mine.now()), sorted(b.mine.now())) == (["g1", "three"], [])


def test_ended_incident_is_claimed_by_nobody_unless_its_runner_died_before_it_was_let_go(
    ledger: Ledger, runner: Callable[[str], Leases], clock: Clock
) -> None:
    for incident in ("one", "two"):
        opened(ledger, incident)
    a, b = runner("a"), runner("b")
    assert a.claim.now() == ("one", "two")
    for incident in ("one", "two"):
        ledger.append.now(incident, 1, Escalated("enough"), "bot")
    a.let_go.now(["one"])
    assert b.claim.now() == ()
    clock.now += SILENT + SOON
    assert b.claim.now() == ("two",), "its end may not be shown yet"


def test_silent_runner_is_taken_over_and_one_that_beats_is_not(
    ledger: Ledger, runner: Callable[[str], Leases], clock: Clock
) -> None:
    opened(ledger, "one")
    opened(ledger, "two")
    a, b = runner("a"), runner("b")
    assert a.claim.now() == ("one", "two")
    clock.now += SILENT - SOON
    a.beat.now()
    clock.now += SILENT
    assert b.claim.now() == ()
    clock.now += SOON
    assert b.claim.now() == ("one", "two")
    a.beat.now()
    assert (a.claim.now(), a.mine.now()) == ((), frozenset()), "what wakes up again sees that it was taken over"


def test_runner_that_could_not_beat_does_not_take_over_from_itself(
    ledger: Ledger, runner: Callable[[str], Leases], clock: Clock
) -> None:
    opened(ledger, "one")
    a = runner("a")
    a.claim.now()
    clock.now += SILENT + SOON
    assert (a.claim.now(), sorted(a.mine.now())) == ((), ["one"])


def test_runner_heard_of_in_the_future_is_not_waited_for(
    ledger: Ledger, runner: Callable[[str], Leases], clock: Clock
) -> None:
    opened(ledger, "one")
    runner("a").claim.now()
    clock.now -= timedelta(hours=1)
    assert runner("b").claim.now() == ("one",)


def test_group_is_taken_from_a_live_runner_by_force_alone(runner: Callable[[str], Leases]) -> None:
    a, b = runner("a"), runner("b")
    assert a.take.now("g1")
    assert a.take.now("g1"), "it is ours already"
    assert not b.take.now("g1")
    assert b.take.now("g1", by_force=True)
    assert (sorted(a.mine.now()), sorted(b.mine.now())) == ([], ["g1"])


def test_group_of_a_dead_runner_is_taken_without_force(runner: Callable[[str], Leases], clock: Clock) -> None:
    runner("a").take.now("g1")
    clock.now += SILENT + SOON
    assert runner("b").take.now("g1")


def test_who_leaves_leaves_everything_at_once(ledger: Ledger, runner: Callable[[str], Leases]) -> None:
    a = runner("a")
    begun(ledger, "one", "a")
    a.claim.now()
    assert silence(ledger, "one") < SILENT
    a.leave.now()
    assert silence(ledger, "one") > SILENT, "its node waits for nobody"
    assert runner("b").claim.now() == ("one",)


def test_group_is_kept_until_its_posts_are_taken(
    database: Database, ledger: Ledger, runner: Callable[[str], Leases]
) -> None:
    outbox, a = Outbox(database), runner("a")
    for group in ("g1", "g2"):
        a.take.now(group)
    post = outbox.keep.now(Post("g1", "card", "C1")).id
    a.let_go.now(["g1", "g2"])
    assert a.mine.now() == {"g1"}
    outbox.mark_delivered.now(post, "C1", "1.2")
    a.let_go.now(["g1"])
    assert a.mine.now() == frozenset()
    b = runner("b")
    b.take.now("g3")
    a.let_go.now(["g3"])
    assert b.mine.now() == {"g3"}, "only its own"


def test_beat_speaks_for_the_nodes_of_groups_that_are_its_own(
    ledger: Ledger, runner: Callable[[str], Leases], clock: Clock
) -> None:
    a, b = runner("a"), runner("b")
    for incident in ("one", "two"):
        begun(ledger, incident, "a")
    a.claim.now()
    b.take.now("two", by_force=True)
    clock.now += SILENT
    a.beat.now()
    assert (silence(ledger, "one"), silence(ledger, "two")) == (timedelta(0), SILENT)


def test_node_of_a_dead_runner_waits_for_nobody_and_that_of_a_terminal_does(
    ledger: Ledger, runner: Callable[[str], Leases], clock: Clock
) -> None:
    begun(ledger, "one", "a")
    begun(ledger, "two", "terminal")
    runner("a").claim.now()
    clock.now += SILENT + SOON
    ledger.beat.now("two", "terminal")
    assert runner("b").claim.now() == ("one", "two")
    assert silence(ledger, "one") > timedelta(days=1)
    assert silence(ledger, "two") == timedelta(0)


def test_runners_that_went_without_a_word_are_forgotten(
    database: Database, runner: Callable[[str], Leases], clock: Clock
) -> None:
    runner("a").beat.now()
    clock.now += timedelta(days=2)
    runner("b").beat.now()
    with database.reading() as connection:
        assert connection.exec_driver_sql("SELECT id FROM runners").scalars().all() == ["b"]


def test_every_group_is_claimed_by_exactly_one_of_several_at_once(
    ledger: Ledger, runner: Callable[[str], Leases]
) -> None:
    with ThreadPoolExecutor(4) as threads:
        for turn in range(4):
            names = {f"i{turn}-{number}" for number in range(5)}
            for name in names:
                opened(ledger, name)
            claimed = [one for got in threads.map(lambda name: runner(name).claim.now(), "abcd") for one in got]
            assert sorted(claimed) == sorted(names)


def test_what_changed_is_told_once_and_the_last_change_last(ledger: Ledger) -> None:
    assert ledger.changed.now() == ledger.changed.now(0)
    opened(ledger, "one", "g1")
    opened(ledger, "two")
    told = ledger.changed.now(0)
    assert [(one.id, one.card) for one in told.incidents] == [("one", "g1"), ("two", "two")]
    assert ledger.changed.now(told.cursor).incidents == ()
    ledger.append.now("one", 1, Escalated("enough"), "bot")
    again = ledger.changed.now(told.cursor)
    assert [(one.id, one.ended) for one in again.incidents] == [("one", True)], "its end is told too"
    assert again.cursor > told.cursor
    from_now = ledger.changed.now()
    assert (from_now.cursor, [one.id for one in from_now.incidents]) == (again.cursor, ["two"])


def test_incidents_of_one_card_are_told_together_the_oldest_first(ledger: Ledger) -> None:
    for incident, group in (("one", "g1"), ("two", ""), ("three", "g1")):
        opened(ledger, incident, group)
    assert sorted(ledger.incident_ids_of_card.now("g1")) == ["one", "three"]
    assert (
        ledger.incident_ids_of_card.now("two"),
        ledger.incident_ids_of_card.now("g2"),
        ledger.incident_ids_of_card.now(""),
    ) == (("two",), (), ())
