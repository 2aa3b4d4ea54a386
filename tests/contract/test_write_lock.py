"""Turns at a database: one at a time, who says so goes first, and nobody waits for ever."""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from bot.domain.errors import LedgerUnavailable
from bot.ledger import Database
from bot.ledger.database import URGENT_IN_A_ROW, WriteLock
from bot.ledger.entries import database_time
from bot.ledger.inbox import Inbox
from bot.ledger.leases import Leases
from tests.contract.test_inbox import delivery
from tests.record.ledgers import ledger_in
from tests.waiting import until


def test_one_thread_at_a_time_and_those_who_say_so_go_first() -> None:
    write_lock, order = WriteLock(), list[str]()

    def work(name: str, first: bool) -> None:
        with write_lock.held(urgent=first, seconds=10) as came:
            assert came
            order.append(name)

    with ThreadPoolExecutor(3) as threads:
        with write_lock.held(urgent=False, seconds=1) as came:
            assert came
            waiting = [threads.submit(work, "late", False)]
            waiting.append(threads.submit(work, "first", True))
            until(lambda: len(write_lock._changed._waiters) == 2, what="both to wait")  # type: ignore[attr-defined]
            assert order == []
        for one in waiting:
            one.result(timeout=10)
    assert order == ["first", "late"]


def test_lock_that_is_not_free_in_time_is_not_held() -> None:
    write_lock = WriteLock()
    with write_lock.held(urgent=False, seconds=1), write_lock.held(urgent=True, seconds=0.01) as came:
        assert not came
    with write_lock.held(urgent=False, seconds=0.01) as came:
        assert came


def test_lock_is_released_however_its_block_ends() -> None:
    write_lock = WriteLock()
    with pytest.raises(ValueError, match="broken"), write_lock.held(urgent=False, seconds=1):
        raise ValueError("broken")
    with write_lock.held(urgent=False, seconds=0.01) as came:
        assert came


def test_thread_that_waits_for_too_long_hears_that_the_ledger_is_busy(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'zombie.db'}"
    begun, end = threading.Event(), threading.Event()
    with Database.open(url, timedelta(milliseconds=50)) as database, ThreadPoolExecutor(1) as threads:

        def hold() -> None:
            with database.writing():
                begun.set()
                end.wait(10)

        holding = threads.submit(hold)
        assert begun.wait(10)
        with pytest.raises(LedgerUnavailable, match=r"busy for longer than 0\.05 s"), database.adding():
            pass
        with database.reading() as connection:
            assert database_time(connection)
        end.set()
        holding.result(timeout=10)
        with database.adding():
            pass


def test_ordinary_write_has_its_turn_after_some_urgent_ones_and_in_the_order_of_coming() -> None:
    write_lock, order = WriteLock(), list[str]()
    waiters = write_lock._changed._waiters  # type: ignore[attr-defined]

    def work(name: str, urgent: bool) -> None:
        with write_lock.held(urgent=urgent, seconds=10) as came:
            assert came
            order.append(name)

    def all_wait(number: int) -> bool:
        return len(waiters) == number

    flood = 3 * URGENT_IN_A_ROW
    with ThreadPoolExecutor(flood + 2) as threads, contextlib.ExitStack() as until_all_wait:
        until_all_wait.enter_context(write_lock.held(urgent=True, seconds=1))
        names = [*(("inbox", True) for _ in range(flood)), ("beat", False), ("step", False)]
        work_of_all = []
        for number, (name, urgent) in enumerate(names, 1):
            work_of_all.append(threads.submit(work, name, urgent))
            until(partial(all_wait, number), what=f"{number} to wait")
        until_all_wait.close()
        for work_of_each in work_of_all:
            work_of_each.result(timeout=10)
    assert order.index("beat") == URGENT_IN_A_ROW
    assert order.index("step") == 2 * URGENT_IN_A_ROW + 1
    assert len(order) == flood + 2


def test_one_that_gave_up_holds_up_nobody() -> None:
    write_lock = WriteLock()
    waiters = write_lock._changed._waiters  # type: ignore[attr-defined]

    def gives_up() -> bool:
        with write_lock.held(urgent=False, seconds=0.05) as came:
            return came

    def waits() -> bool:
        with write_lock.held(urgent=False, seconds=10) as came:
            return came

    with ThreadPoolExecutor(2) as threads:
        with write_lock.held(urgent=True, seconds=1):
            first = threads.submit(gives_up)
            until(lambda: len(waiters) == 1, what="the first to wait")
            second = threads.submit(waits)
            assert not first.result(timeout=10)
        assert second.result(timeout=10)


def test_heartbeats_are_heard_while_deliveries_flood_in(tmp_path: Path) -> None:
    silent, floods = timedelta(seconds=2), threading.Event()
    with ledger_in(tmp_path) as database, ThreadPoolExecutor(8) as threads:
        flooded = [0] * 7

        def gone_on(to: int) -> bool:
            return sum(flooded) > to

        def flood(thread: int) -> None:
            box = Inbox(Leases(database, "flooded"))
            while not floods.is_set():
                box.keep.now(delivery(flooded[thread] * len(flooded) + thread))
                flooded[thread] += 1

        flooding = [threads.submit(flood, thread) for thread in range(len(flooded))]
        try:
            until(lambda: min(flooded) > 0, what="all of them to flood")
            beating, waited = Leases(database, "r1"), list[float]()
            for _ in range(10):
                began, before = time.monotonic(), sum(flooded)
                beating.beat.now()
                waited.append(time.monotonic() - began)
                until(partial(gone_on, before + 20), what="the flood to go on")
        finally:
            floods.set()
        for each in flooding:
            each.result(timeout=10)
    assert max(waited) < silent.total_seconds()
