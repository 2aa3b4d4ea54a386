"""Whole nodes by what their kernels say in words that no row holds, at the level that the source gives the line."""

from __future__ import annotations

import pytest

from tests.contract.asked import Asked, check
from tests.contract.level_rows import rows, speakers


@pytest.mark.parametrize("asked", rows("ordinary.txt", "healthy"), ids=lambda asked: str(asked.title))
def test_errors_of_an_ordinary_node_are_not_called_sick(asked: Asked) -> None:
    check(asked)


@pytest.mark.parametrize("asked", rows("sick.txt", "degraded critical"), ids=lambda asked: str(asked.title))
def test_lines_that_the_kernel_calls_errors_are_heard(asked: Asked) -> None:
    check(asked)


@pytest.mark.parametrize("asked", speakers(), ids=lambda asked: str(asked.title))
def test_speaker_is_judged_by_what_it_says(asked: Asked) -> None:
    verdict = check(asked)
    assert verdict.plan is None or not verdict.plan.steps
