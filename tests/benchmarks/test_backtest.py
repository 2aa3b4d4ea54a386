"""What a backtest costs: a thousand cases, of all captures alike.

A report, run by `./zombie test all`; the bound is the promise of docs/cases.md, in seconds of CPU of one process, so
that what else the machine does counts for nothing. The time that two processes take by the clock is told beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.extras.cases.backtesting import PlaybooksChange, run_backtest
from tests.contract.test_backtest import planted
from tests.contract.test_why import CASES

NUMBER, SECONDS = 1000, 10.0


@pytest.mark.benchmark
def test_thousand_cases_are_judged_twice_in_seconds(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    files = [CASES[at % len(CASES)] for at in range(NUMBER)]
    change = PlaybooksChange((planted(tmp_path / "mine", 60_000),), "node-health")
    run_backtest(change, files[: len(CASES)])
    began = time.process_time()
    found = run_backtest(change, files)
    seconds = time.process_time() - began
    began = time.monotonic()
    shared = run_backtest(change, files, processes=2)
    by_two = time.monotonic() - began
    print(f"{NUMBER} cases in {seconds:.1f} s of CPU: {seconds / NUMBER * 1000:.1f} ms a case; by two: {by_two:.1f} s")
    record_property("seconds", seconds)
    record_property("by_two_seconds", by_two)
    assert [cell.case for cell in shared] == [cell.case for cell in found]
    assert len(found) == NUMBER
    assert seconds < SECONDS
