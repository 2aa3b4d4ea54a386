"""The list of tests that may need a second try is short, dated, and names tests that are there."""

from __future__ import annotations

import datetime
import re
import tomllib
from pathlib import Path

TESTS = Path(__file__).parents[1]
FLAKY = tomllib.loads((TESTS / "flaky.toml").read_text())
MOST = 5


def test_list_is_short() -> None:
    assert len(FLAKY) <= MOST


def test_each_is_a_test_of_real_processes_with_its_day_and_reason() -> None:
    for name, row in FLAKY.items():
        path, _, function = name.partition("::")
        assert path.startswith(("tests/e2e/", "tests/lab/", "tests/contract/")), name
        assert isinstance(row["seen"], datetime.date), name
        assert row["because"].strip(), name
        source = (TESTS.parent / path).read_text()
        assert re.search(rf"def {re.escape(function)}\(", source), f"{name} is not there any more: take it off the list"
