"""Whole nodes with nothing wrong whose kernel writes errors again and again."""

from __future__ import annotations

import pytest

from tests.contract.asked import Asked, check
from tests.contract.level_rows import rows


@pytest.mark.parametrize("asked", rows("ordinary.txt", "healthy"), ids=lambda asked: str(asked.title))
def test_errors_of_an_ordinary_node_are_not_called_sick(asked: Asked) -> None:
    check(asked)
