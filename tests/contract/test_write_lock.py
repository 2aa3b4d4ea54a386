"""Turns at a database: one at a time, who says so goes first, and nobody waits for ever."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.errors import LedgerUnavailable
from bot.ledger import Database
from bot.ledger.database import WriteLock
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
            assert database.now(connection)
        end.set()
        holding.result(timeout=10)
        with database.adding():
            pass
