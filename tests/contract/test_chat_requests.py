"""The promises of chat requests, on every database they may be kept in."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from bot.extras.fleet.settings import RAREST
from bot.ledger import Database, Leases
from bot.ledger.chat_requests import KNOWN_FOR, SWEPT_EVERY, ChatRequestStore
from tests.record.incidents import BEGAN_AT
from tests.record.ledgers import Clock

DEAD = timedelta(minutes=1)


def chat_requests(database: Database, clock: Clock, runner: str = "one") -> ChatRequestStore:
    leases = Leases(database, runner, time=clock)
    leases.beat.now()
    return ChatRequestStore(leases)


def test_request_is_taken_once_whoever_hears_of_it(database: Database, clock: Clock) -> None:
    one, two = chat_requests(database, clock), chat_requests(database, clock, "two")
    assert one.keep.now("cmd-1\ud800\x00")
    assert not one.keep.now("cmd-1\ud800\x00")
    assert not two.keep.now("cmd-1\ud800\x00")
    one.mark_done.now("cmd-1\ud800\x00")
    clock.now += DEAD
    assert not two.keep.now("cmd-1\ud800\x00"), "what is done is done, also once its runner is gone"
    assert two.keep.now("cmd-2")


def test_request_that_counts_as_done_at_once_is_taken_once_for_good(database: Database, clock: Clock) -> None:
    one = chat_requests(database, clock)
    assert one.keep.now("click-1", done=True)
    assert not one.is_open.now("click-1")
    clock.now += DEAD
    two = chat_requests(database, clock, "two")
    assert not two.keep.now("click-1", done=True)
    assert two.take_over_unowned.now() == ()


def test_request_of_a_runner_that_died_over_it_is_taken_when_it_is_told_again(database: Database, clock: Clock) -> None:
    one = chat_requests(database, clock)
    assert one.keep.now("cmd-1")
    clock.now += DEAD
    assert chat_requests(database, clock, "two").keep.now("cmd-1")
    assert not chat_requests(database, clock, "three").keep.now("cmd-1"), "two is alive, and at it"


def test_request_whose_row_is_damaged_holds_up_no_other(database: Database, clock: Clock) -> None:
    one = chat_requests(database, clock)
    one.keep.now("sent-1", "{}")
    one.keep.now("sent-2", "{}")
    clock.now += DEAD
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE wishes SET kept_at = 'x' WHERE key = 'sent-1'")
    left = {
        request.key: request.kept_at.year for request in chat_requests(database, clock, "two").take_over_unowned.now()
    }
    assert left == {"sent-1": 1970, "sent-2": BEGAN_AT.year}


def test_what_a_runner_left_is_carried_on_by_one_other(database: Database, clock: Clock) -> None:
    one, two = chat_requests(database, clock), chat_requests(database, clock, "two")
    one.keep.now("sent-1", '{"reason": "it leaks"}')
    one.keep.now("cmd-1")
    one.keep.now("sent-2", "{}")
    one.mark_done.now("sent-2")
    assert two.take_over_unowned.now() == (), "one is alive, and at it"
    assert one.take_over_unowned.now() == ()
    clock.now += DEAD
    two, three = chat_requests(database, clock, "two"), chat_requests(database, clock, "three")
    (left,) = two.take_over_unowned.now()
    assert (left.key, left.body, left.kept_at) == ("sent-1", '{"reason": "it leaks"}', BEGAN_AT)
    assert three.take_over_unowned.now() == ()
    assert two.take_over_unowned.now() == ()


def test_request_is_open_for_everybody_until_it_is_done(database: Database, clock: Clock) -> None:
    one, two = chat_requests(database, clock), chat_requests(database, clock, "two")
    assert not two.is_open.now("fleet-stop x")
    one.keep.now("fleet-stop x")
    assert two.is_open.now("fleet-stop x")
    clock.now += DEAD
    assert two.is_open.now("fleet-stop x"), "also where whoever kept it is gone"
    two.mark_done.now("fleet-stop x")
    assert not one.is_open.now("fleet-stop x")


def test_many_at_once_take_it_once(database: Database, clock: Clock) -> None:
    runners = [chat_requests(database, clock, f"runner-{number}") for number in range(4)]
    with ThreadPoolExecutor(4) as threads:
        taken = list(threads.map(lambda store: [store.keep.now(f"cmd-{number}") for number in range(10)], runners))
    assert [sum(column) for column in zip(*taken, strict=True)] == [1] * 10


def test_what_is_long_over_is_forgotten(database: Database, clock: Clock) -> None:
    store = chat_requests(database, clock)
    store.keep.now("cmd-1")
    store.mark_done.now("cmd-1")
    for after, is_forgotten in ((RAREST, False), (KNOWN_FOR + SWEPT_EVERY - RAREST, True)):
        clock.now += after
        store = chat_requests(database, clock)
        store.keep.now(f"cmd after {after}")
        store.mark_done.now(f"cmd after {after}")
        assert store.keep.now("cmd-1") is is_forgotten, "a sweep runs once in its slot"
