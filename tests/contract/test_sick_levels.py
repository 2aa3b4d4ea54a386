"""Whole nodes whose kernel tells of a fault in words of nobody's list, at the level that its source gives the line."""

from __future__ import annotations

import pytest

from tests.contract.asked import Asked, check
from tests.contract.level_rows import rows


@pytest.mark.parametrize("asked", rows("sick.txt", "degraded critical"), ids=lambda asked: str(asked.title))
def test_lines_that_the_kernel_calls_errors_are_heard(asked: Asked) -> None:
    check(asked)
